"""Long runs: numbers of the whole from slices of their nodes; beyond that of the last part, and said."""

from __future__ import annotations

import pytest

from dashboard import run_numbers
from pipeline import digest
from runs import machines, slices
from runs.slices import HOUR_MS
from storage.records import Batch
from storage.store import Store
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.test_runs import entry, keep, run
from tests.web.world import World, tick


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """Twelve minutes."""
    world = make_world()
    world.run(0, 720)
    return world


def test_numbers_are_of_the_whole_run_however_few_readings_fit(
    world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    real = Store.frame

    def frame(self: Store, wanted: object, targets: object, start_ms: int, end_ms: int) -> object:
        if not callable(wanted) and wanted == frozenset(one.name for one in machines.SAMPLES):
            asked.append((start_ms, end_ms))
        return real(self, wanted, targets, start_ms, end_ms)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "frame", frame)
    monkeypatch.setattr(slices.slices, "__defaults__", (1,))
    monkeypatch.setattr("runs.stretch.load.__defaults__", (1,))
    monkeypatch.setattr("runs.summary.summarise.__defaults__", (1,))
    keep(world, run(1, 10, 700))
    web = make_web(world)
    found = web.get("runs/1")
    assert (found["stretch"], found["why"]) == ([tick(10), tick(700)], "")
    assert entry(found, "requests", "output") == 690 * 20
    assert entry(found, "nodes", "power_mean") == pytest.approx(51.5)
    assert entry(found, "fabric", "sent") == pytest.approx(4 * 4 * 1e8 * 690)
    assert len(asked) > 10
    assert max(end - start for start, end in asked[1:]) < 60_000


def test_samples_of_a_first_part_that_were_given_up_leave_the_rest(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """From ten minutes before a whole hour to ten after it."""
    world = make_world()
    first = (HOUR_MS - tick(0) % HOUR_MS) // 1000 - 600
    world.run(first, first + 1200)
    for target in [one.name for one in world.writer.targets()]:
        world.writer.seal(target, tick(first) // HOUR_MS * HOUR_MS, world.now + 2 * HOUR_MS)
    hour = tick(first + 600)
    world.writer.commit(Batch(runs=[run(1, first, None)]), world.now)
    web = make_web(world)
    assert web.get("runs/1")["stretch"] == [tick(first), tick(first + 1200)]
    assert world.writer.forget(hour) > 0
    found = make_web(world).get("runs/1")
    assert found["stretch"] == [hour, tick(first + 1200)]
    assert found["why"] == digest.CUT.format("10 min")
    assert entry(found, "requests", "output") == 600 * 20
    gone = make_web(world).get(f"runs/1?start={tick(first)}&end={hour - 1000}")
    assert (gone["summary"], gone["why"]) == ([], digest.GIVEN_UP)


def test_numbers_that_take_long_are_shown_longer(
    world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(world, run(1, 10, None))
    web = make_web(world)
    web.step()
    monkeypatch.setattr(
        run_numbers, "PATIENCE", 1e6
    )  # a millisecond of work keeps its numbers for a quarter of an hour
    before = entry(web.get("runs/1"), "requests", "output")
    world.run(721, 760)
    web.step()
    assert entry(web.get("runs/1"), "requests", "output") == before == 710 * 20


def test_who_asks_for_long_numbers_gets_those_before_at_once(
    world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(world, run(1, 10, None))
    web = make_web(world)
    web.step()
    monkeypatch.setattr(run_numbers, "LONG_MS", 0.0)
    monkeypatch.setattr(run_numbers, "PATIENCE", 0)
    assert entry(web.get("runs/1"), "requests", "output") == 710 * 20
    world.run(721, 760)
    web.step()
    assert entry(web.get("runs/1"), "requests", "output") == 710 * 20
    web.process.run_numbers.renewed()
    assert entry(web.get("runs/1"), "requests", "output") == 750 * 20
    web.process.run_numbers.renewed()
