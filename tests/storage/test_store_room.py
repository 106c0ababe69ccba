"""Room, weights and what is oldest; and tidying of what stands beside samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from storage import tidy
from storage.records import Absence, Batch, Episode, Event, Fact, Offset, Weight
from storage.store import Store, open_store
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, write

LATER = NOW + 99 * HOUR_MS
HOUR_S = 3600


def seal_all(store: Store) -> None:
    for target, hour in store.due(LATER):
        assert store.seal(target, hour, LATER)


def test_room_of_a_file(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    write(store, "a", ["x"], {at: [at / 7] for at in range(2000)})
    before = store.room()
    assert before.size == store.size_bytes() > 50_000
    assert before.free == 0
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM hot")
    after = store.room()
    assert after.free > 50_000
    assert after.free % 8192 == 0
    store.close()


def test_rows_of_an_hour(store: Store) -> None:
    assert store.rows_per_hour() == 0
    write(store, "a", ["x"], {0: [12345]})
    assert store.rows_per_hour() == len("[12345]") * 120, "a single row is taken for half a minute's"
    write(store, "a", ["x"], {at: [12345] for at in range(1, 300)})
    assert store.rows_per_hour() == 60 * 7 * 3600 // 59, "a minute's, of which the first second is not told"
    write(store, "b", ["x"], {at: [1] for at in range(240, 300)})
    assert store.rows_per_hour() == 60 * (7 + 3) * 3600 // 59


def test_weights(store: Store) -> None:
    write(store, "a", ["x", "y"], {0: [1, 5], 7: [2.5, 5], HOUR_S: [3, 5]})
    write(store, "b", ["x"], {5: [1], 9: [2]})
    assert store.weigh(NOW) is None
    seal_all(store)
    lengths = [f"SELECT sum(length(data)) FROM {table} WHERE hour = {NOW}" for table in ("chunk", "clock")]
    with store._database.reading() as connection:
        expected = sum(connection.exec_driver_sql(query).scalar_one() for query in lengths)
    assert store.weigh(NOW) == Weight(NOW, expected, 3, NOW, NOW + 9 * SECOND)
    assert store.newest_hours(5) == [NOW + HOUR_MS, NOW]
    assert store.newest_hours(1) == [NOW + HOUR_MS]
    store.forget(NOW + HOUR_MS)
    assert store.weigh(NOW) is None
    assert store.newest_hours(5) == [NOW + HOUR_MS]


def test_what_is_oldest(store: Store) -> None:
    assert (store.oldest_samples(), store.oldest_summaries()) == (None, None)
    write(store, "a", ["x"], {hour * HOUR_S: [hour] for hour in range(4)})
    seal_all(store)
    hours = [NOW + hour * HOUR_MS for hour in range(4)]
    assert (store.oldest_samples(), store.oldest_summaries()) == (hours[0], None)
    assert store.oldest_samples([(0, hours[1] - 1)]) == hours[1]
    assert store.oldest_samples([(hours[0], hours[1])]) == hours[2]
    assert store.oldest_samples([(0, LATER)]) is None
    store.forget(hours[2])
    assert (store.oldest_samples(), store.oldest_summaries()) == (hours[2], hours[0])
    assert store.oldest_summaries([(hours[0], hours[0])]) == hours[1]


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [(-1, -1, [1, 2]), (0, 0, [0, 1, 2]), (3599, 3599, [0, 1, 2]), (3600, 9e9, [1, 2])],
)
def test_kept_hours_are_those_that_a_range_touches(store: Store, start: int, end: float, left: list[int]) -> None:
    write(store, "a", ["x"], {hour * HOUR_S: [hour] for hour in range(3)})
    seal_all(store)
    store.prune(LATER)
    kept = [(NOW + start * SECOND, int(NOW + end * SECOND))]
    assert store.forget(NOW + HOUR_MS, kept) == 3 - len(left)
    assert [(one.hour - NOW) // HOUR_MS for one in store.sealed(0, LATER) if not one.forgotten] == left
    assert store.drop_summaries(NOW + HOUR_MS, kept) == 3 - len(left)
    assert [(one.hour - NOW) // HOUR_MS for one in store.sealed(0, LATER)] == left


def test_what_is_given_up_frees_its_pages(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    names, rng = [f"m{index:02d}" for index in range(40)], np.random.default_rng(4)
    write(store, "a", names, {hour * HOUR_S + at: rng.normal(size=40) for hour in (0, 1) for at in range(400)})
    seal_all(store)
    store.prune(LATER)
    weight, before = store.weigh(NOW), store.room().free
    assert weight is not None
    assert weight.samples > 40_000
    assert store.forget(NOW + HOUR_MS) == 1
    assert store.room().free - before > 0.6 * weight.samples
    store.close()


def test_notes(store: Store) -> None:
    assert store.noted("upkeep") is None
    store.note("upkeep", {"a": [1]})
    store.note("upkeep", {"a": [2]})
    assert store.noted("upkeep") == {"a": [2]}
    assert store.noted("schema") is None


def rows_of(store: Store, table: str, column: str) -> list[object]:
    with store._database.reading() as connection:
        return list(connection.exec_driver_sql(f'SELECT {column} FROM "{table}" ORDER BY 1').scalars())


def prepared(store: Store) -> None:
    """One of everything, that ended long ago, that ended lately, and that still holds."""
    store.commit(
        Batch(
            facts=[
                Fact("a", "kernel", "5", NOW),
                Fact("a", "kernel", "6", NOW + 100),
                Fact("a", "kernel", "7", NOW + 200),
            ],
            absences_opened=[
                Absence("a", None, NOW, NOW + 100, "old"),
                Absence("a", "x", NOW + 1, NOW + 200, "late"),
                Absence("b", None, NOW, None, "open"),
            ],
            events=[Event(0, NOW + at, "a", "xid", str(at)) for at in (0, 99, 100, 200)],
            episodes=[Episode("d", "a", "0", NOW + at, NOW + at + 50, 1, 1.0) for at in (0, 49, 50)],
        ),
        NOW,
    )


def test_what_is_over_goes_and_what_holds_stays(store: Store) -> None:
    prepared(store)
    assert store.tidy(NOW + 100) == 2 + 2
    assert rows_of(store, "fact", "value") == ["5", "6", "7"]
    assert rows_of(store, "absence", "reason") == ["late", "old", "open"]
    assert rows_of(store, "event", "text") == ["100", "200"]
    assert rows_of(store, "episode", "start_ms") == [NOW + 50]
    assert store.tidy(NOW + 101) == 1 + 1 + 1 + 1
    assert rows_of(store, "fact", "value") == ["6", "7"]
    assert rows_of(store, "absence", "reason") == ["late", "open"]
    store.tidy(LATER)
    assert rows_of(store, "fact", "value") == ["7"]
    assert rows_of(store, "absence", "reason") == ["open"]
    assert rows_of(store, "event", "text") == []
    assert [one.value for one in store.facts("a")] == ["7"]


def test_what_touches_a_kept_range_stays(store: Store) -> None:
    prepared(store)
    store.tidy(LATER, [(NOW + 99, NOW + 100), (NOW + 210, NOW + 220)])
    assert rows_of(store, "fact", "value") == ["5", "6", "7"]
    assert rows_of(store, "absence", "reason") == ["late", "old", "open"]
    assert rows_of(store, "event", "text") == ["100", "99"]
    assert rows_of(store, "episode", "start_ms") == [NOW + 49, NOW + 50]


def steps(store: Store) -> list[int]:
    return [(tick - NOW) // SECOND for tick in rows_of(store, "offset", "tick")]


def test_offsets_stay_while_anything_needs_them(store: Store) -> None:
    write(store, "a", ["x", "y"], {0: [1, 1], 2 * HOUR_S: [2, 2], 4 * HOUR_S: [3, 3]})
    seal_all(store)
    ticks = {"x": (0, HOUR_S, 3 * HOUR_S), "y": (1, 5)}
    offsets = [Offset("a", name, (), NOW + at * SECOND, float(at), "restart") for name in ticks for at in ticks[name]]
    store.commit(Batch(offsets=offsets), NOW)
    assert store.tidy(LATER) == 0, "the oldest sealed hour needs all of them"
    store.forget(LATER)
    store.prune(LATER)
    store.drop_summaries(NOW + 2 * HOUR_MS)
    assert store.tidy(NOW + HOUR_MS) == 2
    assert steps(store) == [5, HOUR_S, 3 * HOUR_S]
    assert store.tidy(LATER, [(NOW + HOUR_MS, NOW + HOUR_MS)]) == 0
    assert store.tidy(LATER) == 1
    assert steps(store) == [5, 3 * HOUR_S]
    assert store.last_offsets("a") == {Series("a", "x"): 3.0 * HOUR_S, Series("a", "y"): 5.0}


def test_offsets_of_a_store_without_sealed_hours(store: Store) -> None:
    offsets = [Offset("a", "x", (), NOW + at, float(at), "restart") for at in range(3)]
    store.commit(Batch(offsets=offsets), NOW)
    assert store.tidy(NOW + 1) == 1
    assert store.tidy(LATER) == 1
    assert store.last_offsets("a") == {Series("a", "x"): 2.0}


def test_many_go_in_slices(store: Store) -> None:
    store.commit(Batch(events=[Event(0, NOW + at, "a", "xid", "x") for at in range(1200)]), NOW)
    pauses: list[float] = []
    assert tidy.tidy(store._database, NOW + 1100, pauses.append) == 1100
    assert len(pauses) == 3
    assert len(rows_of(store, "event", "at_ms")) == 100
    facts = [Fact("a", "n", str(at), NOW + at) for at in range(700)]
    store.commit(Batch(facts=facts), NOW)
    assert store.tidy(LATER) == 100 + 699
