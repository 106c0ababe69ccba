"""The edition of sealed hours: what is kept of them is let go of when they change, and only then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from storage.edition import Edition
from storage.imports import ImportedHour, Imports
from storage.records import Batch, Row
from storage.store import Store
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, series, write

LATER = NOW + 50 * HOUR_MS


def imported(hour: int, *seconds: int, values: tuple[float, ...] = (1.0, 2.0, 3.0)) -> ImportedHour:
    ticks = NOW + hour * HOUR_MS + np.array(seconds, dtype=np.int64) * SECOND
    return ImportedHour("a", NOW + hour * HOUR_MS, ticks, series("a", "x"), np.array([values]), (), 1000)


def sheet(store: Store) -> tuple[list[int], list[list[float]]]:
    (found,) = store.sheets(["x"], None, [(NOW, NOW + HOUR_MS - 1)])
    return ((found.ticks - NOW) // SECOND).tolist(), found.values.tolist()


def test_what_makes_it_rise(store: Store, opened: Callable[..., Store]) -> None:
    layout = write(store, "a", ["x"], {0: [1], 2: [3], 3600: [4]})
    other = opened(writer=False)
    assert store.edition() == other.edition() == Edition(0, 0)
    assert store.seal("a", NOW, LATER)
    assert other.edition() == Edition(1, 0)
    assert not store.seal("a", NOW, LATER)
    store.fold("a", NOW - NOW % (24 * HOUR_MS))
    store.prune(LATER)
    store.commit(Batch(rows=[Row(NOW + SECOND, "a", NOW, layout, [2])]), LATER)
    assert other.edition() == Edition(1, 0), "the hour is late, and is not what its summary says until it is sealed"
    assert store.seal("a", NOW, LATER)
    assert other.edition() == Edition(2, 0)
    assert Imports(store).write(imported(5, 0, 1, 2))
    assert not Imports(store).write(imported(5, 0, 1, 2))
    assert other.edition() == Edition(3, 0)
    store.prune(LATER)
    assert store.forget(NOW + HOUR_MS) == 1
    assert other.edition() == Edition(3, 0), "the summary stays"
    assert store.drop_summaries(NOW + HOUR_MS) == 1
    assert other.edition() == Edition(4, 1)
    assert store.drop_summaries(NOW + HOUR_MS) == 0
    assert other.edition() == Edition(4, 1)


def test_another_hour_in_the_place_of_one_that_was_dropped_is_read(store: Store, opened: Callable[..., Store]) -> None:
    """It has as many samples, from the same tick to the same tick."""
    web = opened(writer=False)
    imports = Imports(store)
    assert imports.write(imported(0, 0, 5, 9))
    before = web.states(NOW, NOW + HOUR_MS - 1)
    assert sheet(web) == ([0, 5, 9], [[1, 2, 3]])
    assert store.drop_summaries(NOW + HOUR_MS) == 1
    assert sheet(web) == ([], [])
    assert imports.write(imported(0, 0, 7, 9, values=(4.0, 5.0, 6.0)))
    (head,) = web.sealed(NOW, NOW)
    assert (head.n, head.first_tick, head.last_tick) == (3, NOW, NOW + 9 * SECOND)
    assert sheet(web) == ([0, 7, 9], [[4, 5, 6]])
    assert web.states(NOW, NOW + HOUR_MS - 1)[NOW] != before[NOW]
