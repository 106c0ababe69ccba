"""What a commit keeps, and that it keeps all or nothing."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

from storage.errors import StoreError
from storage.records import Absence, Batch, Commit, Episode, Event, Fact, Offset, Row, TargetRow
from storage.store import Store
from telemetry.model import Series
from tests.storage.engines import sqlite_only
from tests.storage.worlds import NOW, SECOND, series, write

Open = Callable[..., Store]


def test_rows_come_back_exactly(store: Store) -> None:
    values = [0.0, -0.0, math.nan, math.inf, -math.inf, 2.0**60, 0.1, 5e-324]
    layout = store.layout("n", series("n", *"abcdefgh"))
    store.commit(Batch(rows=[Row(NOW, "n", NOW + 7, layout, values)]), NOW)
    (row,) = store.rows()
    assert row == Row(NOW, "n", NOW + 7, layout, values)
    assert [math.copysign(1, value) for value in row.values[:2]] == [1, -1]
    assert row.values.dtype == np.float64


@sqlite_only
def test_plain_sql_reads_the_numbers(store: Store) -> None:
    write(store, "a", ["x", "y"], {0: [1.5, math.nan], 1: [2.0, 7.25]})
    with closing(sqlite3.connect(store._database.dialect.path)) as connection:
        found = connection.execute(
            "SELECT tick, series.metric, element.value FROM hot, json_each(hot.data) AS element"
            " JOIN layout ON layout.id = hot.layout"
            " JOIN json_each(layout.series_ids) AS place ON place.key = element.key"
            " JOIN series ON series.id = place.value ORDER BY tick, metric"
        ).fetchall()
    assert found == [(NOW, "x", 1.5), (NOW, "y", None), (NOW + SECOND, "x", 2.0), (NOW + SECOND, "y", 7.25)]


def test_numpy_numbers_are_stored_as_numbers(store: Store) -> None:
    layout = store.layout("n", series("n", "x"))
    tick = np.array([NOW, NOW + 1], dtype=np.int64)
    store.commit(Batch(rows=[Row(tick[0], "n", tick[1], np.int32(layout), np.array([1.0]))]), NOW)
    store.commit(Batch(offsets=[Offset("n", "x", (), tick[1], np.float64(2.5), "restart")]), NOW)
    assert store.rows() == [Row(NOW, "n", NOW + 1, layout, [1.0])]
    assert store.offsets(NOW, NOW + 1) == [Offset("n", "x", (), NOW + 1, 2.5, "restart")]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_a_row_that_does_not_fit_its_layout_is_refused(store: Store, opened: Open, values: list[float]) -> None:
    layout = store.layout("n", series("n", "x", "y"))
    for one in (store, opened()):
        with pytest.raises(ValueError, match=f"a row of n has {len(values)} values, layout {layout} 2"):
            one.commit(Batch(rows=[Row(NOW, "n", NOW, layout, values)]), NOW)
    assert store.rows() == []
    with pytest.raises(StoreError, match="no layout 9"):
        store.commit(Batch(rows=[Row(NOW, "n", NOW, 9, values)]), NOW)


def test_rows_by_range_ticks_and_targets(store: Store) -> None:
    write(store, "b", ["x"], {0: [1], 1: [2], 3: [4]})
    write(store, "a", ["x"], {1: [20], 2: [30]})

    def found(**question: object) -> list[tuple[int, str]]:
        return [((row.tick - NOW) // SECOND, row.target) for row in store.rows(**question)]

    assert found() == [(0, "b"), (1, "a"), (1, "b"), (2, "a"), (3, "b")]
    assert found(start=NOW + SECOND, end=NOW + 2 * SECOND) == [(1, "a"), (1, "b"), (2, "a")]
    assert found(start=NOW + SECOND + 1) == [(2, "a"), (3, "b")]
    assert found(end=NOW + SECOND - 1) == [(0, "b")]
    assert found(ticks=[NOW + 3 * SECOND, NOW + SECOND, NOW + SECOND]) == [(1, "a"), (1, "b"), (3, "b")]
    assert found(ticks=[NOW, NOW + SECOND], targets=["a"]) == [(1, "a")]
    assert found(ticks=[]) == found(targets=[]) == []
    assert found(ticks=[NOW, NOW + 3 * SECOND], start=NOW + SECOND) == [(3, "b")]


def test_many_ticks_at_once(store: Store) -> None:
    write(store, "n", ["x"], {at: [at] for at in range(1201)})
    rows = store.rows(ticks=[NOW + at * SECOND for at in range(1201)])
    assert [row.values[0] for row in rows] == list(range(1201))


def test_a_row_is_never_rewritten(store: Store) -> None:
    layout = write(store, "n", ["x"], {0: [1.0]})
    again = store.commit(Batch(rows=[Row(NOW, "n", NOW + 99, layout, [9.0])]), NOW)
    assert store.rows() == [Row(NOW, "n", NOW + 40, layout, [1.0])]
    assert again.sequence == 2


def test_commits_are_numbered_and_say_their_ticks(store: Store) -> None:
    assert store.latest_commit() is None
    layout = store.layout("n", series("n", "x"))
    late = [
        Row(NOW + 5, "n", NOW, layout, [1]),
        Row(NOW + 2, "n", NOW, layout, [1]),
        Row(NOW + 3, "n", NOW, layout, [1]),
    ]
    first = store.commit(Batch(rows=late), NOW + 10)
    second = store.commit(Batch(rows=[Row(NOW + 1, "n", NOW, layout, [1])]), NOW + 20)
    assert first == Commit(1, NOW + 10, NOW + 2, NOW + 5)
    assert store.commits_after(0) == [first, second]
    assert store.commits_after(1) == [second]
    assert store.commits_after(0, limit=1) == [first]
    assert store.commits_after(2) == []
    assert store.latest_commit() == second == Commit(2, NOW + 20, NOW + 1, NOW + 1)


def test_a_commit_without_rows_names_an_empty_range(store: Store) -> None:
    write(store, "n", ["x"], {0: [1], 60: [2]})
    commit = store.commit(Batch(events=[Event(0, NOW, "n", "k", "t")]), NOW)
    assert commit == Commit(2, NOW, NOW + 1, NOW)
    assert store.rows(start=commit.first_tick, end=commit.last_tick) == []


def test_last_rows(store: Store) -> None:
    assert store.last_rows() == {}
    store.layout("never", ())
    write(store, "a", ["x"], {0: [1], 5: [6]})
    layout = write(store, "b", ["x"], {4: [5], 2: [3]})
    found = store.last_rows()
    assert {name: row.values.tolist() for name, row in found.items()} == {"a": [6.0], "b": [5.0]}
    assert found["b"] == Row(NOW + 4 * SECOND, "b", NOW + 4 * SECOND + 40, layout, [5])


@pytest.mark.parametrize("silence", [59, 60, 10**6])
def test_last_rows_of_a_target_that_is_silent(store: Store, silence: int) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2]})
    write(store, "b", ["x"], {0: [3], 1 + silence: [4]})
    found = store.last_rows()
    assert {name: row.values.tolist() for name, row in found.items()} == {"a": [2.0], "b": [4.0]}


def test_layouts_are_registered_once_and_found_again(store: Store, opened: Open) -> None:
    one, two = series("n", "a", "b"), series("n", "b", "a")
    first = store.layout("n", one)
    second = store.layout("n", two)
    assert first != second
    assert [store.layout("n", one), store.layout("n", two), store.layout("n", series("n", "a", "b"))] == [
        first,
        second,
        first,
    ]
    other = store.layout("m", one)
    assert other not in (first, second)
    again = opened()
    assert again.layout("n", series("n", "a", "b")) == first
    assert again.series_of(second) == store.series_of(second) == two
    assert again.series_of(other) == one


def test_layout_of_labels_and_of_nothing(store: Store, opened: Open) -> None:
    labelled = (Series("n", "a", (("gpu", "0"), ("le", "+Inf"))), Series("n", "a", (("gpu", "1"),)))
    number, nothing = store.layout("n", labelled), store.layout("n", ())
    reader = opened(writer=False)
    assert reader.series_of(number) == labelled
    assert reader.series_of(nothing) == ()


def test_an_unknown_layout_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no layout 77"):
        store.series_of(77)


def test_a_reader_learns_layouts_that_came_later(store: Store, opened: Open) -> None:
    reader = opened(writer=False)
    first = store.layout("n", series("n", "a"))
    assert reader.series_of(first) == series("n", "a")
    second = store.layout("n", series("n", "a", "b"))
    assert reader.series_of(second) == series("n", "a", "b")


def test_offsets(store: Store) -> None:
    labels = (("gpu", "0"),)
    begin = Offset("n", "energy", labels, NOW, -50.0, "first sample")
    restart = Offset("n", "energy", labels, NOW + 5, 0.1 + 0.2, "restart")
    other = Offset("m", "energy", labels, NOW + 2, 2.0**40, "wrap")
    store.commit(Batch(offsets=[restart, other, begin]), NOW)
    assert store.offsets(NOW, NOW + 5) == [begin, other, restart]
    assert store.offsets(NOW + 1, NOW + 4) == [other]
    assert store.offsets(NOW, NOW + 5, targets=["n"]) == [begin, restart]
    assert store.last_offsets("n") == {Series("n", "energy", labels): 0.1 + 0.2}
    assert store.last_offsets("x") == {}
    assert restart.series == Series("n", "energy", labels)


def test_absences_open_close_and_overlap(store: Store) -> None:
    whole = Absence("n", None, NOW, None, "unreachable")
    part = Absence("n", "gpu_power", NOW + 10, None, "not supported")
    store.commit(Batch(absences_opened=[whole, part]), NOW)
    assert store.absences(NOW + 99, NOW + 99) == [whole, part]
    assert store.absences(NOW - 9, NOW + 9) == [whole]
    ended = Absence("n", None, NOW, NOW + 50, "unreachable")
    store.commit(Batch(absences_closed=[ended]), NOW)
    assert store.absences(NOW + 50, NOW + 60) == [ended, part]
    assert store.absences(NOW + 51, NOW + 60) == [part]
    assert store.absences(NOW, NOW + 99, target="m") == []
    brief = Absence("m", None, NOW + 1, NOW + 2, "stalled")
    store.commit(Batch(absences_closed=[brief]), NOW)
    assert store.absences(NOW, NOW + 99, target="m") == [brief]


def test_an_absence_that_begins_and_ends_in_one_batch(store: Store) -> None:
    store.commit(
        Batch(
            absences_opened=[Absence("n", None, NOW, None, "r")],
            absences_closed=[Absence("n", None, NOW, NOW + 3, "r")],
        ),
        NOW,
    )
    assert store.absences(NOW, NOW) == [Absence("n", None, NOW, NOW + 3, "r")]


def test_a_fact_holds_until_another_value(store: Store) -> None:
    store.commit(Batch(facts=[Fact("n", "driver", "1", NOW), Fact("n", "kernel", "6", NOW)]), NOW)
    store.commit(Batch(facts=[Fact("n", "driver", "1", NOW + 5)]), NOW)
    store.commit(Batch(facts=[Fact("n", "driver", "2", NOW + 9)]), NOW)
    old, new = Fact("n", "driver", "1", NOW, NOW + 9), Fact("n", "driver", "2", NOW + 9)
    assert store.facts(name="driver") == [old, new]
    assert store.facts(at_ms=NOW + 8) == [old, Fact("n", "kernel", "6", NOW)]
    assert store.facts(at_ms=NOW + 9, name="driver") == [new]
    assert store.facts(at_ms=NOW - 1) == store.facts(target="m") == []


def test_facts_are_remembered_after_a_restart(store: Store, opened: Open) -> None:
    store.commit(Batch(facts=[Fact("n", "driver", "1", NOW)]), NOW)
    again = opened()
    again.commit(Batch(facts=[Fact("n", "driver", "1", NOW + 5), Fact("m", "driver", "1", NOW + 5)]), NOW)
    assert again.facts() == [Fact("m", "driver", "1", NOW + 5), Fact("n", "driver", "1", NOW)]


def test_a_fact_that_ends(store: Store) -> None:
    store.commit(Batch(facts=[Fact("n", "model", "K3", NOW)]), NOW)
    store.commit(Batch(facts=[Fact("n", "model", "K3", NOW, NOW + 5)]), NOW)
    assert store.facts(at_ms=NOW + 5) == []
    store.commit(Batch(facts=[Fact("n", "model", "K3", NOW + 7)]), NOW)
    assert store.facts() == [Fact("n", "model", "K3", NOW, NOW + 5), Fact("n", "model", "K3", NOW + 7)]


def test_a_fact_seen_with_an_earlier_clock_ends_the_one_before_without_a_negative_length(store: Store) -> None:
    store.commit(Batch(facts=[Fact("n", "model", "A", NOW + 10)]), NOW)
    store.commit(Batch(facts=[Fact("n", "model", "B", NOW)]), NOW)
    assert store.facts() == [Fact("n", "model", "B", NOW), Fact("n", "model", "A", NOW + 10, NOW + 10)]


def test_two_values_of_a_fact_at_one_instant_keep_the_last(store: Store) -> None:
    store.commit(Batch(facts=[Fact("n", "model", "A", NOW), Fact("n", "model", "B", NOW)]), NOW)
    assert store.facts() == [Fact("n", "model", "B", NOW)]


def test_events(store: Store) -> None:
    texts = [
        Event(0, NOW + at, target, "xid", f"e{at}", {"xid": str(at)}) for at, target in ((3, "n"), (1, "m"), (2, "n"))
    ]
    store.commit(Batch(events=texts), NOW)
    found = store.events(NOW, NOW + 3)
    assert [(event.text, event.labels, event.id > 0) for event in found] == [
        ("e1", {"xid": "1"}, True),
        ("e2", {"xid": "2"}, True),
        ("e3", {"xid": "3"}, True),
    ]
    assert [event.text for event in store.events(NOW, NOW + 3, limit=2)] == ["e2", "e3"]
    assert [event.text for event in store.events(NOW, NOW + 3, target="n")] == ["e2", "e3"]
    assert [event.text for event in store.events(NOW + 2, NOW + 2)] == ["e2"]
    assert found[0] == Event(found[0].id, NOW + 1, "m", "xid", "e1", {"xid": "1"})


def test_episodes(store: Store) -> None:
    known = Episode("k3", "head", "0", NOW, NOW + 41_000, 60_000, 41.25)
    unknown = Episode("k3", "head", "1", NOW + 50_000, NOW + 60_000, None, None)
    store.commit(Batch(episodes=[unknown, known]), NOW)
    assert store.episodes("k3", NOW, NOW + 99_000) == [known, unknown]
    assert store.episodes("k3", NOW + 41_000, NOW + 49_999) == [known]
    assert store.episodes("k3", NOW + 41_001, NOW + 50_000) == [unknown]
    assert store.episodes("other", NOW, NOW + 99_000) == []


def test_targets_are_replaced(store: Store) -> None:
    never = TargetRow("n", "node", "http://n:9810", 1000, "unreachable", "refused", NOW, None, {"cost_s": 0.1})
    up = TargetRow("n", "node", "http://n:9810", 2000, "up", "", NOW + 5, NOW + 6, {"skew_s": None})
    other = TargetRow("a", "engine", "http://a:8000", 1000, "idle", "", NOW, NOW)
    store.commit(Batch(targets=[never, other]), NOW)
    assert store.targets() == [other, never]
    store.commit(Batch(targets=[up]), NOW)
    assert store.targets() == [other, up]


def test_a_batch_that_cannot_be_written_leaves_nothing(store: Store) -> None:
    layout = write(store, "n", ["x"], {0: [1]})
    bad = Batch(
        rows=[Row(NOW + SECOND, "n", NOW, layout, [2])],
        facts=[Fact("n", "model", "K3", NOW)],
        events=[Event(0, NOW, "n", "kind", None, {})],  # type: ignore[arg-type]
    )
    with pytest.raises(StoreError):
        store.commit(bad, NOW)
    assert len(store.rows()) == 1
    assert store.facts() == store.events(0, 2 * NOW) == []
    assert store.latest_commit() == Commit(1, NOW, NOW, NOW)
    store.commit(Batch(facts=[Fact("n", "model", "K3", NOW)]), NOW)
    assert store.facts() == [Fact("n", "model", "K3", NOW)]
