"""Backups are copied beside a writer, verified, and brought back without losing what stood there."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from storage import backup, schema
from storage.backup import back_up, restore, version_of
from storage.errors import StoreBroken, StoreError, StoreNewer, StoreNotReady, StoreTaken
from storage.records import Absence, Batch, Event, Fact, Offset, Row
from storage.store import Store, open_store
from telemetry.summary import HOUR_MS
from tests.storage.first_version import assert_history, unpacked
from tests.storage.worlds import NOW, SECOND, series, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600
FIRST = Path(__file__).parent.parent / "data" / "storage" / "schema-1.sql"


def fill(path: Path) -> Store:
    """A sealed hour, an open one, and a row of each of the other tables; left open."""
    store = open_store(str(path), writer=True, now_ms=NOW)
    write(store, "a", ["x", "y"], {0: [1, 5], 1: [2.5, 5], HOUR_S: [3, 6]})
    store.seal("a", NOW, LATER)
    batch = Batch(
        offsets=[Offset("a", "x", (), NOW, 1.0, "wrap")],
        absences_opened=[Absence("a", None, NOW, None, "gone")],
        facts=[Fact("a", "kernel", "6", NOW)],
        events=[Event(0, NOW, "a", "xid", "text")],
    )
    store.commit(batch, NOW)
    return store


def values(path: Path) -> list[list[float]]:
    """All samples."""
    store = open_store(str(path), writer=False, now_ms=NOW)
    found = store.frame(["x", "y"], None, NOW, LATER).values.tolist()
    store.close()
    return found


def files(directory: Path) -> set[str]:
    """What is there."""
    return {path.name for path in directory.iterdir()}


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_copy_is_whole_alone_and_its_owners(tmp_path: Path) -> None:
    store = fill(tmp_path / "store.db")
    told: set[str] = set()
    before = os.umask(0)
    try:
        made = back_up(
            f"sqlite:///{tmp_path}/store.db", tmp_path / "copy.db", progress=lambda what, _done, _of: told.add(what)
        )
    finally:
        os.umask(before)
    store.close()
    assert made.rows == {
        "series": 2,
        "layout": 1,
        "clock": 1,
        "chunk": 2,
        "hot": 3,
        "offset": 1,
        "fact": 1,
        "absence": 1,
        "event": 1,
        "episode": 0,
    }
    assert (made.report.hours, made.report.chunks, made.report.rows, made.report.faults) == (1, 2, 3, [])
    assert (made.secrets, told) == ((), {"copied", "verified"})
    assert (mode(made.path), made.size) == (0o600, made.path.stat().st_size)
    (tmp_path / "store.db").unlink()
    assert {name for name in files(tmp_path) if "copy" in name} == {"copy.db"}
    assert values(tmp_path / "copy.db") == [[1, 2.5, 3], [5, 5, 6]]
    with closing(sqlite3.connect(made.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_writer_goes_on_and_the_copy_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit between any two steps neither waits nor makes the copy begin anew."""
    monkeypatch.setattr(backup, "STEP_PAGES", 1)
    store = fill(tmp_path / "store.db")
    layout = store.layout("a", series("a", "x", "y"))
    steps, committed = [0], []

    def meanwhile(_seconds: float) -> None:
        steps[0] += 1
        tick = NOW + (HOUR_S + steps[0]) * SECOND
        store.commit(Batch(rows=[Row(tick, "a", tick, layout, [steps[0], 0])]), tick)
        committed.append(tick)

    made = back_up(str(tmp_path / "store.db"), tmp_path / "copy.db", pause=meanwhile)
    pages = made.size // 8192
    assert pages <= steps[0] < 2 * pages
    assert made.rows["hot"] == 3
    assert len(store.rows()) == 3 + len(committed)
    store.close()
    assert values(tmp_path / "copy.db") == [[1, 2.5, 3], [5, 5, 6]]


def test_a_file_that_is_there_is_kept_unless_forced(tmp_path: Path) -> None:
    fill(tmp_path / "store.db").close()
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    with pytest.raises(StoreError, match=r"copy\.db is there already: name another file, or give --force"):
        back_up(str(tmp_path / "store.db"), copy)
    assert copy.read_text() == "mine"
    back_up(str(tmp_path / "store.db"), copy, force=True)
    assert values(copy) == [[1, 2.5, 3], [5, 5, 6]]
    with pytest.raises(StoreError, match="is the store itself"):
        back_up(str(tmp_path / "store.db"), tmp_path / "store.db", force=True)


def test_what_cannot_be_copied(tmp_path: Path) -> None:
    with pytest.raises(StoreNotReady, match="there is no store"):
        back_up(str(tmp_path / "none.db"), tmp_path / "copy.db")
    fill(tmp_path / "store.db").close()
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        back_up(str(tmp_path / "store.db"), tmp_path / "no" / "copy.db")
    with pytest.raises(StoreError, match="pg_dump"):
        back_up("postgresql+psycopg://ann:secret@db/x", tmp_path / "copy.db")
    assert files(tmp_path) == {"store.db"}


def test_a_store_that_is_broken_leaves_no_backup(tmp_path: Path) -> None:
    store = fill(tmp_path / "store.db")
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE chunk SET data = substr(data, 2) WHERE data IS NOT NULL")
    store.close()
    with pytest.raises(
        StoreBroken, match=r"the copy is not sound, and was not kept: the chunk of x of a .* run verify"
    ):
        back_up(str(tmp_path / "store.db"), tmp_path / "copy.db")
    assert files(tmp_path) == {"store.db"}


def test_secrets_are_counted(tmp_path: Path) -> None:
    store = fill(tmp_path / "store.db")
    for key in ("channel/1", "channel/2", "token/web", "views"):
        store.set_preference(key, "x")
    store.close()
    assert back_up(str(tmp_path / "store.db"), tmp_path / "copy.db").secrets == ("2 channels", "1 token")


def test_restoring_keeps_what_stood_there(tmp_path: Path) -> None:
    fill(tmp_path / "store.db").close()
    back_up(str(tmp_path / "store.db"), tmp_path / "copy.db")
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    write(store, "a", ["x", "y"], {HOUR_S + 1: [99, 99]})
    reader = open_store(str(tmp_path / "store.db"), writer=False, now_ms=NOW)
    reader.rows()
    store.close()
    done = restore(f"sqlite:///{tmp_path}/store.db", tmp_path / "copy.db", NOW)
    assert done.aside == tmp_path / "store.db.replaced-20261130T010000Z"
    assert (done.rows["hot"], done.report.chunks) == (3, 2)
    reader.close()
    assert values(tmp_path / "store.db") == [[1, 2.5, 3], [5, 5, 6]]
    assert values(done.aside) == [[1, 2.5, 3, 99], [5, 5, 6, 99]]
    assert mode(tmp_path / "store.db") == 0o600
    assert not [name for name in files(tmp_path) if name.endswith(".part")]
    with pytest.raises(StoreError, match="is there already: wait a second"):
        restore(str(tmp_path / "store.db"), tmp_path / "copy.db", NOW)
    assert values(tmp_path / "store.db") == [[1, 2.5, 3], [5, 5, 6]]


def test_restoring_where_nothing_stands(tmp_path: Path) -> None:
    fill(tmp_path / "store.db").close()
    done = restore(str(tmp_path / "new" / "other.db"), tmp_path / "store.db", NOW)
    assert done.aside is None
    assert values(tmp_path / "new" / "other.db") == [[1, 2.5, 3], [5, 5, 6]]


def test_a_log_beside_a_backup_is_part_of_it(tmp_path: Path) -> None:
    """Somebody copied the files of a store that was killed."""
    store = fill(tmp_path / "store.db")
    for end in ("", "-wal"):
        (tmp_path / f"copied.db{end}").write_bytes((tmp_path / f"store.db{end}").read_bytes())
    store.close()
    restore(str(tmp_path / "other.db"), tmp_path / "copied.db", NOW)
    assert values(tmp_path / "other.db") == [[1, 2.5, 3], [5, 5, 6]]


def test_nothing_is_restored_under_a_collector(tmp_path: Path) -> None:
    fill(tmp_path / "copy.db").close()
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    store.claim()
    with pytest.raises(StoreTaken, match="another collector writes to the store"):
        restore(str(tmp_path / "store.db"), tmp_path / "copy.db", NOW)
    assert store.rows() == []
    store.close()
    restore(str(tmp_path / "store.db"), tmp_path / "copy.db", NOW)
    again = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    again.claim()
    again.close()


def test_no_collector_begins_while_something_is_restored(tmp_path: Path) -> None:
    fill(tmp_path / "copy.db").close()
    fill(tmp_path / "store.db").close()
    refused: list[bool] = []

    def collector() -> None:
        other = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
        try:
            other.claim()
        except StoreTaken:
            refused.append(True)
        other.close()

    def meanwhile(_seconds: float) -> None:
        if not refused:
            thread = threading.Thread(target=collector)
            thread.start()
            thread.join()

    restore(str(tmp_path / "store.db"), tmp_path / "copy.db", NOW, pause=meanwhile)
    assert refused == [True]


@pytest.mark.parametrize("what", ["text", "empty", "foreign", "newer", "broken", "cut"])
def test_a_backup_that_is_not_whole_changes_nothing(tmp_path: Path, what: str) -> None:
    fill(tmp_path / "store.db").close()
    bad = tmp_path / "bad.db"
    if what == "text":
        bad.write_bytes(b"no database at all, only text" * 99)
    elif what == "empty":
        bad.touch()
    elif what == "foreign":
        with closing(sqlite3.connect(bad)) as connection:
            connection.execute("CREATE TABLE other (x)")
    else:
        made = fill(bad)
        with made._database.writing() as connection:
            if what == "newer":
                connection.exec_driver_sql(f"UPDATE meta SET value = '{schema.VERSION + 1}' WHERE key = 'schema'")
            elif what == "broken":
                connection.exec_driver_sql("UPDATE clock SET data = NULL")
        made.close()
    if what == "cut":
        bad.write_bytes(bad.read_bytes()[: 20 * 8192])
    kind = StoreNewer if what == "newer" else StoreBroken
    with pytest.raises(kind):
        restore(str(tmp_path / "store.db"), bad, NOW)
    assert values(tmp_path / "store.db") == [[1, 2.5, 3], [5, 5, 6]]
    assert not [name for name in files(tmp_path) if "replaced" in name or name.endswith(".part")]


def test_what_cannot_be_restored(tmp_path: Path) -> None:
    fill(tmp_path / "store.db").close()
    with pytest.raises(StoreError, match="there is no file"):
        restore(str(tmp_path / "store.db"), tmp_path / "none.db", NOW)
    with pytest.raises(StoreError, match="is the store itself"):
        restore(str(tmp_path / "store.db"), tmp_path / "store.db", NOW)


def test_a_backup_of_an_older_version(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(FIRST.read_text())
        connection.execute("INSERT INTO meta VALUES ('schema', '1')")
        connection.execute("INSERT INTO series VALUES (1, 'n', 'x', '{}')")
        connection.execute("INSERT INTO layout VALUES (1, 'n', 'digest', '[1]')")
        connection.execute("INSERT INTO hot VALUES (?, 'n', ?, 1, '[1.5]')", (NOW, NOW))
        connection.commit()
    assert version_of(old) == 1
    done = restore(str(tmp_path / "store.db"), old, NOW)
    assert done.rows == {
        "series": 1,
        "layout": 1,
        "hot": 1,
        "offset": 0,
        "fact": 0,
        "absence": 0,
        "event": 0,
        "episode": 0,
    }
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    assert [row.values.tolist() for row in store.rows()] == [[1.5]]
    store.close()


def first(path: Path, row: str = "") -> Path:
    """A file of the first version, with a day of rows; row: what a packed row of it holds in place of its numbers."""
    unpacked(path)
    with closing(sqlite3.connect(path)) as connection:
        if row:
            connection.execute("UPDATE hot SET data = ? WHERE rowid = (SELECT max(rowid) FROM hot)", (row,))
            connection.commit()
        assert connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone() == ("1",)
    return path


@pytest.mark.live
def test_an_older_backup_is_brought_forward_in_the_copy_and_verified(tmp_path: Path) -> None:
    old = first(tmp_path / "old.db")
    was = old.read_bytes()
    done = restore(str(tmp_path / "store.db"), old, NOW)
    assert (done.version, done.report.version) == (1, schema.VERSION)
    assert (done.report.rows, done.rows["hot"], done.report.faults) == (3040, 3040, [])
    assert version_of(tmp_path / "store.db") == schema.VERSION
    assert old.read_bytes() == was
    assert (version_of(old), mode(tmp_path / "store.db")) == (1, 0o600)
    assert not [name for name in files(tmp_path) if "part" in name]
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    store = open_store(str(tmp_path / "store.db"), writer=False, now_ms=NOW)
    assert_history(store)
    store.close()


@pytest.mark.live
def test_an_older_backup_that_is_damaged_changes_nothing(tmp_path: Path) -> None:
    """Whoever damaged its rows left a file that SQLite finds whole."""
    fill(tmp_path / "store.db").close()
    old = first(tmp_path / "old.db", row="[1]")
    with pytest.raises(StoreBroken, match=r"old\.db is not sound, and nothing was changed: the row of tick .* layout"):
        restore(str(tmp_path / "store.db"), old, NOW)
    assert values(tmp_path / "store.db") == [[1, 2.5, 3], [5, 5, 6]]
    assert {name for name in files(tmp_path) if "part" in name or "replaced" in name} == set()
    assert version_of(old) == 1


def test_a_torn_backup_is_no_reason_to_restore_one(tmp_path: Path) -> None:
    fill(tmp_path / "torn.db").close()
    torn = tmp_path / "torn.db"
    torn.write_bytes(torn.read_bytes()[: 20 * 8192])
    with pytest.raises(StoreBroken) as told:
        restore(str(tmp_path / "store.db"), torn, NOW)
    assert str(told.value).startswith(f"{torn} is not sound, and nothing was changed: ")
    assert "restore a backup" not in str(told.value)


def test_an_older_store_is_copied_as_it_is_and_verified(tmp_path: Path) -> None:
    made = back_up(str(first(tmp_path / "old.db")), tmp_path / "copy.db")
    assert (made.report.version, made.report.rows, made.report.faults) == (1, 3040, [])
    assert version_of(tmp_path / "copy.db") == 1
    with pytest.raises(StoreBroken, match="the copy is not sound, and was not kept: the row of tick"):
        back_up(str(first(tmp_path / "bad.db", row="[1]")), tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()


def test_a_damaged_store_can_be_replaced(tmp_path: Path) -> None:
    """That is what a backup is for."""
    fill(tmp_path / "copy.db").close()
    (tmp_path / "store.db").write_bytes(b"\xff" * 50_000)
    done = restore(str(tmp_path / "store.db"), tmp_path / "copy.db", NOW)
    assert values(tmp_path / "store.db") == [[1, 2.5, 3], [5, 5, 6]]
    assert done.aside is not None
    assert done.aside.read_bytes() == b"\xff" * 50_000
