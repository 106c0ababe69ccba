"""History that cannot be read costs the comparison of the speed, and not the live page."""

from __future__ import annotations

import pytest

from dashboard.live.scene import SHOWN_MS
from storage.errors import StoreBroken, StoreBusy, StoreError
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import tick


@pytest.mark.parametrize(("error", "known"), [(StoreBroken("a page is damaged"), True), (StoreBusy("not now"), False)])
def test_what_cannot_be_read_of_hours_ago(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch, error: StoreError, known: bool
) -> None:
    asked: list[int] = []

    def unread(_scene: object, end_ms: int, _sources: object) -> None:
        asked.append(end_ms)
        raise error

    monkeypatch.setattr("dashboard.live.follow.earlier", unread)
    world = make_world(nodes=1)
    world.run(0, 30)
    web = make_web(world)
    assert web.step()["tick"] == tick(30)
    first = tick(30) - SHOWN_MS
    assert asked == [first]
    assert (first in web.process.follower._builder.baselines.kept) == known
    world.run(31, 40)
    assert web.step()["tick"] == tick(40)
    assert asked == [first, first - SHOWN_MS if known else first]
