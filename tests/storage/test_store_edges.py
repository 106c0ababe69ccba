"""Where stretches, processes and hours touch each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from storage.imports import ImportedHour, Imports
from storage.intervals import OWN_FACT, own_gaps
from storage.read import AT_ONCE
from storage.records import Batch, Fact, Offset, Row, TargetRow
from storage.store import Store
from storage.upkeep import is_kept
from telemetry.counters import Step
from telemetry.model import Series
from telemetry.summary import HOUR_MS, hour_of
from tests.storage.worlds import NOW, SECOND, series, write

START = hour_of(NOW)
POWER = Series("spark", "gpu_power_watts", (("gpu", "0"),))


def test_an_imported_stretch_has_no_shorter_gaps_than_what_the_collector_says_of_the_same_time() -> None:
    own = (0, 20, 5_000.0, True)
    for imported in (25_000.0, 1_000.0):
        for stretches in ([own, (10, 30, imported, False)], [(10, 30, imported, False), own]):
            found = own_gaps(np.array([0, 10, 20, 30]), 2_500.0, stretches)
            assert found.tolist() == [5_000.0, max(imported, 5_000.0), max(imported, 2_500.0), 2_500.0]


def test_a_late_row_finds_the_hour_that_another_process_has_imported(opened: Callable[..., Store]) -> None:
    """The collector has committed before, and so knows by itself of no sealed hour."""
    collector, later = opened(), START + 5 * HOUR_MS
    layout = collector.layout("spark", (POWER,))
    collector.commit(Batch(rows=[Row(later, "spark", later, layout, [1.0])]), later)
    hour = START + 3 * HOUR_MS
    imported = ImportedHour("spark", hour, np.array([hour]), (POWER,), np.array([[2.0]]), (), 30_000)
    assert Imports(opened()).write(imported)
    late = hour + 7 * SECOND
    collector.commit(Batch(rows=[Row(late, "spark", late, layout, [3.0])]), later + SECOND)
    assert [one.late for one in collector.sealed(hour, hour)] == [True]
    assert collector.frame([POWER.metric], None, hour, later).values.tolist() == [[2.0, 3.0, 1.0]]
    assert collector.seal("spark", hour, later)
    assert collector.summaries([POWER.metric], None, hour, hour).count.tolist() == [[2.0]]


def test_a_first_use_within_an_hour_says_nothing_of_the_hour_before(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 3600: [2], 3601: [3]})
    write(store, "a", ["x", "y"], {3602: [4, 7]})
    at = NOW + 3602 * SECOND
    store.commit(Batch(offsets=[Offset("a", "y", (), at, 0.0, Step.FIRST_USE.value)]), at)
    for hour in (START, START + HOUR_MS):
        assert store.seal("a", hour, START + 9 * HOUR_MS)
    found = store.summaries(["x", "y"], None, START, START + 2 * HOUR_MS - 1)
    assert (found.series, found.hours.tolist()) == (series("a", "x", "y"), [START, START + HOUR_MS])
    assert found.count.tolist() == [[1.0, 3.0], [0.0, 3.0]]
    assert (found.first[1, 1], found.last[1, 1]) == (0.0, 7.0)


def test_a_kept_range_holds_the_hours_of_both_its_ends() -> None:
    ends = [
        (START - 9, START - 1),
        (START - 9, START),
        (START + HOUR_MS - 1, START + HOUR_MS),
        (START + HOUR_MS, 2**62),
    ]
    assert [is_kept(START, [one]) for one in ends] == [False, True, True, False]


def test_steps_of_counters_stay_from_the_oldest_sealed_hour_on(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 60: [2]})
    ticks = [NOW - 1, NOW, NOW + 60 * SECOND]
    store.commit(Batch(offsets=[Offset("a", "x", (), tick, 0.0, "restart") for tick in ticks]), NOW)
    assert store.seal("a", NOW, NOW + 2 * HOUR_MS)
    assert store.tidy(NOW + 9 * HOUR_MS) == 1
    assert [one.tick for one in store.offsets(0, 2**62)] == ticks[1:]


def test_an_hour_weighs_all_its_series_however_many(store: Store) -> None:
    """More than one question can name."""
    names = [f"m{number}" for number in range(AT_ONCE + 3)]
    write(store, "a", names, {0: [float(number) for number in range(len(names))]})
    assert store.seal("a", NOW, NOW + 2 * HOUR_MS)
    found = store.weigh(NOW)
    assert found is not None
    assert (found.rows, found.first_tick, found.last_tick) == (AT_ONCE + 3, NOW, NOW)


def test_rates_of_an_imported_hour_do_not_cross_a_restart_in_the_hour_before(store: Store) -> None:
    """Read every two seconds, 10 J each; 1,000 J came with the restart, four seconds before the end of the hour."""
    energy = Series("spark", "gpu_energy_joules_total", (("gpu", "0"),))
    imports, gained = Imports(store), np.full(3600, 10.0)
    gained[1798] = 1000.0
    values, ticks = np.cumsum(gained), START + np.arange(3600, dtype=np.int64) * 2000
    restart = Offset("spark", energy.metric, energy.labels, int(ticks[1798]), 0.0, "restart")
    for hour, steps in ((slice(0, 1800), (restart,)), (slice(1800, 3600), ())):
        start = int(ticks[hour][0])
        assert imports.write(
            ImportedHour("spark", start, ticks[hour], (energy,), values[hour][np.newaxis], steps, 2000)
        )
    found = store.summaries([energy.metric], None, START, START + 2 * HOUR_MS - 1)
    assert (found.minimum.tolist(), found.maximum.tolist()) == ([[5.0, 5.0]], [[5.0, 5.0]])
    assert found.gain.tolist() == [[10.0 * 1798, 10.0 * 1800]]


def test_an_hour_that_was_read_rarely_begins_with_the_step_into_it(store: Store) -> None:
    """Read every five minutes, 600 J each, and every second since the hour's end, before it was sealed."""
    energy, rare_ms = Series("a", "gpu_energy_joules_total", (("gpu", "0"),)), 300_000
    change = START + HOUR_MS + 60 * SECOND
    layout, ticks = store.layout("a", (energy,)), range(START - rare_ms, START + HOUR_MS, rare_ms)
    rows = [Row(tick, "a", tick, layout, [600.0 * place]) for place, tick in enumerate(ticks)]
    facts = [Fact("a", OWN_FACT, str(rare_ms), START - HOUR_MS), Fact("a", OWN_FACT, "1000", change)]
    store.commit(Batch(rows=rows, facts=facts, targets=[TargetRow("a", "node", "", 1000, "ok", "", 0, 0)]), change)
    assert store.seal("a", START, START + HOUR_MS + 300 * SECOND)
    found = store.summaries([energy.metric], None, START, START)
    assert (found.count.tolist(), found.seconds.tolist(), found.gain.tolist()) == ([[12.0]], [[3600.0]], [[7200.0]])
