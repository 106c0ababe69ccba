"""Clocks that are remembered: read once, for as long as their hour stands as it was."""

from __future__ import annotations

import numpy as np

from storage import sealed
from storage.clocks import Reading
from storage.records import Batch, Row
from storage.remembered import Head, Remembered, shared
from storage.store import Store
from telemetry.frame import Ints
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600
RANGES = [(NOW, NOW + HOUR_MS - 1), (NOW + HOUR_MS, NOW + 2 * HOUR_MS)]


def reading(count: int, *layouts: int) -> Reading:
    return Reading(np.arange(count), np.zeros(0, np.uint8), np.array(layouts or [3] * count))


def head(hour: int, target: str = "a", n: int = 4) -> Head:
    return Head(target, hour * HOUR_MS, n, 0, 9, "pco", 0)


def test_only_the_very_same_clock_is_given_back() -> None:
    found, one = Remembered(), reading(4)
    found.put({head(1): one})
    assert found.get(head(1)) is one
    for other in (head(2), head(1, "b"), head(1, n=5), head(1)._replace(first_tick=1), head(1)._replace(last_tick=8)):
        assert found.get(other) is None
    assert found.get(head(1)._replace(codec="zlib")) is None
    assert found.get(head(1)._replace(dropped=1)) is None
    found.put({head(1, n=5): reading(5)})
    assert found.get(head(1)) is None, "one of a target and hour"


def test_hours_leave_where_there_is_no_room_and_what_is_shared_counts_once() -> None:
    found, ticks = Remembered(most_bytes=3 * 80), np.arange(10)
    many = {head(1, f"t{place}"): Reading(ticks, ticks, np.broadcast_to(np.int64(3), 10)) for place in range(50)}
    found.put(many)
    assert found.nbytes() == 80
    for hour in (2, 3):
        found.put({head(hour): Reading(np.arange(10), ticks, np.broadcast_to(np.int64(3), 10))})
    assert found.nbytes() == 240
    found.put({head(1, "t0"): many[head(1, "t0")]})
    found.put({head(4): Reading(np.arange(10), ticks, np.broadcast_to(np.int64(3), 10))})
    assert [found.get(head(hour)) is None for hour in (2, 3, 4)] == [True, False, False]
    assert found.get(head(1, "t9")) is many[head(1, "t9")], "it was put since"
    assert found.nbytes() == 240


def test_layouts_that_are_one_take_no_room() -> None:
    known: dict[int, tuple[Ints, Ints]] = {}
    first = reading(3)
    one, two, other = shared(first, known), shared(first, known), shared(reading(3, 3, 3, 4), known)
    assert one.layout is two.layout
    assert (one.layout.tolist(), one.layout.strides, other.layout.tolist()) == ([3, 3, 3], (0,), [3, 3, 4])


def values(store: Store) -> list[list[list[float]]]:
    return [sheet.values.tolist() for sheet in store.sheets(["x"], None, RANGES)]


def test_blobs_are_read_once_and_what_comes_late_is_seen(store: Store) -> None:
    layout = write(store, "a", ["x"], {0: [1], 2: [3], HOUR_S: [4], HOUR_S + 1: [5]})
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    store.prune(LATER)
    first = values(store)
    assert first == [[[1, 3]], [[4, 5]]]
    with store._database.writing() as connection:
        blobs = connection.execute(sealed.CLOCKS, {"first": NOW, "last": LATER, "names": ["a"]}).all()
        connection.exec_driver_sql("UPDATE clock SET data = NULL")
    assert values(store) == first
    with store._database.writing() as connection:
        for target, hour, _, _, _, data in blobs:
            mine = (sealed.CLOCK.target == target, sealed.CLOCK.hour == hour)
            connection.execute(sealed.schema.clock.update().where(*mine).values(data=data))
    store.commit(Batch(rows=[Row(NOW + SECOND, "a", NOW, layout, [2])]), LATER)
    assert values(store) == [[[1, 2, 3]], [[4, 5]]]
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    assert values(store) == [[[1, 2, 3]], [[4, 5]]]
    store.forget(LATER)
    assert [sheet.series for sheet in store.sheets(["x"], None, RANGES)] == [(), ()]
