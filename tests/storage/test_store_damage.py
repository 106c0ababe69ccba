"""Damage costs what is damaged: everything else is answered, and the hole has its reason."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from storage import damage
from storage.clocks import Place
from storage.damage import Damage
from storage.errors import StoreBroken
from storage.records import Absence, Batch, Row
from storage.store import Store, open_store
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600
NAN = float("nan")
PLACE = "in the hour of 2026-11-30T01:00Z is damaged"


def sealed(store: Store) -> None:
    """Two targets over two hours, sealed, rows gone but the newest."""
    write(
        store, "a", ["x", "y"], {0: [1, 5], 1: [2.5, 5.5], HOUR_S: [4, 6], HOUR_S + 1: [5.5, 6.5], 2 * HOUR_S: [9, 9]}
    )
    write(store, "b", ["x"], {0: [7], 1: [7.5], 2 * HOUR_S: [8]})
    for target, hour in store.due(LATER):
        assert store.seal(target, hour, LATER)
    store.prune(LATER)


def spoil(store: Store, statement: str) -> None:
    """Change the file behind the store's back."""
    with store._database.writing() as connection:
        connection.exec_driver_sql(statement)


def spoil_chunk(store: Store, target: str, metric: str, hour: int = NOW) -> None:
    """Cut a chunk's blob."""
    mine = f"SELECT id FROM series WHERE target = '{target}' AND metric = '{metric}'"
    spoil(store, f"UPDATE chunk SET data = substr(data, 2) WHERE hour = {hour} AND series IN ({mine})")


def values(store: Store, *targets: str) -> list[list[float]]:
    """All of x and y."""
    return store.frame(["x", "y"], targets or None, NOW, LATER).values.tolist()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Errors of the log."""
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


def test_a_broken_chunk_is_a_hole_with_a_reason(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    sealed(store)
    spoil_chunk(store, "a", "x")
    assert store.absences(0, LATER) == []
    for _ in range(2):
        found = values(store, "a")
        np.testing.assert_equal(found, [[NAN, NAN, 4, 5.5, 9], [5, 5.5, 6, 6.5, 9]])
    reason = f"the chunk of x of a {PLACE}: its checksum is wrong"
    assert told(caplog) == [f"{reason}; what it held is unknown"]
    absent = [Absence("a", "x", NOW, NOW + HOUR_MS, reason)]
    assert store.absences(0, LATER) == store.absences(0, LATER, "a") == store.absences(NOW + HOUR_MS, LATER) == absent
    assert store.absences(0, NOW) == absent
    assert store.absences(0, LATER, "b") == store.absences(NOW + HOUR_MS + 1, LATER) == store.absences(0, NOW - 1) == []
    np.testing.assert_equal(values(store, "b"), [[7, 7.5, 8]])


def test_part_of_an_hour_is_a_hole_too(store: Store) -> None:
    sealed(store)
    spoil_chunk(store, "a", "y")
    found = store.frame(["x", "y"], ["a"], NOW + 1000, NOW + HOUR_MS).values
    np.testing.assert_equal(found, [[2.5, 4], [NAN, 6]])


def test_a_missing_chunk(store: Store) -> None:
    sealed(store)
    spoil(store, f"DELETE FROM chunk WHERE hour = {NOW} AND series = 1")
    np.testing.assert_equal(values(store, "a"), [[NAN, NAN, 4, 5.5, 9], [5, 5.5, 6, 6.5, 9]])
    assert store.absences(0, LATER)[0].reason == "the chunk of x of a in the hour of 2026-11-30T01:00Z is missing"


def test_a_broken_clock_leaves_the_other_hours_and_targets(store: Store) -> None:
    sealed(store)
    spoil(store, f"UPDATE clock SET data = substr(data, 3) WHERE target = 'a' AND hour = {NOW}")
    np.testing.assert_equal(values(store, "a"), [[4, 5.5, 9], [6, 6.5, 9]])
    np.testing.assert_equal(values(store, "b"), [[7, 7.5, 8]])
    (absence,) = store.absences(0, LATER)
    assert (absence.target, absence.metric, absence.start_ms) == ("a", None, NOW)
    assert absence.reason.startswith(f"the clock of a {PLACE}")


def test_rows_that_are_left_stand_in_for_a_broken_clock(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2], HOUR_S: [3]})
    assert store.seal("a", NOW, LATER)
    spoil(store, "UPDATE clock SET data = NULL")
    assert values(store) == [[1, 2, 3]]


def test_ends_take_the_summary_of_what_is_damaged(store: Store, opened: Callable[..., Store]) -> None:
    sealed(store)
    spoil_chunk(store, "a", "x")
    spoil_chunk(store, "a", "y", NOW + HOUR_MS)
    frame = store.ends(["x", "y"], ["a"], NOW + 1500, NOW + HOUR_MS + 1500)
    assert frame.row(Series("a", "x")) == 0
    np.testing.assert_equal(frame.values, [[2.5, 5.5], [5.5, 6.5]])
    spoil(store, f"UPDATE clock SET data = NULL WHERE hour = {NOW}")
    again = opened().ends(["x", "y"], ["a"], NOW + 1500, NOW + HOUR_MS + 1500)
    np.testing.assert_equal(again.values, [[2.5, 5.5], [5.5, 6.5]])


def test_an_undamaged_hour_is_never_read_from_its_summary(store: Store) -> None:
    """Between two instants of an hour only its samples know what was last."""
    write(store, "a", ["x"], {0: [1], 1: [2], 2: [3], HOUR_S: [4], 2 * HOUR_S: [5]})
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    store.prune(LATER)
    spoil_chunk(store, "a", "x", NOW + HOUR_MS)
    assert store.ends(["x"], None, NOW, NOW + 1000).values.tolist() == [[1, 2]]


def test_the_hour_after_a_broken_one_is_sealed_and_the_broken_one_is_not_sealed_over(store: Store) -> None:
    layout = write(store, "a", ["x"], {HOUR_S - 2: [1], HOUR_S - 1: [2.5], HOUR_S: [3], HOUR_S + 1: [4.5]})
    assert store.seal("a", NOW, LATER)
    spoil_chunk(store, "a", "x")
    assert store.seal("a", NOW + HOUR_MS, LATER)
    assert store.summaries(["x"], None, NOW + HOUR_MS, LATER).total.tolist() == [[7.5]]
    store.commit(Batch(rows=[Row(NOW + 5000, "a", NOW + 5000, layout, [9])]), LATER)
    assert ("a", NOW) in store.due(LATER)
    with pytest.raises(StoreBroken, match=f"the chunk of x of a {PLACE}"):
        store.seal("a", NOW, LATER)


def test_a_damaged_page_costs_what_stands_on_it(tmp_path: Path) -> None:
    """SQLite itself refuses the page; all that stands elsewhere is read."""
    path = tmp_path / "store.db"
    store = open_store(str(path), writer=True, now_ms=NOW)
    names = [f"m{index:02d}" for index in range(40)]
    rng = np.random.default_rng(7)
    write(store, "a", names, {at: rng.normal(size=40).tolist() for at in range(600)} | {HOUR_S: [0.0] * 40})
    whole = store.frame(names, None, NOW, NOW + HOUR_MS - 1).values
    assert store.seal("a", NOW, LATER)
    store.prune(LATER)
    with store._database.reading() as connection:
        root = connection.exec_driver_sql("SELECT rootpage FROM sqlite_schema WHERE name = 'chunk'").scalar_one()
    store.close()
    content = bytearray(path.read_bytes())
    start = (root - 1) * 8192
    assert content[start] == 5, "the root of the table leads to its leaves"
    cell = int.from_bytes(content[start + 12 : start + 14], "big")
    leaf = int.from_bytes(content[start + cell : start + cell + 4], "big")
    content[(leaf - 1) * 8192 : (leaf - 1) * 8192 + 64] = b"\xff" * 64
    path.write_bytes(content)
    again = open_store(str(path), writer=False, now_ms=NOW)
    found = again.frame(names, None, NOW, NOW + HOUR_MS - 1).values
    lost = np.isnan(found).all(axis=1)
    assert 1 <= lost.sum() <= 4
    np.testing.assert_array_equal(found[~lost], whole[~lost])
    reasons = {one.reason for one in again.absences(0, LATER)}
    assert len(reasons) == lost.sum()
    assert all(reason.endswith("cannot be read: the file is damaged there") for reason in reasons)
    again.close()


def test_what_is_remembered_is_bounded(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage, "MOST", 3)
    found = Damage()
    for hour in range(5):
        found.note(Place("clock", "a", hour * HOUR_MS), StoreBroken(f"no {hour}"))
    assert [one.reason for one in found.absences(0, LATER)] == ["no 0", "no 1", "no 2"]
    assert len(told(caplog)) == 3
