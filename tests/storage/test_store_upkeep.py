"""Forgetting old rows, and the size of what is left."""

from __future__ import annotations

from collections.abc import Callable

from storage import upkeep
from storage.records import Batch, Row
from storage.store import Store
from tests.storage.worlds import NOW, SECOND, series, write


def seconds(store: Store) -> list[int]:
    """Ticks of all rows as seconds after NOW."""
    return [(row.tick - NOW) // SECOND for row in store.rows()]


def test_only_what_is_older_goes(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2], 2: [3]})
    write(store, "b", ["x"], {1: [2], 2: [3]})
    assert store.prune(NOW + 2 * SECOND) == 3
    assert seconds(store) == [2, 2]
    assert store.prune(NOW + 2 * SECOND) == 0


def test_more_than_a_slice(store: Store) -> None:
    write(store, "a", ["x"], {at: [at] for at in range(1300)})
    pauses: list[float] = []
    assert upkeep.prune(store._database, NOW + 1250 * SECOND, pauses.append) == 1250
    assert seconds(store) == list(range(1250, 1300))
    assert pauses == [upkeep.PAUSE_S] * 3


def test_a_tick_wider_than_a_slice(store: Store) -> None:
    names = [f"t{index}" for index in range(upkeep.SLICE_ROWS + 20)]
    layouts = {name: store.layout(name, ()) for name in names}
    rows = [Row(NOW + at, name, NOW, layouts[name], []) for at in (0, 1) for name in names]
    store.commit(Batch(rows=rows), NOW)
    assert store.prune(NOW + 1) == len(names)
    assert store.prune(NOW + 2) == len(names)


def test_commits_go_too_but_numbers_go_on(store: Store) -> None:
    for at in range(4):
        store.commit(Batch(), NOW + at)
    store.prune(NOW + 2)
    assert [commit.sequence for commit in store.commits_after(0)] == [3, 4]
    store.prune(NOW + 99)
    assert [commit.sequence for commit in store.commits_after(0)] == [4]
    assert store.commit(Batch(), NOW + 100).sequence == 5


def test_room_of_deleted_rows_is_used_again(store: Store) -> None:
    layout = store.layout("a", series("a", *(f"m{index}" for index in range(100))))

    def fill(first: int) -> int:
        for at in range(first, first + 300):
            store.commit(Batch(rows=[Row(NOW + at, "a", NOW, layout, [1 / 3] * 100)]), NOW + at)
        return store._database.dialect.path.stat().st_size

    full = fill(0)
    for round_ in range(1, 6):
        store.prune(NOW + round_ * 300)
        after = fill(round_ * 300)
    assert after < full + 300 * 100 * 20


def test_size_counts_the_log(store: Store, opened: Callable[..., Store]) -> None:
    write(store, "a", ["x"], {at: [at] for at in range(500)})
    path = store._database.dialect.path
    log = path.with_name(path.name + "-wal").stat().st_size
    assert log > 0
    assert store.size_bytes() >= path.stat().st_size + log
