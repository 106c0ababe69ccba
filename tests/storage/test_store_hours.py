"""Which hours are sealed, which are not, which should be; and what their summaries say."""

from __future__ import annotations

import math

import numpy as np

from storage import hours
from storage.records import Batch, Clock, Row
from storage.store import Store
from telemetry.model import Series
from telemetry.summary import HOUR_MS, summarise
from tests.storage.engines import sqlite_only
from tests.storage.worlds import NOW, SECOND, series, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600
SETTLED = NOW + HOUR_MS + 300_000
NAN = math.nan
NAMES = ("count", "first", "last", "minimum", "maximum", "total", "gain", "seconds")


def late_row(store: Store, target: str, at: int) -> None:
    """A row at so many seconds after NOW that comes long after."""
    layout = store.layout(target, series(target, "x"))
    store.commit(Batch(rows=[Row(NOW + at * SECOND, target, NOW, layout, [9])]), LATER)


def test_an_hour_is_due_when_it_is_settled(store: Store) -> None:
    assert store.due(LATER) == []
    write(store, "a", ["x"], {0: [1], HOUR_S: [2]})
    assert store.due(SETTLED - 1) == []
    assert store.due(SETTLED) == [("a", NOW)]
    assert store.due(SETTLED + HOUR_MS - 1) == [("a", NOW)]
    assert store.due(SETTLED + HOUR_MS) == [("a", NOW), ("a", NOW + HOUR_MS)]


def test_oldest_first_and_only_what_has_rows(store: Store) -> None:
    write(store, "b", ["x"], {HOUR_S: [1], 5 * HOUR_S: [1]})
    write(store, "a", [], {HOUR_S: [], 2 * HOUR_S: []})
    write(store, "c", ["x"], {-1: [1], 0: [4]})
    hours = [("c", -1), ("c", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 5)]
    assert store.due(LATER) == [(target, NOW + hour * HOUR_MS) for target, hour in hours]
    for target, hour in store.due(LATER):
        assert store.seal(target, hour, LATER)
    assert store.due(LATER) == []


def test_late_rows_make_an_hour_due_again_with_the_next(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], HOUR_S: [2], 2 * HOUR_S: [3]})
    write(store, "b", ["x"], {0: [1]})
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    late_row(store, "a", 7)
    assert store.due(SETTLED) == [("a", NOW)]
    assert store.due(LATER) == [("a", NOW), ("a", NOW + HOUR_MS)]
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    assert store.due(LATER) == []


def test_more_targets_than_fit_into_a_question(store: Store) -> None:
    names = [f"t{index:03d}" for index in range(510)]
    layouts = [store.layout(name, ()) for name in names]
    rows = [Row(NOW, name, NOW, layout, []) for name, layout in zip(names, layouts, strict=True)]
    store.commit(Batch(rows=rows), NOW)
    assert store.due(LATER) == [(name, NOW) for name in names]
    for name in names[:12]:
        store.seal(name, NOW, LATER)
    assert store.due(LATER) == [(name, NOW) for name in names[12:]]


def test_sealed_hours_of_a_range(store: Store) -> None:
    write(store, "b", ["x"], {1: [1], 5: [2]})
    write(store, "a", ["x"], {-5: [0], 3: [1], HOUR_S + 7: [4]})
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    late_row(store, "b", 2)
    first, last = NOW - 5 * SECOND, NOW + (HOUR_S + 7) * SECOND
    clocks = [
        Clock("a", NOW - HOUR_MS, 1, first, first, late=False, forgotten=False),
        Clock("a", NOW, 1, NOW + 3 * SECOND, NOW + 3 * SECOND, late=False, forgotten=False),
        Clock("b", NOW, 2, NOW + SECOND, NOW + 5 * SECOND, late=True, forgotten=False),
        Clock("a", NOW + HOUR_MS, 1, last, last, late=False, forgotten=False),
    ]
    assert store.sealed(0, LATER) == clocks
    assert store.sealed(NOW, NOW + HOUR_MS - 1) == clocks[1:3]
    assert store.sealed(NOW - 1, NOW + HOUR_MS) == clocks
    assert store.sealed(NOW + HOUR_MS - 1, NOW + HOUR_MS - 1) == clocks[1:3]
    assert store.sealed(LATER, LATER) == []
    assert not store.forgotten(0, LATER)


def test_extent_reaches_over_rows_and_sealed_hours(store: Store) -> None:
    assert store.extent() is None
    write(store, "a", ["x"], {3: [1], 2 * HOUR_S + 7: [2]})
    assert store.extent() == (NOW + 3 * SECOND, NOW + 2 * HOUR_MS + 7 * SECOND)
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    first, last = NOW, NOW + 3 * HOUR_MS - 1
    assert store.extent() == (first, last)
    write(store, "b", ["x"], {-5: [1], 4 * HOUR_S: [2]})
    assert store.extent() == (NOW - 5 * SECOND, NOW + 4 * HOUR_MS)


def test_unsealed_hours_of_a_range(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], HOUR_S: [2], 3 * HOUR_S: [3]})
    hour = [NOW + at * HOUR_MS for at in range(4)]
    assert store.unsealed(0, LATER) == [("a", hour[0]), ("a", hour[1]), ("a", hour[3])]
    assert store.unsealed(hour[1] - 1, hour[1]) == [("a", hour[0]), ("a", hour[1])]
    assert store.unsealed(hour[1], hour[2] - 1) == [("a", hour[1])]
    assert store.unsealed(hour[2], hour[3] - 1) == []
    store.seal("a", hour[0], LATER)
    assert store.unsealed(0, LATER) == [("a", hour[1]), ("a", hour[3])]
    late_row(store, "a", 5)
    assert store.unsealed(0, hour[0]) == [("a", hour[0])]
    assert store.unsealed(hour[1], hour[2]) == [("a", hour[1])]


def test_unsealed_hours_of_some_targets(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], HOUR_S: [2], 3 * HOUR_S: [3]})
    write(store, "b", ["x"], {HOUR_S: [2], 2 * HOUR_S: [3]})
    hour = [NOW + at * HOUR_MS for at in range(4)]

    def of(*targets: str, start: int = 0, end: int = LATER) -> list[int]:
        with store._database.reading() as connection:
            return hours.unsealed_of(connection, start, end, targets)

    assert of("a") == [hour[0], hour[1], hour[3]]
    assert of("b", "nobody") == hour[1:3]
    assert of("a", "b") == hour
    assert of("a", "b", start=hour[1] + 5, end=hour[3] - 1) == hour[1:3]
    for target, start in store.due(LATER):
        if (target, start) != ("b", hour[1]):
            store.seal(target, start, LATER)
    assert (of("a"), of("b")) == ([], [hour[1]])
    late_row(store, "a", 5)
    assert (of("a"), of("b")) == ([hour[0], hour[1]], [hour[1]]), "the next one may change, too"


def test_summaries_are_those_of_the_samples(store: Store) -> None:
    names = ["gpu_power_watts", "generation_tokens_total", "x"]
    random = np.random.default_rng(3)
    samples = {
        at: [round(40 + at % 9 + random.random(), 1), 3.0 * at, NAN if at % 5 else 1.0]
        for at in range(-100, 2 * HOUR_S, 7)
    }
    write(store, "b", names, samples)
    write(store, "a", names[:1], {HOUR_S + 3: [55]})
    whole = store.frame(names, None, 0, LATER)
    hours = [NOW, NOW + HOUR_MS]
    expected = summarise(whole, hours)
    order = [("a", 1), ("b", 1), ("b", 0)]
    for target, hour in order:
        store.seal(target, NOW + hour * HOUR_MS, LATER)
    found = store.summaries(names, None, NOW, LATER)
    assert found.series == expected.series
    assert found.hours.tolist() == hours
    assert found.hours.dtype == np.int64
    for name in NAMES:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    one = store.summaries(lambda series: series.metric == "x", ["b"], NOW + HOUR_MS + 5, NOW + HOUR_MS + 5)
    assert one.series == (Series("b", "x"),)
    assert one.hours.tolist() == hours[1:]
    assert one.total.tolist() == [[103.0]]


def test_summaries_of_nothing(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    for found in (store.summaries(["x"], None, 0, LATER), store.summaries([], None, 0, LATER)):
        assert found.series == ()
        assert found.count.shape == found.total.shape == (0, 0)
    store.seal("a", NOW, LATER)
    assert store.summaries(["x"], None, NOW + HOUR_MS, LATER).series == ()
    assert store.summaries(["x"], ["b"], 0, LATER).series == ()
    assert store.summaries(["x"], None, NOW + HOUR_MS - 1, LATER).count.tolist() == [[1]]


def test_a_summary_does_not_depend_on_when_one_seals(store: Store, opened: object) -> None:
    """The first rate of an hour looks back into the hour before, whether that is rows or chunks."""
    name = "generation_tokens_total"
    write(store, "a", [name], {at: [10.0 * at] for at in range(HOUR_S - 60, HOUR_S + 60)})
    tables = []
    for order in ((0, 1), (1, 0)):
        with store._database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM chunk")
            connection.exec_driver_sql("DELETE FROM clock")
        for hour in order:
            assert store.seal("a", NOW + hour * HOUR_MS, LATER)
        tables.append(store.summaries([name], None, 0, LATER))
    assert tables[0].minimum.tolist() == tables[1].minimum.tolist() == [[10, 10]]
    assert tables[0].seconds.tolist() == tables[1].seconds.tolist() == [[59, 60]]
    assert tables[0].gain.tolist() == tables[1].gain.tolist() == [[590, 600]]


def test_hours_that_are_unsealed_for_anybody(store: Store) -> None:
    hour = [NOW + place * HOUR_MS for place in range(6)]
    write(store, "a", ["x"], {0: [1], HOUR_S: [2], 2 * HOUR_S: [3], 4 * HOUR_S: [4]})
    write(store, "gone", ["x"], {0: [1]})
    assert store.unsealed_hours(0, LATER) == [hour[0], hour[1], hour[2], hour[4]]
    assert store.unsealed_hours(0, LATER, 2) == hour[:2]
    assert store.unsealed_hours(hour[1] + 1, hour[4] - 1) == [hour[1], hour[2]]
    for target, start in store.due(LATER):
        store.seal(target, start, LATER)
    assert store.unsealed_hours(0, LATER) == []
    late_row(store, "a", HOUR_S + 7)
    assert store.unsealed_hours(0, LATER) == hour[1:3], "the next one may change, too"
    assert store.unsealed_hours(0, LATER, 1) == hour[1:2]
    for start in hour[1:3]:
        store.seal("a", start, LATER)
    assert store.unsealed_hours(0, LATER) == []


def test_an_hour_that_was_sealed_for_all_is_looked_at_again_when_rows_come(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], HOUR_S: [2]})
    write(store, "gone", ["x"], {5 * HOUR_S: [1]})
    for target, start in store.due(LATER):
        store.seal(target, start, LATER)
    assert [store.unsealed_hours(0, LATER) for _ in range(2)] == [[], []]
    write(store, "a", ["x"], {6 * HOUR_S: [3]})
    assert store.unsealed_hours(0, NOW + HOUR_MS) == []
    late_row(store, "gone", 3)
    assert store.unsealed_hours(0, NOW + HOUR_MS) == [NOW]
    store.seal("gone", NOW, LATER)
    write(store, "new", ["x"], {HOUR_S + 9: [3]})
    assert store.unsealed_hours(0, NOW + HOUR_MS) == [NOW + HOUR_MS]


def test_it_is_looked_at_again_when_the_log_of_commits_was_shortened(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    write(store, "gone", ["x"], {5 * HOUR_S: [1]})
    store.seal("a", NOW, LATER)
    assert store.unsealed_hours(0, NOW) == []
    late_row(store, "gone", 3)
    write(store, "a", ["x"], {6 * HOUR_S: [3], 6 * HOUR_S + 1: [3]})
    store.prune(LATER + HOUR_MS)
    assert store.unsealed_hours(0, NOW) == [NOW]


def test_more_targets_than_fit_into_a_question_are_unsealed(store: Store) -> None:
    names = [f"t{index:03d}" for index in range(510)]
    layouts = [store.layout(name, ()) for name in names]
    rows = [Row(NOW, name, NOW, layout, []) for name, layout in zip(names, layouts, strict=True)]
    store.commit(Batch(rows=rows), NOW)
    assert store.unsealed_hours(0, LATER) == [NOW]
    assert store.unsealed_hours(NOW + HOUR_MS, LATER) == []


@sqlite_only
def test_late_hours_are_found_in_an_index_of_their_own(store: Store) -> None:
    with store._database.reading() as connection:
        text = str(hours.LATE_HOURS.compile(dialect=connection.dialect))
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", (0, 2**60)).all()]
    assert plan == ["SCAN clock USING INDEX clock_late"]
