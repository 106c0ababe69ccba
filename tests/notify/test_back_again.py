"""A channel that was taken out of the settings, or switched off, while its messages waited, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.notices import Memory
from pipeline.notify.destination import Destination
from tests.notify.receivers import Hook, hook
from tests.notify.stage import OPS, Watch


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with hook() as found:
        yield found


@pytest.mark.parametrize("way", ["taken out", "off"])
def test_what_still_fires_is_told_to_a_channel_that_comes_back(tmp_path: Path, receiver: Hook, way: str) -> None:
    never = replace(OPS, repeat_ms=0)
    here = [Destination(never, receiver.url())]
    away = [] if way == "taken out" else [Destination(replace(never, enabled=False), receiver.url())]
    receiver.status = 500
    with closing(Watch(tmp_path / "store.db", here)) as watch:
        watch.tick(watch.fire(1, "a"), two := watch.fire(2, "b"))
        assert [one.words for one in watch.store.outgoing()] != []
        for destinations in (away, here):
            watch.change(destinations)
            watch.tick()
            (memory,) = [one.memory for one in watch.store.memories()]
            assert (memory == Memory(sent_ms=memory.sent_ms)) is (destinations is away)
            watch.tick(*([watch.end(two)] if destinations is away else []))
        receiver.status, receiver.got = 200, []
        watch.wait(30)
        assert [[(one["id"], one["word"]) for one in body["alerts"]] for body in receiver.bodies()] == [[(1, "firing")]]
