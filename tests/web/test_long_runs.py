"""Long runs: numbers of the whole from slices of their nodes; beyond that of the last part, and said."""

from __future__ import annotations

import pytest

from dashboard import run_numbers
from pipeline import digest
from runs import machines
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
    monkeypatch.setattr(machines.slices, "__defaults__", (1,))
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


def test_what_is_longer_than_engines_can_be_read_at_once_is_cut_and_says_so(
    world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "MOST_READINGS", 650)
    keep(world, run(1, 10, 700))
    found = make_web(world).get("runs/1")
    assert found["stretch"] == [tick(50), tick(700)]
    assert found["why"] == digest.CUT.format("10 min")
    assert entry(found, "requests", "output") == 650 * 20


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
