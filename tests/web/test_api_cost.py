"""A question whose answer would be too large is refused before it is read."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.api.cost import samples
from telemetry.catalog import gpu
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import tick

NAMES = {gpu.GPU_POWER.name}
DAYS = 7 * 86_400_000


def test_samples_of_a_range(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Four series, one sample a second since tick 0: no more than the store reaches, of the targets asked for."""
    world = make_world()
    web = make_web(world)
    sources = web.process.sources
    assert samples(sources, NAMES, tick(0) - DAYS, tick(60), None) == 0
    world.run(0, 100)
    for _ in ("from the store", "from the tail"):
        assert samples(sources, NAMES, tick(0) - DAYS, tick(100) + DAYS, None) == 4 * 101
        assert samples(sources, NAMES, tick(20), tick(49), None) == 4 * 30
        assert samples(sources, NAMES, tick(20), tick(49), ["spark-01"]) == 30
        assert samples(sources, NAMES, tick(0) - DAYS, tick(0) - 5000, None) == 4, "about none"
        assert samples(sources, {"no_such"}, tick(0), tick(100), None) == 0
        web.step()


def test_pace_is_that_of_the_last_minute(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1, engines=False)
    for number in range(0, 301, 5):
        world.run(number, number)
    web = make_web(world)
    web.step()
    assert samples(web.process.sources, NAMES, tick(0), tick(300), None) == 61


def test_one_tick_has_the_usual_pace(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=2, engines=False)
    world.run(0, 0)
    web = make_web(world)
    web.step()
    assert samples(web.process.sources, NAMES, tick(0), tick(0), None) == 2


def test_too_much_is_refused_without_reading_it(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(engines=False)
    world.run(0, 5)
    world.run(500_000, 500_060)
    web = make_web(world)
    web.step()
    frame, read = web.process.sources.store.frame, []

    def watched(*given: Any) -> Any:
        read.append(given)
        return frame(*given)

    monkeypatch.setattr(web.process.sources.store, "frame", watched)
    monkeypatch.setattr("dashboard.api.cost.MOST_CELLS", 2_000_243)
    answer = web.get("series?metric=gpu_power_watts&start=-7d", 400)
    assert answer["error"] == (
        "This would be made of 2,000,244 samples, expected at most 2,000,243; "
        "ask for a shorter range, or name a node, an engine or a deployment."
    )
    assert read == []
    monkeypatch.setattr("dashboard.api.cost.MOST_CELLS", 2_000_244)
    assert len(web.get("series?metric=gpu_power_watts&start=-7d")["series"]) == 4
    assert len(read) == 1


def test_what_is_silent_now_counts_when_it_has_been_read(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(engines=False)
    for name in ("spark-02", "spark-03", "spark-04"):
        world.silence(name, 30)
    world.run(0, 100)
    web = make_web(world)
    web.step()
    monkeypatch.setattr("dashboard.api.cost.MOST_CELLS", 403)
    path = f"series?metric=gpu_power_watts&start={tick(0)}"
    assert "This would be made of 404 samples" in web.get(path, 400)["error"]
