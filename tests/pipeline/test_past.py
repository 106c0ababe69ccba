"""A rule replayed over a store: sealed hours, hours as rows, absences; the same as if it had been read live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from alerts.replay import Fired, replay
from alerts.rule import Rule, rule
from pipeline.past import StoredPast
from storage.records import Absence, Batch, Fact, Row, TargetRow
from storage.store import Store, open_store
from telemetry.catalog import cluster, gpu, memory
from telemetry.model import Series
from telemetry.summary import HOUR_MS

START = 1_796_000_400_000 // HOUR_MS * HOUR_MS
STEP_MS = 5_000
"""Between two readings of a target; a gap is two and a half of them."""
NODES = ("a", "b")
HOT = {"title": "Hot", "place": "gpu", "when": "gpu_temperature_celsius >= 90 °C", "severity": "critical"}
HOURS = 5


def degrees(node: str, tick: int) -> float:
    """Node a is hot for three minutes in the second hour, and across the seam of the fourth."""
    at = (tick - START) / HOUR_MS
    return 95.0 if node == "a" and (1.5 <= at < 1.5499 or 3.98 <= at < 4.02) else 60.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Five hours of two nodes, of which the first four are sealed."""
    found = open_store(str(tmp_path / "store.db"), writer=True, now_ms=START)
    ticks = np.arange(START, START + HOURS * HOUR_MS, STEP_MS)
    rows = []
    for node in NODES:
        names = (memory.OOM_KILLS.name, cluster.SCRAPE_SECONDS.name)
        series = (Series(node, gpu.GPU_TEMPERATURE.name, (("gpu", "0"),)), *(Series(node, name) for name in names))
        layout = found.layout(node, series)
        kills = [2.0 if node == "b" and tick >= START + 2 * HOUR_MS + 90_000 else 1.0 for tick in ticks.tolist()]
        rows += [
            Row(tick, node, tick, layout, [degrees(node, tick), kill, 0.01])
            for tick, kill in zip(ticks.tolist(), kills, strict=True)
        ]
    targets = [TargetRow(node, "node", "http://x", STEP_MS, "ok", "", START, START) for node in NODES]
    away = Absence("b", None, START + 30 * 60_000, START + 40 * 60_000, "timed out: the host does not answer")
    boots = [
        Fact("a", "boot_id", "1", START),
        Fact("a", "boot_id", "2", START + 3 * HOUR_MS),
    ]
    found.commit(Batch(rows=rows, targets=targets, absences_opened=[away], facts=boots), START)
    found.commit(Batch(absences_closed=[away]), START)
    for node in NODES:
        for hour in range(HOURS - 1):
            assert found.seal(node, START + hour * HOUR_MS, START + HOURS * HOUR_MS)
    yield found
    found.close()


class Counted(StoredPast):
    """Remembers which slices were read."""

    def view(self, start_ms: int, end_ms: int):  # type: ignore[no-untyped-def]
        self.seen = [*getattr(self, "seen", []), (start_ms - START) // HOUR_MS]
        return super().view(start_ms, end_ms)


def replayed(
    store: Store, made: Rule, start: int = START, end: int = START + HOURS * HOUR_MS
) -> tuple[list[Fired], list[int]]:
    past = Counted(store, made, start, end)
    found = replay(made, past)
    return list(found.fired), getattr(past, "seen", [])


def test_only_hours_that_may_matter_are_read(store: Store) -> None:
    fired, seen = replayed(store, rule("hot", {**HOT, "for": "60s", "clear_for": "60s"}))
    second, fourth = START + round(1.5 * HOUR_MS), START + round(3.98 * HOUR_MS)
    assert [(one.key, one.began_ms, one.fired_ms, one.ended_ms) for one in fired] == [
        (("a", "0"), second, second + 60_000, second + 240_000),
        (("a", "0"), fourth + 2000, fourth + 62_000, fourth + 207_000),
    ]
    assert seen == [1, 2, 3, 4]


def test_states_come_from_absences(store: Store) -> None:
    silent = {"title": "Silent", "place": "node", "when": 'target_state is "timed out"', "severity": "critical"}
    fired, seen = replayed(store, rule("silent", {**silent, "for": "30s"}))
    assert [(one.key, one.began_ms - START, one.ended_ms) for one in fired] == [
        (("b",), 30 * 60_000, START + 40 * 60_000),
    ]
    assert seen == [0, 4]


def test_boots_come_from_facts(store: Store) -> None:
    boot = {"title": "Boot", "place": "node", "when": "unclean_boot == 1", "severity": "warning"}
    fired, _ = replayed(store, rule("boot", boot))
    assert [(one.key, one.fired_ms, one.ended_ms) for one in fired] == [
        (("a",), START + 3 * HOUR_MS, START + 3 * HOUR_MS + 600_000)
    ]


def test_a_counter_that_stands_still_is_not_read(store: Store) -> None:
    kill = {"title": "Kill", "place": "node", "when": "increase(oom_kills_total[60s]) > 0", "severity": "critical"}
    fired, seen = replayed(store, rule("kill", kill))
    assert [one.key for one in fired] == [("b",)]
    assert fired[0].fired_ms == START + 2 * HOUR_MS + 90_000
    assert seen == [2, 3, 4]


def test_of_an_empty_store_nothing_is_known(tmp_path: Path) -> None:
    found = open_store(str(tmp_path / "empty.db"), writer=True, now_ms=START)
    assert replayed(found, rule("hot", HOT)) == ([], [])
    found.close()
