"""Hours from elsewhere: where they may stand, what stands around them, and how they are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from storage.imports import Before, ImportedHour, Imports
from storage.records import Batch, Offset, Row, TargetRow
from storage.store import Store
from telemetry.counters import trailing_increase
from telemetry.frame import Frame
from telemetry.model import Series

HOUR = 3_600_000
T0 = 1_767_225_600_000
NOW = T0 + 50 * HOUR
ENERGY = Series("spark", "gpu_energy_joules_total", (("gpu", "0"),))
POWER = Series("spark", "gpu_power_watts", (("gpu", "0"),))
STEP = 30_000


def offset(series: Series, tick: int, value: float, reason: str = "first sample") -> Offset:
    return Offset(series.target, series.metric, series.labels, tick, value, reason)


def hour_of(number: int, first: float = 0.0, **changed: object) -> ImportedHour:
    """An hour of 120 samples: energy rises by 2 from one to the next, power is the sample's number."""
    start = T0 + number * HOUR
    ticks = start + np.arange(120, dtype=np.int64) * STEP
    values = np.stack((first + 2.0 * np.arange(120), np.arange(120, dtype=np.float64)))
    steps = (offset(ENERGY, start, first - 1000.0),)
    made = ImportedHour("spark", start, ticks, (ENERGY, POWER), values, steps, STEP, {"model": "m"})
    return replace(made, **changed)  # type: ignore[arg-type]


def record(store: Store, tick: int, *values: float, offsets: tuple[Offset, ...] = ()) -> None:
    layout = store.layout("spark", (ENERGY, POWER))
    store.commit(Batch(rows=[Row(tick, "spark", tick, layout, list(values))], offsets=offsets), tick)


def test_every_number_comes_back(store: Store) -> None:
    one = hour_of(0)
    one.values[1, 5] = np.nan
    assert Imports(store).write(one)
    frame = store.frame(lambda _: True, None, T0, T0 + HOUR)
    assert frame.series == (ENERGY, POWER)
    assert np.array_equal(frame.values, one.values, equal_nan=True)
    assert frame.ticks.tolist() == one.ticks.tolist()
    assert (frame.at_ms == one.ticks).all()
    assert frame.gap_ms.tolist() == [75_000.0, 75_000.0]
    (clock,) = store.sealed(T0, T0)
    assert (clock.n, clock.first_tick, clock.last_tick, clock.late) == (120, T0, T0 + 119 * STEP, False)
    assert store.due(NOW) == []


def test_its_summary_looks_back_into_the_hour_before(store: Store) -> None:
    imports = Imports(store)
    assert imports.write(hour_of(0))
    assert imports.write(hour_of(1, 240.0, offsets=()))
    found = store.summaries(lambda _: True, None, T0, T0 + 2 * HOUR - 1)
    assert found.gain[0].tolist() == [238.0, 240.0]
    assert found.seconds[0].tolist() == [119 * 30.0, 120 * 30.0]
    assert found.first[0].tolist() == [0.0, 240.0]
    assert found.total[1].tolist() == [7140.0, 7140.0]
    assert (found.minimum[1].tolist(), found.maximum[1].tolist()) == ([0.0, 0.0], [119.0, 119.0])


def test_no_step_crosses_a_restart(store: Store) -> None:
    steps = (offset(ENERGY, T0, -5.0), offset(ENERGY, T0 + 10 * STEP, 0.0, "restart"))
    assert Imports(store).write(hour_of(0, offsets=steps))
    assert store.summaries([ENERGY.metric], None, T0, T0).gain.tolist() == [[236.0]]
    assert np.flatnonzero(store.frame([ENERGY.metric], None, T0, T0 + HOUR).breaks).tolist() == [10]
    assert [(one.tick, one.reason) for one in store.offsets(T0, T0 + HOUR)] == [
        (T0, "first sample"),
        (T0 + 10 * STEP, "restart"),
    ]


def test_an_hour_that_is_held_is_refused(store: Store) -> None:
    imports = Imports(store)
    record(store, T0 + 5000, 1.0, 2.0)
    assert not imports.write(hour_of(0))
    assert imports.write(hour_of(1))
    assert not imports.write(hour_of(1, 7.0))
    assert store.offsets(T0, T0 + HOUR - 1) == []
    assert imports.held("spark", T0 - HOUR, T0 + 3 * HOUR) == {T0, T0 + HOUR}
    assert imports.held("spark", T0 + HOUR, T0 + 3 * HOUR) == {T0 + HOUR}
    assert imports.held("spark", T0, T0 + HOUR) == {T0}
    assert imports.held("other", T0, T0 + 3 * HOUR) == set()
    assert imports.first_after("spark", T0 - HOUR) == T0
    assert imports.first_after("spark", T0) == T0 + HOUR
    assert imports.first_after("spark", T0 + HOUR) is None
    record(store, T0 + 3 * HOUR + 7, 1.0, 2.0)
    assert imports.first_after("spark", T0 + HOUR) == T0 + 3 * HOUR
    assert imports.held("spark", T0, T0 + 9 * HOUR) == {T0, T0 + HOUR, T0 + 3 * HOUR}


@pytest.mark.parametrize(
    "changed",
    [
        {"ticks": np.arange(120) + T0 - 1},
        {"ticks": np.arange(120) + T0 + HOUR - 119},
        {"ticks": np.full(120, T0)},
        {"ticks": np.zeros(0, np.int64)},
        {"hour": T0 + 1},
    ],
)
def test_ticks_that_do_not_fit(store: Store, changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not rising inside it"):
        Imports(store).write(hour_of(0, **changed))


def test_the_hour_after_is_told_to_look_back_again(store: Store) -> None:
    record(store, T0 + HOUR + 1000, 240.0, 2.0, offsets=(offset(ENERGY, T0 + HOUR + 1000, 0.0),))
    assert store.seal("spark", T0 + HOUR, NOW)
    assert store.due(NOW) == []
    assert Imports(store).write(hour_of(0))
    assert store.due(NOW) == [("spark", T0 + HOUR)]
    assert store.seal("spark", T0 + HOUR, NOW)
    assert store.summaries([ENERGY.metric], None, T0 + HOUR, T0 + HOUR).gain.tolist() == [[2.0]]


def test_where_counters_stood_before(store: Store) -> None:
    imports = Imports(store)
    assert imports.before("spark", T0 + HOUR) == Before()
    assert imports.write(hour_of(0))
    assert imports.before("spark", T0) == Before()
    assert imports.before("spark", T0 + 5 * HOUR) == Before(T0 + 119 * STEP, {ENERGY: (238.0, -1000.0)})
    record(store, T0 + 2 * HOUR, 300.0, 1.0)
    record(store, T0 + 2 * HOUR + 1000, 301.0, 1.0, offsets=(offset(ENERGY, T0 + 2 * HOUR + 1000, 7.0, "restart"),))
    assert imports.before("spark", T0 + 2 * HOUR) == Before(T0 + 119 * STEP, {ENERGY: (238.0, -1000.0)})
    assert imports.before("spark", T0 + 3 * HOUR) == Before(T0 + 2 * HOUR + 1000, {ENERGY: (301.0, 7.0)})
    assert imports.before("other", T0 + 3 * HOUR) == Before()
    assert imports.write(hour_of(1, 250.0))
    assert imports.before("spark", T0 + HOUR) == Before(T0 + 119 * STEP, {ENERGY: (238.0, -1000.0)})


def test_where_counters_begin_after(store: Store) -> None:
    imports = Imports(store)
    assert imports.after("spark", T0) == {}
    record(store, T0 + 2 * HOUR, 300.0, 1.0, offsets=(offset(ENERGY, T0 + 2 * HOUR, -9.0),))
    record(store, T0 + 2 * HOUR + 1000, 301.0, 1.0)
    assert imports.after("spark", T0) == {ENERGY: (300.0, -9.0)}
    assert imports.after("spark", T0 + 3 * HOUR) == {}
    assert imports.write(hour_of(1, 5.0))
    assert imports.after("spark", T0) == {ENERGY: (5.0, -995.0)}
    assert imports.after("spark", T0 + 2 * HOUR) == {ENERGY: (300.0, -9.0)}


def test_facts_hold_from_hour_to_hour(store: Store) -> None:
    imports = Imports(store)
    for number in (0, 1, 3):
        assert imports.write(hour_of(number))
    assert imports.write(hour_of(4, interval_ms=15_000, facts={"model": "n"}))
    told = {
        (one.name, one.value, (one.start_ms - T0) // HOUR, ((one.end_ms or 0) - T0) // HOUR) for one in store.facts()
    }
    assert told == {
        ("model", "m", 0, 2),
        ("model", "m", 3, 4),
        ("model", "n", 4, 5),
        ("imported_interval_ms", "30000", 0, 2),
        ("imported_interval_ms", "30000", 3, 4),
        ("imported_interval_ms", "15000", 4, 5),
    }


def test_what_is_a_gap_follows_from_the_range(store: Store) -> None:
    assert Imports(store).write(hour_of(0))
    record(store, T0 + HOUR + 1000, 240.0, 2.0)
    record(store, T0 + HOUR + 2000, 240.0, 2.0)
    live = TargetRow("spark", "node", "http://x", 2000, "ok", "", T0, None)
    store.commit(Batch(targets=[live]), T0)
    assert store.frame([ENERGY.metric], None, T0, T0 + 2 * HOUR).gap_ms.tolist() == [75_000.0]
    assert store.frame([ENERGY.metric], None, T0 + HOUR, T0 + 2 * HOUR).gap_ms.tolist() == [5_000.0]
    slow = replace(live, interval_ms=60_000)
    store.commit(Batch(targets=[slow]), T0)
    assert store.frame([ENERGY.metric], None, T0, T0 + HOUR - 1).gap_ms.tolist() == [150_000.0]


def test_hours_of_today_are_read_as_if_none_of_another_pace_were_beside_them(store: Store) -> None:
    """Rates over 10 s, and gaps, of a target that is read every second now, in a range with an hour of every 30 s."""
    assert Imports(store).write(hour_of(0))
    store.commit(Batch(targets=[TargetRow("spark", "node", "url", 1000, "ok", "", T0, T0, {})]), T0)
    begin = T0 + HOUR
    seconds = [number for number in range(60) if not 30 <= number < 35]
    for number in seconds:
        record(store, begin + number * 1000, 238.0 + 5 * number, 0.0)

    def rates(frame: Frame) -> list[float | None]:
        found = trailing_increase(frame, 10_000)[0, frame.ticks >= begin]
        return [None if np.isnan(rate) else float(rate) for rate in found]

    expected = [50.0 if number >= 10 and not 35 <= number < 45 else None for number in seconds]
    both = store.frame([ENERGY.metric], None, T0, begin + HOUR)
    assert both.gap_ms.tolist() == [75_000.0]
    assert rates(both) == rates(store.frame([ENERGY.metric], None, begin, begin + HOUR)) == expected
    assert np.isnan(trailing_increase(both, 10_000)[0, both.ticks < begin]).all()
    assert trailing_increase(both, 60_000)[0, 5] == 4.0
    assert store.seal("spark", begin, NOW)
    live = store.summaries([ENERGY.metric], None, begin, begin)
    assert (live.maximum.tolist(), live.minimum.tolist()) == ([[5.0]], [[5.0]])
    assert live.seconds.tolist() == [[59.0 + 30.0 - 6.0]]
