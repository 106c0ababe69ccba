"""What the web process keeps of summaries is never older than what the store holds, and is read once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dashboard.shelf import Shelf
from storage.records import Batch, Row
from storage.store import Store, open_store
from telemetry.grid import MEASURES
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries
from tests.storage.worlds import NOW, SECOND, write

LATER = NOW + 50 * HOUR_MS
ASKED = (NOW, NOW + 2 * HOUR_MS)


@pytest.fixture
def writer(tmp_path: object) -> Iterator[Store]:
    """Three hours of two targets, all but the last of them sealed."""
    store = open_store(f"{tmp_path}/store.db", writer=True, now_ms=NOW)
    for target in ("a", "b"):
        write(store, target, ["x", "y"], {hour * 3600 + at: [hour + at, 5] for hour in range(3) for at in (1, 2)})
        for hour in range(2):
            assert store.seal(target, NOW + hour * HOUR_MS, LATER)
    yield store
    store.close()


@pytest.fixture
def reader(writer: Store, tmp_path: object) -> Iterator[Store]:
    """The same store as the web opens it."""
    store = open_store(f"{tmp_path}/store.db", writer=False, now_ms=NOW)
    yield store
    store.close()


def same(found: Summaries, store: Store, metrics: list[str], targets: list[str] | None = None) -> bool:
    other = store.summaries(metrics, targets, *ASKED)
    assert (found.series, found.hours.tolist()) == (other.series, other.hours.tolist())
    return all(np.array_equal(getattr(found, name), getattr(other, name), equal_nan=True) for name in MEASURES)


def test_what_was_read_is_read_once(writer: Store, reader: Store) -> None:
    shelf = Shelf(reader)
    first = shelf.summaries(["x"], *ASKED)
    assert same(first, writer, ["x"])
    assert first.hours.tolist() == [NOW, NOW + HOUR_MS]
    assert shelf.summaries({"x"}, *ASKED) is first
    assert shelf.summaries(["x"], ASKED[0] + 1, ASKED[1] + HOUR_MS - 1) is first, "the same hours"
    others = [shelf.summaries(["y"], *ASKED), shelf.summaries(["x"], *ASKED, ["b"])]
    assert same(others[0], writer, ["y"])
    assert same(others[1], writer, ["x"], ["b"])
    later = shelf.summaries(["x"], ASKED[0] + HOUR_MS, ASKED[1])
    assert later.hours.tolist() == [NOW + HOUR_MS]
    assert shelf.summaries(["x"], ASKED[0], ASKED[1] - HOUR_MS - 1).hours.tolist() == [NOW]
    assert shelf.summaries(["y"], *ASKED) is others[0]
    with pytest.raises(ValueError, match="read-only"):
        first.count[0, 0] = 7.0


def test_what_changes_is_read_anew(writer: Store, reader: Store) -> None:
    shelf = Shelf(reader)
    first = shelf.summaries(["x"], *ASKED)
    writer.commit(Batch(rows=[Row(NOW + 3 * HOUR_MS, "a", NOW, writer.layout("a", (Series("a", "x"),)), [9.0])]), LATER)
    assert shelf.summaries(["x"], *ASKED) is first, "rows change no summary"
    assert writer.seal("b", NOW + 2 * HOUR_MS, LATER)
    second = shelf.summaries(["x"], *ASKED)
    assert second.hours.tolist() == [NOW, NOW + HOUR_MS, NOW + 2 * HOUR_MS]
    late = Row(NOW + 7 * SECOND, "a", NOW, writer.layout("a", (Series("a", "x"),)), [99.0])
    writer.commit(Batch(rows=[late]), LATER)
    assert writer.seal("a", NOW, LATER)
    assert shelf.summaries(["x"], *ASKED).maximum[0, 0] == 99.0
    writer.prune(LATER)
    writer.drop_summaries(NOW + HOUR_MS)
    assert shelf.summaries(["x"], *ASKED).hours[0] == NOW + HOUR_MS


def test_those_put_longest_ago_leave_where_there_is_no_room(writer: Store, reader: Store) -> None:
    size = Shelf(reader)
    size.summaries(["x"], *ASKED)
    shelf = Shelf(reader, most_bytes=2 * size.nbytes())
    one, two = shelf.summaries(["x"], *ASKED), shelf.summaries(["y"], *ASKED)
    assert shelf.summaries(["x"], *ASKED) is one
    shelf.summaries(["x"], *ASKED, ["a", "b"])
    assert shelf.nbytes() == 2 * size.nbytes()
    assert shelf.summaries(["x"], *ASKED) is one
    assert shelf.summaries(["y"], *ASKED) is not two
    small = Shelf(reader, most_bytes=size.nbytes() - 1)
    assert same(small.summaries(["x"], *ASKED), writer, ["x"])
    assert small.nbytes() == 0
