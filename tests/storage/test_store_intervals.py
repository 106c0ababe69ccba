"""A target that was read less often, or more often, than it is now: each stretch has gaps of its own."""

from __future__ import annotations

import numpy as np
import pytest

from storage.imports import ImportedHour, Imports
from storage.intervals import OWN_FACT
from storage.records import Batch, Fact, TargetRow
from storage.store import Store
from telemetry.counters import trailing_increase
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, write

CHANGE = 120
"""Second at which the interval changes."""
COUNTER = "generation_tokens_total"


def told(store: Store, before_ms: int, now_ms: int) -> None:
    store.commit(
        Batch(
            facts=[Fact("e", OWN_FACT, str(before_ms), NOW), Fact("e", OWN_FACT, str(now_ms), NOW + CHANGE * SECOND)],
            targets=[TargetRow("e", "engine", "", now_ms, "ok", "", NOW, NOW)],
        ),
        NOW,
    )


POWER = Series("e", "gpu_power_watts", (("gpu", "0"),))


def rates(store: Store, start: int, end: int) -> dict[int, float]:
    """Increase over the trailing 10 s at each sample of a range, by second; unknown ones left out."""
    frame = store.frame([COUNTER], None, NOW + start * SECOND, NOW + end * SECOND)
    (line,) = trailing_increase(frame, 10_000)
    seconds = (frame.ticks - NOW) // SECOND
    return {int(at): float(value) for at, value in zip(seconds, line, strict=True) if not np.isnan(value)}


@pytest.mark.parametrize("sealed", [False, True])
def test_what_was_read_every_four_seconds_has_rates_though_it_is_read_every_second_now(
    store: Store, sealed: bool
) -> None:
    told(store, 4000, 1000)
    seconds = [*range(0, CHANGE, 4), *range(CHANGE, 240)]
    write(store, "e", [COUNTER], {at: [20.0 * at] for at in seconds if at != 180 and not 200 <= at < 206})
    if sealed:
        assert store.seal("e", NOW, NOW + 2 * HOUR_MS)
    known = rates(store, 0, 239)
    assert known[12] == known[CHANGE] == known[199] == 200.0
    assert set(range(12, CHANGE, 4)) <= known.keys()
    assert {*range(206, 216)}.isdisjoint(known), "six seconds without a sample are a gap where each second is read"
    assert known[216] == 200.0


def test_what_was_a_gap_when_every_second_was_read_is_one_though_it_is_read_every_four_now(store: Store) -> None:
    told(store, 1000, 4000)
    seconds = [*range(60), *range(65, CHANGE), *range(CHANGE, 240, 4)]
    write(store, "e", [COUNTER], {at: [20.0 * at] for at in seconds})
    known = rates(store, 0, 239)
    assert {*range(65, 75)}.isdisjoint(known)
    assert known[59] == known[75] == known[CHANGE + 40] == 200.0
    assert {*range(CHANGE + 4, 240, 4)} <= known.keys()


def test_the_state_of_an_hour_says_at_which_interval_it_was_read(store: Store) -> None:
    """What is kept of sealed hours was worked out by those intervals, and holds while the state is the same."""
    for hour in range(3):
        write(store, "e", [COUNTER], {3600 * hour + at: [1.0] for at in range(0, 3600, 600)})
        assert store.seal("e", NOW + hour * HOUR_MS, NOW + 9 * HOUR_MS)
    hours = [NOW + hour * HOUR_MS for hour in range(3)]
    before = store.states(NOW, NOW + 3 * HOUR_MS - 1)
    assert list(before) == hours
    told(store, 4000, 1000)
    after = store.states(NOW, NOW + 3 * HOUR_MS - 1)
    assert [after[hour] != before[hour] for hour in hours] == [True, False, False]
    assert store.states(NOW, NOW + 3 * HOUR_MS - 1) == after
    assert store.states(NOW + 1, NOW + HOUR_MS)[NOW] == after[NOW], "however the range is cut"
    assert store.states(NOW, NOW + 3 * HOUR_MS - 1, ["f"]) == {}


def test_an_imported_hour_changes_the_state_of_its_own_hour_alone(store: Store) -> None:
    def imported(hour: int, interval_ms: int) -> ImportedHour:
        start = NOW + hour * HOUR_MS
        ticks = start + np.arange(0, HOUR_MS, interval_ms, dtype=np.int64)
        return ImportedHour("e", start, ticks, (POWER,), np.ones((1, len(ticks))), (), interval_ms, {})

    assert Imports(store).write(imported(1, 30_000))
    before = store.states(NOW, NOW + 3 * HOUR_MS - 1)
    assert Imports(store).write(imported(0, 30_000))
    assert Imports(store).write(imported(2, 60_000))
    after = store.states(NOW, NOW + 3 * HOUR_MS - 1)
    assert after[NOW + HOUR_MS] == before[NOW + HOUR_MS]
    assert (75_000.0 in after[NOW], 150_000.0 in after[NOW + 2 * HOUR_MS]) == (True, True)
