"""Forgetting: rows that are sealed, samples, summaries; and the size of what is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage import upkeep
from storage.records import Batch, Row
from storage.store import Store
from telemetry.summary import HOUR_MS
from tests.storage.engines import sqlite_only
from tests.storage.worlds import NOW, SECOND, series, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600


def seconds(store: Store) -> list[tuple[str, int]]:
    """Targets and ticks of all rows, as seconds after NOW."""
    return [(row.target, (row.tick - NOW) // SECOND) for row in store.rows()]


def seal_all(store: Store) -> None:
    """Seal every hour that can be."""
    for target, hour in store.due(LATER):
        assert store.seal(target, hour, LATER)


def values(store: Store, metric: str = "x") -> list[list[float]]:
    """All of a metric."""
    return store.frame([metric], None, 0, LATER).values.tolist()


def test_only_sealed_and_older_rows_go(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2], 2: [3], HOUR_S: [4]})
    write(store, "b", ["x"], {1: [2], 2: [3], HOUR_S: [5]})
    assert store.prune(LATER) == 0
    store.seal("a", NOW, LATER)
    assert store.prune(NOW + 2 * SECOND) == 2
    assert seconds(store) == [("b", 1), ("a", 2), ("b", 2), ("a", HOUR_S), ("b", HOUR_S)]
    assert store.prune(NOW + 2 * SECOND) == 0
    store.seal("b", NOW, LATER)
    assert store.prune(LATER) == 3
    assert seconds(store) == [("a", HOUR_S), ("b", HOUR_S)]
    assert store.frame(["x"], ["a"], 0, LATER).values.tolist() == [[1, 2, 3, 4]]
    assert store.frame(["x"], ["b"], 0, LATER).values.tolist() == [[2, 3, 5]]


def test_late_rows_stay_until_they_are_sealed(store: Store) -> None:
    layout = write(store, "a", ["x"], {0: [1], 2: [3], HOUR_S: [4]})
    store.seal("a", NOW, LATER)
    store.commit(Batch(rows=[Row(NOW + SECOND, "a", NOW, layout, [2])]), LATER)
    assert store.prune(LATER) == 0
    store.seal("a", NOW, LATER)
    assert store.prune(LATER) == 3
    assert values(store) == [[1, 2, 3, 4]]


def test_the_newest_row_of_each_target_stays(store: Store, opened: Callable[..., Store]) -> None:
    layout = write(store, "silent", ["x"], {0: [1], 1: [2]})
    write(store, "live", ["x"], {0: [3], 5 * HOUR_S: [4]})
    seal_all(store)
    assert store.prune(LATER) == 2
    assert seconds(store) == [("silent", 1), ("live", 5 * HOUR_S)]
    last = opened().last_rows()
    assert last["silent"] == Row(NOW + SECOND, "silent", NOW + SECOND + 40, layout, [2])
    assert store.frame(["x"], ["silent"], 0, LATER).values.tolist() == [[1, 2]]


def test_more_than_a_slice(store: Store) -> None:
    write(store, "a", ["x"], {at: [at] for at in range(1300)})
    seal_all(store)
    pauses: list[float] = []
    assert upkeep.prune(store._database, NOW + 1250 * SECOND, pauses.append) == 1250
    assert seconds(store) == [("a", at) for at in range(1250, 1300)]
    assert pauses == [upkeep.PAUSE_S] * 3
    assert values(store) == [list(range(1300))]


def test_a_tick_wider_than_a_slice(store: Store) -> None:
    names = [f"t{index}" for index in range(upkeep.SLICE_ROWS + 20)]
    layouts = {name: store.layout(name, ()) for name in names}
    rows = [Row(NOW + at, name, NOW, layouts[name], []) for at in (0, 1, 2) for name in names]
    store.commit(Batch(rows=rows), NOW)
    with store._database.writing() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO clock SELECT target, {NOW}, 3, {NOW}, {NOW + 2}, 0, 'forgotten', NULL FROM layout"
        )
    assert store.prune(NOW + 1) == len(names)
    assert store.prune(NOW + HOUR_MS) == len(names)


def test_commits_go_too_but_numbers_go_on(store: Store) -> None:
    for at in range(4):
        store.commit(Batch(), NOW + at)
    store.prune(NOW + 2)
    assert [commit.sequence for commit in store.commits_after(0)] == [3, 4]
    store.prune(NOW + 99)
    assert [commit.sequence for commit in store.commits_after(0)] == [4]
    assert store.commit(Batch(), NOW + 100).sequence == 5


@sqlite_only
def test_room_of_deleted_rows_is_used_again(store: Store) -> None:
    layout = store.layout("a", series("a", *(f"m{index}" for index in range(100))))

    def fill(hour: int) -> int:
        start = NOW + hour * HOUR_MS
        for at in range(start, start + 300):
            store.commit(Batch(rows=[Row(at, "a", NOW, layout, [1 / 3] * 100)]), at)
        seal_all(store)
        return store._database.dialect.path.stat().st_size

    full = fill(0)
    for hour in range(1, 6):
        store.prune(NOW + hour * HOUR_MS)
        after = fill(hour)
    assert after < full + 300 * 100 * 20


def test_samples_are_given_up_and_summaries_stay(store: Store) -> None:
    write(store, "a", ["x", "y"], {at: [at, 5] for at in (0, 7, HOUR_S, HOUR_S + 7, 2 * HOUR_S)})
    write(store, "b", ["x"], {0: [1], HOUR_S: [2], 2 * HOUR_S: [3]})
    seal_all(store)
    store.prune(LATER)
    before = store.summaries(["x", "y"], None, 0, LATER)
    assert store.forget(NOW + HOUR_MS - 1) == 0
    assert not store.forgotten(0, LATER)
    assert store.forget(NOW + HOUR_MS) == 2
    assert store.forget(NOW + HOUR_MS) == 0
    assert store.frame(["x"], ["a"], 0, LATER).values.tolist() == [[HOUR_S, HOUR_S + 7, 2 * HOUR_S]]
    assert store.frame(["x"], None, 0, NOW + HOUR_MS - 1).series == ()
    assert [clock.forgotten for clock in store.sealed(0, LATER)] == [True, True, False, False, False, False]
    assert [store.forgotten(NOW + low, NOW + 9000) for low in (7000, 7001)] == [True, False]
    after = store.summaries(["x", "y"], None, 0, LATER)
    assert (after.count.tolist(), after.total.tolist()) == (before.count.tolist(), before.total.tolist())
    with store._database.reading() as connection:
        query = "SELECT hour, sum(length(data)), min(codec) FROM chunk GROUP BY hour ORDER BY hour"
        kept = connection.exec_driver_sql(query).all()
    assert kept[0] == (NOW, None, "forgotten")
    assert [length is None for _, length, _ in kept] == [True, False, True]


def test_what_comes_late_for_a_given_up_hour_is_given_up_too(store: Store) -> None:
    layout = write(store, "a", ["x"], {0: [1], HOUR_S: [2]})
    seal_all(store)
    store.forget(NOW + HOUR_MS)
    store.commit(Batch(rows=[Row(NOW + SECOND, "a", NOW, layout, [9])]), LATER)
    assert store.due(LATER) == [("a", NOW + HOUR_MS)]
    assert not store.seal("a", NOW, LATER)
    assert store.prune(LATER) == 2
    assert store.summaries(["x"], None, NOW, NOW).last.tolist() == [[1]]


@pytest.mark.parametrize("half", [True, False])
def test_an_hour_that_is_late_can_be_given_up(store: Store, half: bool) -> None:
    layout = write(store, "a", ["x", "y"], {0: [1, 2], HOUR_S: [2, 3]})
    seal_all(store)
    store.commit(Batch(rows=[Row(NOW + SECOND, "a", NOW, layout, [9, 9])]), LATER)
    if half:
        with store._database.writing() as connection:
            connection.exec_driver_sql("UPDATE chunk SET data = NULL, codec = 'forgotten' WHERE series = 1")
        assert not store.seal("a", NOW, LATER)
    assert store.forget(NOW + HOUR_MS) == 1
    assert store.due(LATER) == [("a", NOW + HOUR_MS)]
    assert store.summaries(["x"], None, NOW, NOW).first.tolist() == [[1]]


def test_a_target_of_more_series_than_a_slice(store: Store) -> None:
    names = [f"m{index:04d}" for index in range(1100)]
    write(store, "a", names, {0: list(range(1100)), 1: list(range(1, 1101)), HOUR_S: [0] * 1100})
    seal_all(store)
    pauses: list[float] = []
    assert upkeep.forget(store._database, NOW + HOUR_MS, pauses.append) == 1
    assert len(pauses) == 3
    assert upkeep.drop_summaries(store._database, NOW + HOUR_MS, pauses.append) == 0
    assert store.prune(LATER) == 2
    assert upkeep.drop_summaries(store._database, NOW + HOUR_MS, pauses.append) == 1
    with store._database.reading() as connection:
        assert connection.exec_driver_sql("SELECT DISTINCT hour FROM chunk").all() == [(NOW + HOUR_MS,)]


def test_summaries_go_last(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], HOUR_S: [2]})
    write(store, "silent", ["x"], {0: [7]})
    seal_all(store)
    store.prune(LATER)
    assert store.drop_summaries(NOW + HOUR_MS - 1) == 0
    assert store.drop_summaries(NOW + HOUR_MS) == 1
    assert [(clock.target, clock.hour) for clock in store.sealed(0, LATER)] == [("silent", NOW), ("a", NOW + HOUR_MS)]
    assert store.summaries(["x"], ["a"], 0, LATER).hours.tolist() == [NOW + HOUR_MS]
    assert store.due(LATER) == []


@sqlite_only
def test_size_counts_the_log(store: Store, opened: Callable[..., Store]) -> None:
    write(store, "a", ["x"], {at: [at] for at in range(500)})
    path = store._database.dialect.path
    log = path.with_name(path.name + "-wal").stat().st_size
    assert log > 0
    assert store.size_bytes() >= path.stat().st_size + log


class KilledError(Exception):
    """Whoever gives up samples is killed here."""


@pytest.mark.parametrize("after", [1, 2, 3])
def test_an_hour_that_is_half_given_up_is_given_up(store: Store, after: int) -> None:
    names = [f"m{index:04d}" for index in range(1100)]
    write(store, "a", names, {at: [number + at for number in range(1100)] for at in (0, 1, HOUR_S)})
    seal_all(store)
    store.prune(LATER)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == after:
            raise KilledError

    with pytest.raises(KilledError):
        upkeep.forget(store._database, NOW + HOUR_MS, pause)
    assert store.forgotten(NOW, NOW)
    assert store.frame(names, None, NOW, NOW + HOUR_MS - 1).series == ()
    assert store.summaries([names[-1]], None, NOW, NOW).last.tolist() == [[1100]]
    ends = store.ends([names[0], names[-1]], None, NOW + 2 * SECOND, NOW + HOUR_MS)
    assert ends.values.tolist() == [[1, HOUR_S], [1100, 1099 + HOUR_S]]
    assert store.forget(NOW + HOUR_MS) == (1 if after < 3 else 0)
    with store._database.reading() as connection:
        kept = connection.exec_driver_sql(f"SELECT count(data) FROM chunk WHERE hour = {NOW}").scalar()
        assert (kept, connection.exec_driver_sql("SELECT count(data) FROM clock").scalar()) == (0, 1)
    assert store.forget(NOW + HOUR_MS) == 0
