"""Chunks are written in an order that fills pages, and come back whatever the order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage import packing
from storage.packing import ROW_BYTES
from storage.records import Batch, Row
from storage.store import open_store
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND

PAGE = 1000
ROOM = PAGE - packing.PAGE_HEAD
LONGEST = PAGE - 35


def sized(*on_page: int) -> list[int]:
    """Blobs of rows that take so many bytes."""
    return [one - ROW_BYTES for one in on_page]


def pages(order: Sequence[int], sizes: Sequence[int]) -> int:
    """How many pages rows take that are appended in this order."""
    count, free = 1, ROOM
    for place in order:
        size = packing.on_page(sizes[place], PAGE)
        if size > free:
            count, free = count + 1, ROOM
        free -= size
    return count


def test_what_is_left_of_a_page_goes_to_the_largest_that_fits() -> None:
    assert packing.order(sized(300, 900, 500, 600, 90, 100), PAGE) == [1, 4, 3, 0, 2, 5]


def test_a_row_that_fills_a_page_to_the_byte_stands_alone() -> None:
    assert packing.order(sized(ROOM - 800, 800, LONGEST), PAGE) == [2, 1, 0]
    assert packing.order(sized(ROOM - 799, 800, 100), PAGE) == [1, 2, 0]


def test_of_a_row_longer_than_a_page_what_is_left_over_stays_on_it() -> None:
    least = (PAGE - 12) * 32 // 255 - 23
    assert packing.on_page(LONGEST - ROW_BYTES, PAGE) == LONGEST
    assert packing.on_page(least + (PAGE - 4) + 200 - ROW_BYTES, PAGE) == least + 200 + packing.POINTER
    assert packing.on_page(LONGEST + 1 - ROW_BYTES, PAGE) == least + packing.POINTER


@given(st.lists(st.integers(0, 3000), max_size=60))
def test_every_blob_is_written_once_and_takes_no_more_pages(sizes: list[int]) -> None:
    order = packing.order(sizes, PAGE)
    assert sorted(order) == list(range(len(sizes)))
    filled = sum(packing.on_page(size, PAGE) for size in sizes)
    assert pages(order, sizes) <= 1 + filled // (ROOM // 2)


def test_a_sealed_hour_of_many_lengths_leaves_little_of_its_pages_empty(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "a.db"), writer=True, now_ms=NOW)
    random = np.random.default_rng(3)
    spread = [10.0 ** (place % 13) for place in range(60)]
    layout = store.layout("a", tuple(Series("a", f"m{place:02d}") for place in range(60)))
    values = np.rint(random.random((3600, 60)) * spread)
    for low in range(0, 3600, 300):
        rows = [Row(NOW + at * SECOND, "a", NOW + at * SECOND, layout, values[at]) for at in range(low, low + 300)]
        store.commit(Batch(rows=rows), NOW)
    assert store.seal("a", NOW, NOW + 2 * HOUR_MS)
    with store._database.reading() as connection:
        taken = "SELECT SUM(pgsize), SUM(unused) FROM dbstat WHERE name = 'chunk' AND pagetype = 'leaf'"
        size, unused = connection.exec_driver_sql(taken).one()
    assert unused < 0.1 * size
    frame = store.frame(lambda _: True, ["a"], NOW, NOW + HOUR_MS)
    store.close()
    np.testing.assert_array_equal(frame.values, values.T)
