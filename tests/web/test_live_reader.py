"""What the web reads runs from: the tail in front of the store, and counters that did not move told from both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dashboard.live_reader import LiveReader
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.reader import StoreReader
from storage.records import Batch, Row
from storage.store import Store, open_store
from telemetry.counters import increase
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW

STEP_S, MINUTES = 10, 170
NAMES = ("still", "in_the_hour", "at_the_seam", "in_the_tail", "first_reading", "away")
SERIES = tuple(Series("a", name) for name in NAMES)
OTHER = Series("b", "still")
END = NOW + MINUTES * 60_000
METRICS = frozenset(NAMES)


def level(name: str, second: int) -> float:
    """Each moves once, where its name says; the last is not known for a while before it comes back higher."""
    moves = {"in_the_hour": 4000, "at_the_seam": 7200, "in_the_tail": 9000, "first_reading": 3600, "away": 4000}
    if name == "away" and 3000 < second < 4000:
        return float("nan")
    return 5.0 + (second >= moves.get(name, 10**9))


@pytest.fixture(params=[0, 1], ids=["even", "uneven"])
def store(tmp_path: object, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Nearly three hours, two of them sealed; of the other target only one. uneven: readings a second off the hours."""
    store = open_store(f"{tmp_path}/store.db", writer=True, now_ms=NOW)
    layouts = store.layout("a", SERIES), store.layout("b", (OTHER,))
    rows = []
    for second in range(request.param, MINUTES * 60, STEP_S):
        tick = NOW + second * 1000
        rows.append(Row(tick, "a", tick, layouts[0], [level(name, second) for name in NAMES]))
        rows.append(Row(tick, "b", tick, layouts[1], [5.0]))
    store.commit(Batch(rows=rows), NOW)
    for target, hour in (("a", 0), ("a", 1), ("b", 0)):
        assert store.seal(target, NOW + hour * HOUR_MS, END)
    yield store
    store.close()


@pytest.fixture
def sources(store: Store) -> Sources:
    tail = Tail(store)
    tail.follow()
    return Sources(store, tail, lambda: END)


STARTS = (600, 3600, 3605, 4000, 4010, 7195, 7200, 7201, 9000, 9400)
ENDS = (4500, 7190, 7300, 9010, MINUTES * 60)


def test_whatever_is_said_to_stand_still_did_so(store: Store, sources: Sources) -> None:
    for start, end in ((NOW + start * 1000, NOW + end * 1000) for start in STARTS for end in ENDS if start < end):
        both = store.ends(METRICS, None, start, end)
        gained = dict(zip(both.series, increase(both, start, end).tolist(), strict=True))
        for reader in (StoreReader(store), LiveReader(sources)):
            for targets, wanted in ((None, METRICS), (["a"], lambda series: series.metric in METRICS)):
                still = reader.still(wanted, start, end, targets)
                assert {series: gained[series] for series in still if gained[series] != 0} == {}


def test_what_stands_still_is_found_in_both(sources: Sources) -> None:
    live, (still, hour, seam, tail, first, away) = LiveReader(sources), SERIES

    def found(start_s: int, end_s: int, *targets: str) -> set[Series]:
        return set(live.still(METRICS, NOW + start_s * 1000, NOW + end_s * 1000, targets or None))

    assert found(4100, 9990, "a") == {still, first}
    assert found(4100, 7000, "a") == {still, first, seam, tail}
    assert found(600, 9990, "a") == {still}
    assert found(9400, 9990) == {still, hour, seam, tail, first, away, OTHER}
    assert found(8980, 9010, "a") == {still, hour, seam, first, away}
    assert found(600, 8990, "a") == {still, tail}
    assert found(7600, 8000) >= {still, OTHER}
    assert set(live.still(lambda series: series == still, NOW + 4_100_000, END, None)) == {still}
    assert set(live.still(lambda series: series == still, NOW + 9_400_000, END, None)) == {still}


def test_two_samples_of_each_series_are_those_of_the_store(store: Store, sources: Sources) -> None:
    for start, end in ((NOW + start * 1000, NOW + end * 1000) for start in STARTS for end in ENDS if start < end):
        for wanted, targets in ((METRICS, None), (METRICS, ["a"]), (lambda series: series == SERIES[5], None)):
            found, alone = (
                reader.ends(wanted, start, end, targets) for reader in (LiveReader(sources), StoreReader(store))
            )
            assert (found.series, found.ticks.tolist()) == (alone.series, alone.ticks.tolist())
            assert np.array_equal(found.values, alone.values, equal_nan=True)
            assert np.array_equal(found.at_ms, alone.at_ms, equal_nan=True)


def test_what_the_tail_has_is_not_looked_for(store: Store, sources: Sources) -> None:
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM hot")
        connection.exec_driver_sql("DELETE FROM clock")
    for start in (NOW + 9_000_000, NOW + 9_400_000):
        found = LiveReader(sources).ends(METRICS, start, END)
        assert len(found.series) == len(SERIES) + 1
        assert (~np.isnan(found.values)).sum(axis=1).tolist() == [2] * len(found.series)


def test_frames_of_series_that_pass_a_test(store: Store, sources: Sources) -> None:
    for start in (NOW + 600_000, NOW + 9_400_000):
        found = LiveReader(sources).frame(lambda series: series == SERIES[3], start, END)
        other = store.frame(lambda series: series == SERIES[3], None, start, END)
        assert (found.series, found.ticks.tolist()) == (other.series, other.ticks.tolist())
        assert np.array_equal(found.values, other.values, equal_nan=True)
