"""A question whose answer would be too large is refused before it is read."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.api.cost import pace
from telemetry.catalog import gpu
from telemetry.reader import Answer, read
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import tick

NAMES = {gpu.GPU_POWER.name}
DAYS = 7 * 86_400_000


def test_samples_of_a_range(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Four series, one sample a second, and none after the newest."""
    world = make_world()
    web = make_web(world)
    sources = web.process.sources
    nothing = pace(sources, NAMES, None)
    assert (nothing.samples(tick(0), tick(60)), nothing.hours(tick(0), tick(60))) == (0, 0)
    world.run(0, 100)
    for _ in ("from the store", "from the tail"):
        found = pace(sources, NAMES, None)
        assert found.samples(tick(0), tick(100) + DAYS) == 4 * 101
        assert found.samples(tick(20), tick(49)) == 4 * 30
        assert pace(sources, NAMES, ["spark-01"]).samples(tick(20), tick(49)) == 30
        assert found.samples(tick(200), tick(300)) == 4, "about none"
        assert found.hours(tick(0) - DAYS, tick(100) + DAYS) == 4, "hours before the first sample are none"
        assert found.samples(tick(0) - DAYS, tick(49)) == 4 * 50
        assert pace(sources, {"no_such"}, None).samples(tick(0), tick(100)) == 0
        web.step()


def test_pace_is_that_of_the_last_minute(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1, engines=False)
    for number in range(0, 301, 5):
        world.run(number, number)
    web = make_web(world)
    web.step()
    assert pace(web.process.sources, NAMES, None).samples(tick(0), tick(300)) == 61


def test_one_tick_has_the_usual_pace(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=2, engines=False)
    world.run(0, 0)
    web = make_web(world)
    web.step()
    assert pace(web.process.sources, NAMES, None).step_ms == 1000.0


class Watched:
    """Notes how a store is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Any) -> None:
        self.read: list[str] = []
        for name in ("frame", "sheets", "summaries"):
            monkeypatch.setattr(store, name, self._noting(name, getattr(store, name)))

    def _noting(self, name: str, method: Any) -> Any:
        def watched(*given: Any) -> Any:
            self.read.append(name)
            return method(*given)

        return watched


def test_too_many_samples_are_refused_without_reading_them(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(engines=False)
    world.run(0, 5)
    world.run(10_000, 10_060)
    web = make_web(world)
    web.step()
    watched = Watched(monkeypatch, web.process.sources.store)
    question = f"series?metric=gpu_power_watts&start={tick(3000)}&end={tick(10_000)}"
    monkeypatch.setattr("dashboard.api.cost.MOST_CELLS", 28_003)
    assert web.get(question, 400)["error"] == (
        "This would be made of 28,004 samples, expected at most 28,003; "
        "ask for at most 116 minutes, or name a node, an engine or a deployment."
    )
    assert watched.read == []
    monkeypatch.setattr("dashboard.api.cost.MOST_CELLS", 28_004)
    assert len(web.get(question)["series"]) == 4
    assert watched.read == ["sheets"]


def test_too_many_hours_are_refused_without_reading_them(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(engines=False)
    world.run(-7 * 86_400, -7 * 86_400)
    world.run(0, 60)
    web = make_web(world)
    web.step()
    watched = Watched(monkeypatch, web.process.sources.store)
    monkeypatch.setattr("dashboard.api.cost.MOST_HOURS", 4 * 24 * 7)
    assert web.get("series?metric=gpu_power_watts&start=-7d", 400)["error"] == (
        "This would be made of 676 hours of 4 series, expected at most 672; "
        "ask for at most 7 days, or name a node, an engine or a deployment."
    )
    assert watched.read == []
    monkeypatch.setattr("dashboard.api.cost.MOST_HOURS", 4 * (24 * 7 + 1))
    assert len(web.get("series?metric=gpu_power_watts&start=-7d")["series"]) == 4
    assert watched.read[0] == "summaries"


def test_many_hours_that_are_not_sealed_are_refused_without_reading_them(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(nodes=1, engines=False)
    for hour in range(4):
        world.run(hour * 3600, hour * 3600 + 2)
    web = make_web(world)
    web.step()
    watched = Watched(monkeypatch, web.process.sources.store)
    monkeypatch.setattr("telemetry.reader.PATIENT_MS", -1.0)
    path = f"series?metric=gpu_power_watts&start={tick(0)}&end={tick(3 * 3600 + 2)}"
    monkeypatch.setattr("dashboard.api.cost.MOST_UNSEALED", 3)
    assert web.get(path, 503)["error"] == (
        "More than 3 hours of this range are not sealed yet; the collector is about to do it: "
        "ask for a shorter range, or later."
    )
    assert "frame" not in watched.read
    monkeypatch.setattr("dashboard.api.cost.MOST_UNSEALED", 4)
    (line,) = web.get(path)["series"]
    assert line["max"] == [50.0] * 4


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


def test_large_answers_are_worked_out_one_after_the_other(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(engines=False)
    world.run(0, 100)
    web = make_web(world)
    web.step()
    sources, held = web.process.sources, []

    def reading(*given: Any, **more: Any) -> Answer:
        held.append(sources.large.locked())
        return read(*given, **more)

    monkeypatch.setattr("dashboard.api.series.read_history", reading)
    path = f"series?metric=gpu_power_watts&start={tick(0)}&end={tick(100)}"
    for most in (404, 403):
        monkeypatch.setattr("dashboard.api.cost.LARGE_CELLS", most)
        web.get(path)
    assert held == [False, True]
    assert not sources.large.locked()


def test_a_year_costs_what_is_stored(make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two minutes of samples, nothing sealed: no empty hour is read, and the answer is the same."""
    world = make_world(engines=False)
    world.run(0, 120)
    web = make_web(world)
    web.step()
    watched = Watched(monkeypatch, web.process.sources.store)
    monkeypatch.setattr("dashboard.api.cost.MOST_HOURS", 4)
    found = web.get(f"series?metric=gpu_power_watts&start={tick(0) - 52 * DAYS}&end={tick(120) + DAYS}")
    assert watched.read == ["summaries"], "no empty hour is read, and the samples come from memory"
    assert found["series"] == web.get(f"series?metric=gpu_power_watts&start={tick(0)}&end={tick(120)}")["series"]
    assert [len(line["v"]) for line in found["series"]] == [121] * 4
    for start, end in ((tick(0) - 52 * DAYS, tick(-1)), (tick(121), tick(121) + 52 * DAYS)):
        assert web.get(f"series?metric=gpu_power_watts&start={start}&end={end}")["series"] == []
