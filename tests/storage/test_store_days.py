"""Days say what their hours say, whatever happens to these, or they are not there."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, update

from storage import chunks, days, fold, migrations, schema, summaries
from storage.imports import ImportedHour, Imports
from storage.records import Batch, Offset, Row
from storage.store import Store, open_store
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries
from tests.storage.worlds import NOW, SECOND, series, write

DAY_MS = 24 * HOUR_MS
FIRST = NOW // DAY_MS * DAY_MS
LATER = FIRST + 10 * DAY_MS
HOUR_S = 3600
AFTER = (FIRST - NOW) // SECOND
"""Second after NOW of the first day's start."""
MEASURES = ("count", "first", "last", "minimum", "maximum", "total", "gain", "seconds")


def assert_same(one: Summaries, other: Summaries) -> None:
    """Equal in everything, to the last bit."""
    assert (one.hours.tolist(), one.series) == (other.hours.tolist(), other.series)
    for name in MEASURES:
        mine, theirs = getattr(one, name), getattr(other, name)
        assert mine.shape == theirs.shape
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
        known = ~np.isnan(mine)
        assert (np.signbit(mine[known]) == np.signbit(theirs[known])).all()


def seal_all(store: Store) -> None:
    """Seal every hour that can be."""
    for target, hour in store.due(LATER):
        assert store.seal(target, hour, LATER)


def fold_all(store: Store) -> int:
    """Fold what is due; number of days of series."""
    return sum(store.fold(target, day) for target, day in store.days_due(LATER, 1000))


def rows(store: Store, what: str = "count(*)", table: str = "day") -> list[tuple[object, ...]]:
    """What stands in a table."""
    with store._database.reading() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(f"SELECT {what} FROM {table}").all()]


def by_hours(store: Store, names: list[str], start: int, end: int, targets: list[str] | None = None) -> Summaries:
    """The same answer, asked so that no day is looked at, and put together."""
    kept = rows(store, "series, day, data")
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM day")
    found = store.summaries(names, targets, start, end)
    with store._database.writing() as connection:
        for number, day, data in kept:
            connection.execute(schema.day.insert(), {"series": number, "day": day, "data": data})
    return found


def three_days(store: Store) -> None:
    """Two targets over three days, with hours away, a series that comes later, one never known, and constants."""
    for hour in (*range(3, 30), 40, 41, 71):
        at = AFTER + hour * HOUR_S
        write(store, "a", ["x", "still"], {at: [hour / 7, 2.0], at + 9: [-hour, 2.0]})
    for hour in (25, 26, 50):
        at = AFTER + hour * HOUR_S
        write(store, "b", ["x", "never", "late"], {at: [math.inf, math.nan, -0.0], at + 5: [1e300, math.nan, 5.0]})
    seal_all(store)


RANGES = [(0, 10), (0, 2), (1, 1.5), (0.3, 2.7), (1, 3), (2.99, 3), (-5, 0.2), (0.5, 0.6), (-4, -1), (5, 9), (0, 1)]


@pytest.mark.parametrize(("start", "end"), RANGES)
def test_months_are_read_by_the_day_and_say_what_hours_say(store: Store, start: float, end: float) -> None:
    three_days(store)
    low, high = FIRST + round(start * DAY_MS), FIRST + round(end * DAY_MS) - 1
    before = store.summaries(["x", "still", "never", "late"], None, low, high)
    assert fold_all(store) == 3 * 2 + 2 * 3
    assert rows(store) == [(12,)]
    assert_same(store.summaries(["x", "still", "never", "late"], None, low, high), before)
    assert_same(store.summaries(["x"], ["b"], low, high), by_hours(store, ["x"], low, high, ["b"]))


def test_days_are_what_is_read(store: Store) -> None:
    three_days(store)
    before = store.summaries(["x"], None, FIRST, LATER)
    assert before.count.sum() == 66
    fold_all(store)
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE chunk SET n = 99")
    assert_same(store.summaries(["x"], None, FIRST, LATER), before)
    short = store.summaries(["x"], None, FIRST + 3 * HOUR_MS, FIRST + 5 * HOUR_MS - 1)
    assert short.count.tolist() == [[99, 99]], "a few hours are read as hours"


def test_a_range_without_bounds_and_a_store_without_hours(store: Store) -> None:
    assert store.summaries(["x"], None, -(2**62), 2**62).series == ()
    three_days(store)
    fold_all(store)
    assert store.summaries(["x"], None, -(2**62), 2**62).count.sum() == 66
    assert store.summaries(["x"], None, LATER, FIRST).series == ()


def test_a_still_day_takes_a_twentieth(store: Store) -> None:
    for hour in range(24):
        at = AFTER + hour * HOUR_S
        write(store, "a", ["still"], {at + second: [2.0] for second in range(0, HOUR_S, 600)})
    seal_all(store)
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE chunk SET gain = 7200, seconds = 3600")  # the first has no step before
    fold_all(store)
    assert rows(store, "length(data)") == [(8 * 8 + 4,)]
    found = store.summaries(["still"], None, FIRST, FIRST + 2 * DAY_MS)
    assert (found.total.tolist(), found.gain.tolist()) == ([[12.0] * 24], [[7200.0] * 24])


def test_a_damaged_day_is_read_by_the_hour_and_named(store: Store) -> None:
    three_days(store)
    fold_all(store)
    before = store.summaries(["x", "late"], None, FIRST, LATER)
    assert store.verify().faults == []
    with store._database.writing() as connection:
        for number, blob in ((1, b"\0" * 100), (3, b""), (2, chunks.summed(b"1" * 9))):
            connection.execute(update(schema.day).where(schema.day.c.series == number).values(data=blob))
    assert_same(store.summaries(["x", "late"], None, FIRST, LATER), before)
    texts = [fault.text for fault in store.verify().faults if fault.kind == "day"]
    assert len(texts) == 3 + 3 + 2
    assert "the day 2026-11-30 of x of a does not say what its hours do" in texts


def test_late_rows_imports_and_deletion_spoil_a_day(store: Store) -> None:
    three_days(store)
    fold_all(store)
    layout = store.layout("a", series("a", "x", "still"))
    late = FIRST + 4 * HOUR_MS + 77
    store.commit(Batch(rows=[Row(late, "a", late, layout, [1e6, 3.0])]), LATER)
    assert rows(store) == [(12,)], "the hour is not sealed anew yet"
    seal_all(store)
    assert rows(store) == [(10,)]
    found = store.summaries(["x"], ["a"], FIRST, LATER)
    assert (found.maximum[0, 1], found.count[0, 1]) == (1e6, 3)
    assert store.days_due(LATER, 9) == [("a", FIRST)]
    fold_all(store)
    assert_same(store.summaries(["x"], ["a"], FIRST, LATER), found)
    imported = np.array([FIRST + HOUR_MS], dtype=np.int64)
    one = ImportedHour("a", FIRST + HOUR_MS, imported, series("a", "x"), np.array([[4.0]]), (), 1000)
    assert Imports(store).write(one)
    assert rows(store) == [(10,)]
    assert store.summaries(["x"], ["a"], FIRST, LATER).first[0, 0] == 4.0
    assert fold_all(store) == 2
    store.prune(LATER)
    store.forget(LATER)
    assert rows(store) == [(12,)], "samples given up leave summaries"
    store.drop_summaries(FIRST + 5 * HOUR_MS)
    assert rows(store) == [(10,)]
    assert store.summaries(["x"], ["a"], FIRST, LATER).hours[0] == FIRST + 5 * HOUR_MS
    assert store.days_due(LATER, 9) == [], "what is left of a day that goes is read by the hour"
    assert store.verify().faults == []


def test_when_a_day_is_due(store: Store) -> None:
    three_days(store)
    assert store.days_due(FIRST - 1, 9) == []
    assert store.days_due(FIRST, 9) == [("a", FIRST)]
    newest = [(target, FIRST + day * DAY_MS) for target, day in (("a", 2), ("b", 2), ("a", 1), ("b", 1), ("a", 0))]
    assert store.days_due(LATER, 9) == newest
    assert store.days_due(LATER, 2) == newest[:2]
    store.fold(*newest[0])
    assert store.days_due(LATER, 9) == newest[1:]


def test_a_day_that_is_not_over_is_folded_anew_with_each_of_its_hours(store: Store) -> None:
    for hour in (2, 3, 5):
        at = AFTER + hour * HOUR_S
        write(store, "a", ["x", "y"], {at: [hour, 7.0], at + 1: [hour + 0.5, 7.0]})
        assert store.seal("a", FIRST + hour * HOUR_MS, LATER)
        assert rows(store) == [(0,)], "the hour is in none"
        before = store.summaries(["x", "y"], None, FIRST, LATER)
        assert before.last[0, -1] == hour + 0.5
        assert fold_all(store) == 2
        assert_same(store.summaries(["x", "y"], None, FIRST, LATER), before)
    assert before.hours.tolist() == [FIRST + hour * HOUR_MS for hour in (2, 3, 5)]
    assert store.verify().faults == []


@pytest.mark.parametrize(
    "order", [[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2], [0, 3, 1, 4, 2, 5], [0, 1, 2, 3, 4]]
)
def test_days_in_any_order_are_laid_where_they_belong(order: list[int]) -> None:
    """A database may give rows in another order than SQLite does; and one may be missing."""
    cells = np.arange(6.0 * 8 * 24).reshape(6, 8, 24)
    series, day = np.repeat([4, 9], 3), np.tile(FIRST + np.arange(3) * DAY_MS, 2)
    names = {4: Series("a", "x"), 9: Series("a", "y")}
    found = summaries._arranged(names, days.Days(series[order], day[order], cells[order]), [], FIRST, LATER)
    assert found.series == (names[4], names[9])
    assert found.hours.tolist() == [FIRST + hour * HOUR_MS for hour in range(72)]
    right = cells.reshape(2, 3, 8, 24).transpose(2, 0, 1, 3).reshape(8, 2, 72)
    known = np.ones((2, 72), bool)
    known[1, 48:] = 5 in order
    for name, column in zip(MEASURES, right, strict=True):
        absent = 0.0 if name == "count" else np.nan
        np.testing.assert_array_equal(getattr(found, name), np.where(known, column, absent))


def test_what_is_sealed_while_a_day_is_folded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    three_days(store)
    monkeypatch.setattr(fold, "SLICE_SERIES", 1)
    layout = store.layout("b", series("b", "x", "never", "late"))
    late = FIRST + 26 * HOUR_MS + 88
    pauses: list[float] = []

    def seal(pause: float) -> None:
        pauses.append(pause)
        if len(pauses) == 2:
            store.commit(Batch(rows=[Row(late, "b", late, layout, [7.0, 8.0, 9.0])]), LATER)
            assert store.seal("b", FIRST + 26 * HOUR_MS, LATER)

    assert fold.fold(store._database, "b", FIRST + DAY_MS, seal) == 3
    assert pauses == [fold.PAUSE_S] * 3
    assert rows(store) == [(1,)], "the first two went with the hour"
    assert ("b", FIRST + DAY_MS) in store.days_due(LATER, 9)
    before = store.summaries(["x", "never", "late"], None, FIRST, LATER)
    assert before.count.sum() == 66 + 1 + 1 + 6 + 1
    fold_all(store)
    assert_same(store.summaries(["x", "never", "late"], None, FIRST, LATER), before)


def test_many_holes_are_read_at_once(store: Store) -> None:
    names = [f"m{place}" for place in range(20)]
    for day in range(22):
        at = AFTER + day * 24 * HOUR_S
        write(store, "a", names, {at: [float(day + place) for place in range(20)], at + 5 * HOUR_S: [1.0] * 20})
    for target, hour in store.due(FIRST + 40 * DAY_MS):
        store.seal(target, hour, FIRST + 40 * DAY_MS)
    before = store.summaries(names, None, FIRST, FIRST + 40 * DAY_MS)
    for target, day in store.days_due(FIRST + 40 * DAY_MS, 1000):
        store.fold(target, day)
    assert rows(store) == [(440,)]
    with store._database.writing() as connection:
        table = schema.day
        connection.execute(delete(table).where(table.c.series == 1 + table.c.day // DAY_MS % 20))
    assert_same(store.summaries(names, None, FIRST, FIRST + 40 * DAY_MS), before)


FOREVER = FIRST + 100 * DAY_MS
HISTORY = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 5 * 24 - 1),
        st.integers(0, HOUR_MS - 1),
        st.lists(st.sampled_from(range(4)), unique=True, max_size=4),
        st.lists(st.floats() | st.just(2.0) | st.just(math.nan), min_size=4, max_size=4),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one[:3],
)
DEEDS = st.lists(st.sampled_from(["seal", "fold", "drop", "forget"]), max_size=5)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=HISTORY, late=HISTORY, deeds=DEEDS, data=st.data())
def test_whatever_happens_days_say_what_hours_say(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[str, int, int, list[int], list[float]]],
    late: list[tuple[str, int, int, list[int], list[float]]],
    deeds: list[str],
    data: st.DataObject,
) -> None:
    """One store that folds, and one that never does, and all else alike."""
    folder: Path = tmp_path_factory.mktemp("stores")
    names = ["power", "x", "y", "z"]
    both = [open_store(str(folder / f"{name}.db"), writer=True, now_ms=NOW) for name in ("folded", "plain")]
    try:
        for some in (history, late):
            for target, hour, after, places, values in some:
                at = FIRST + hour * HOUR_MS + after
                own = tuple(Series(target, names[place]) for place in places)
                for store in both:
                    row = Row(at, target, at, store.layout(target, own), values[: len(own)])
                    store.commit(Batch(rows=[row]), FOREVER)
            for deed in ("seal", "fold", *deeds):
                before = FIRST + data.draw(st.integers(0, 6 * 24)) * HOUR_MS
                for store in both:
                    if deed == "seal":
                        for target, hour in store.due(FOREVER):
                            store.seal(target, hour, FOREVER)
                    elif deed == "drop":
                        store.drop_summaries(before)
                    elif deed == "forget":
                        store.forget(before)
                if deed == "fold":
                    for target, day in both[0].days_due(before + 2 * DAY_MS, 1000):
                        both[0].fold(target, day)
            edges = st.integers(-30, 6 * 24 * 2).map(lambda half: FIRST + half * HOUR_MS // 2)
            for start, end in [(FIRST, FOREVER), (data.draw(edges), data.draw(edges))]:
                one, other = (store.summaries(names, None, start, end) for store in both)
                assert_same(one, other)
        assert both[0].verify().faults == both[1].verify().faults
    finally:
        for store in both:
            store.close()


def test_days_of_an_older_store_are_made_by_and_by(store: Store) -> None:
    three_days(store)
    before = store.summaries(["x"], None, FIRST, LATER)
    with store._database.writing() as connection:
        for table in ("day", "day_due"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        migrations.STEPS[4](connection)
    assert len(store.days_due(LATER, 99)) == 5
    assert_same(store.summaries(["x"], None, FIRST, LATER), before)
    assert fold_all(store) == 12
    assert_same(store.summaries(["x"], None, FIRST, LATER), before)


def test_a_reader_that_only_reads(store: Store, opened: Callable[..., Store]) -> None:
    three_days(store)
    fold_all(store)
    found = opened(writer=False).summaries(["x"], None, FIRST, LATER)
    assert_same(found, store.summaries(["x"], None, FIRST, LATER))


def test_a_first_use_with_the_first_sample_of_an_hour(store: Store) -> None:
    name = "generation_tokens_total"
    for hour in range(20, 30):
        at = AFTER + hour * HOUR_S
        names = ["x", name] if hour >= 26 else ["x"]
        numbers = {at: [1.0, 7.0 * hour], at + 9: [1.0, 8.0 * hour]}
        write(store, "a", names, {second: values[: len(names)] for second, values in numbers.items()})
    first = FIRST + 26 * HOUR_MS
    store.commit(Batch(offsets=[Offset("a", name, (), first, 0.0, "first use")]), NOW)
    seal_all(store)
    before = store.summaries(["x", name], None, FIRST, LATER)
    assert before.last[before.series.index(Series("a", name))].tolist()[5:7] == [0.0, 208.0]
    fold_all(store)
    assert_same(store.summaries(["x", name], None, FIRST, LATER), before)
    cut = store.summaries([name], None, first, LATER)
    assert (cut.hours[0], cut.first[0, :2].tolist()) == (first - HOUR_MS, [0.0, 7.0 * 26])
