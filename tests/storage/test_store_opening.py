"""What opening a store makes, and what it refuses, each with a sentence."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from storage import migrations, schema
from storage.database import Database
from storage.errors import (
    StoreBroken,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNewer,
    StoreNotReady,
    StoreReadOnly,
    StoreTaken,
)
from storage.records import Batch
from storage.sqlite import Sqlite
from storage.store import Store, open_store
from tests.storage.engines import sqlite_only
from tests.storage.worlds import NOW, write

FIRST = Path(__file__).parent.parent / "data" / "storage" / "schema-1.sql"


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def described(path: Path) -> list[tuple[str, str]]:
    """Name and definition of everything in a file, blanks made alike."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name").fetchall()
    return [(name, " ".join(sql.split())) for name, sql in rows]


def first_version(path: Path, number: int = 1) -> None:
    """A file as the first version made it, with a row in it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST.read_text())
        connection.execute("INSERT INTO meta VALUES ('schema', ?)", (str(number),))
        connection.execute("INSERT INTO series VALUES (1, 'n', 'x', '{}')")
        connection.execute("INSERT INTO layout VALUES (1, 'n', 'digest', '[1]')")
        connection.execute("INSERT INTO hot VALUES (?, 'n', ?, 1, '[1.5]')", (NOW, NOW))
        connection.commit()


@pytest.mark.parametrize("url", ["sqlite:///{}/a b%20?#é.db", "{}/deep/er/plain.db"])
def test_a_new_file_with_directory_and_mode(tmp_path: Path, url: str) -> None:
    before = os.umask(0)
    try:
        store = open_store(url.format(tmp_path), writer=True, now_ms=NOW)
        write(store, "a", ["x"], {0: [1]})
    finally:
        os.umask(before)
    path = Path(url.format(tmp_path).removeprefix("sqlite:///"))
    assert path.exists()
    assert {mode(path.with_name(path.name + end)) for end in ("", "-wal", "-shm")} == {0o600}
    store.close()
    assert mode(path) == 0o600


def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    open_store(str(path), writer=True, now_ms=NOW).close()
    path.chmod(0o644)
    open_store(str(path), writer=False, now_ms=NOW).close()
    assert mode(path) == 0o644
    open_store(str(path), writer=True, now_ms=NOW).close()
    assert mode(path) == 0o600


def test_settings_of_the_file(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    with store._database.reading() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "page_size", "busy_timeout", "journal_size_limit")
        }
        meta = dict(connection.execute(text("SELECT key, value FROM meta")).all())
    store.close()
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 1,
        "page_size": 8192,
        "busy_timeout": 2000,
        "journal_size_limit": 64 << 20,
    }
    assert meta == {"schema": str(schema.VERSION), "created_ms": str(NOW)}


@pytest.mark.parametrize("url", ["", "sqlite://", "sqlite:///", "sqlite:///:memory:", ":memory:", "mysql://host/db"])
def test_what_names_no_store(url: str) -> None:
    with pytest.raises(StoreError, match="names no store"):
        open_store(url, writer=True, now_ms=NOW)


def test_a_reader_waits_for_the_collector(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with pytest.raises(StoreNotReady, match=r"no store at .*store\.db yet: start the collector"):
        open_store(str(path), writer=False, now_ms=NOW)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreNotReady, match="start the collector"):
        open_store(str(path), writer=False, now_ms=NOW)


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory"):
        open_store(str(tmp_path), writer=True, now_ms=NOW)


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        open_store(str(tmp_path / "file" / "store.db"), writer=True, now_ms=NOW)


@pytest.mark.parametrize("writer", [True, False])
def test_a_file_that_is_no_database(tmp_path: Path, writer: bool) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"not a database, but long enough to be looked at " * 100)
    with pytest.raises(StoreBroken, match=r"store\.db is not a database: name another file"):
        open_store(str(path), writer=writer, now_ms=NOW)
    assert path.read_bytes().startswith(b"not a database")


@pytest.mark.parametrize("made", ["CREATE TABLE meta (key TEXT, value TEXT)", "CREATE TABLE other (x)"])
def test_a_database_of_another_program(tmp_path: Path, made: str) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(made)
    with pytest.raises(StoreBroken, match="another program"):
        open_store(str(path), writer=True, now_ms=NOW)


@pytest.mark.parametrize("writer", [True, False])
def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path, writer: bool) -> None:
    path = tmp_path / "store.db"
    first_version(path, number=schema.VERSION + 1)
    before = described(path)
    with pytest.raises(StoreNewer, match=f"schema {schema.VERSION + 1}, this one knows {schema.VERSION}"):
        open_store(str(path), writer=writer, now_ms=NOW)
    assert described(path) == before


def test_a_file_of_the_first_version_becomes_the_newest(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    first_version(old)
    open_store(str(new), writer=True, now_ms=NOW).close()
    store = open_store(str(old), writer=True, now_ms=NOW)
    assert [row.values.tolist() for row in store.rows()] == [[1.5]]
    store.close()
    assert described(old) == described(new)
    assert sorted(migrations.STEPS) == list(range(2, schema.VERSION + 1))


def steps() -> dict[int, migrations.Step]:
    """Two made-up steps."""

    def add(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE target ADD COLUMN site TEXT"))

    def fill(connection: Connection) -> None:
        connection.execute(text("INSERT INTO meta VALUES ('filled', 'yes')"))

    return {2: add, 3: fill}


def test_steps_are_taken_in_order_and_once(tmp_path: Path) -> None:
    first_version(tmp_path / "store.db")
    database = Database(str(tmp_path / "store.db"), writer=True, busy_ms=100)
    for _ in range(2):
        migrations.bring_up_to_date(database, writer=True, now_ms=NOW, steps=steps(), version=3)
    with database.reading() as connection:
        assert migrations.version_of(connection) == 3
        assert connection.execute(text("SELECT site FROM target")).all() == []
    database.close()


def test_a_step_that_fails_is_as_if_never_taken(tmp_path: Path) -> None:
    first_version(tmp_path / "store.db")
    database = Database(str(tmp_path / "store.db"), writer=True, busy_ms=100)

    def bad(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE target ADD COLUMN region TEXT"))
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))

    with pytest.raises(StoreError, match="nowhere"):
        migrations.bring_up_to_date(database, writer=True, now_ms=NOW, steps={**steps(), 3: bad}, version=3)
    with database.reading() as connection:
        assert migrations.version_of(connection) == 2
        columns = [row[1] for row in connection.execute(text("PRAGMA table_info(target)"))]
    assert "site" in columns
    assert "region" not in columns
    database.close()


def test_a_reader_does_not_migrate(tmp_path: Path) -> None:
    first_version(tmp_path / "store.db")
    database = Database(str(tmp_path / "store.db"), writer=False, busy_ms=100)
    with pytest.raises(StoreNotReady, match="older version"):
        migrations.bring_up_to_date(database, writer=False, now_ms=NOW, steps=steps(), version=3)
    database.close()


def test_a_lock_held_elsewhere_is_busy_and_passes(opened: Callable[..., Store]) -> None:
    store = opened(busy_ms=30)
    layout = write(store, "a", ["x"], {0: [1]})
    with opened()._database.writing():
        for _ in range(3):
            with pytest.raises(StoreBusy, match="another process holds the store"):
                write(store, "a", ["x"], {1: [2]})
        assert len(store.rows()) == 1
    assert write(store, "a", ["x"], {1: [2]}) == layout
    assert [commit.sequence for commit in store.commits_after(0)] == [1, 2]


def test_a_thread_that_writes_for_too_long_is_busy(opened: Callable[..., Store]) -> None:
    store = opened(busy_ms=30)
    with store._database.writing(), pytest.raises(StoreBusy, match="another thread"):
        store.commit(Batch(), NOW)
    assert store.commit(Batch(), NOW).sequence == 1


@sqlite_only
def test_a_full_disk_is_full_and_loses_nothing(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    with store._database.writing() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar()
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))
    samples = {at: [at / 3] for at in range(1, 5000)}
    with pytest.raises(StoreFull, match=r"no room left for the store .* free some disk space"):
        write(store, "a", ["x"], samples)
    assert len(store.rows()) == 1
    with store._database.reading() as connection:
        connection.execute(text("PRAGMA max_page_count = 1000000"))
    write(store, "a", ["x"], samples)
    assert len(store.rows()) == 5000


AS_NOBODY = """
import os, sys
from storage.errors import StoreError
from storage.store import open_store
path, writer = sys.argv[1], sys.argv[2] == "writer"
open_store(path + ".warm", writer=True, now_ms=0).close()
os.setgid(65534); os.setuid(65534)
try:
    store = open_store(path, writer=writer, now_ms=0)
    print(len(store.rows()))
    store.set_preference("a", 1)
except StoreError as error:
    print(type(error).__name__, error)
"""


def as_nobody(path: Path, who: str) -> str:
    """What a user without rights is told."""
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", AS_NOBODY, str(path), who]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env={"PYTHONPATH": root}, check=True)
    return done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without rights")
def test_files_that_may_not_be_written() -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        check_refusals(Path(directory))


def check_refusals(directory: Path) -> None:
    """What a user without rights is told about the store of another."""
    path = directory / "store.db"
    store = open_store(str(path), writer=True, now_ms=NOW)
    write(store, "a", ["x"], {0: [1]})
    assert as_nobody(path, "writer").startswith("StoreReadOnly the store")
    assert as_nobody(directory / "other.db", "writer").startswith("StoreReadOnly the store")
    assert as_nobody(path, "reader").startswith("StoreError the store")
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).chmod(0o644)
    count, refusal = as_nobody(path, "reader").splitlines()
    assert count == "1"
    assert refusal.startswith("StoreReadOnly the store")
    store.close()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(str(path), writer=True, now_ms=NOW)
    write(store, "a", ["x"], {at: [at] for at in range(3000)})
    store.close()
    with path.open("r+b") as file:
        for page in range(8, path.stat().st_size // 8192):
            file.seek(page * 8192)
            file.write(b"\xff" * 4096)
    with pytest.raises(StoreBroken, match="damaged: restore a backup"):
        open_store(str(path), writer=True, now_ms=NOW).rows()


def test_two_writers_may_create_at_once(tmp_path: Path) -> None:
    """The second finds what the first has made, though it had looked before."""
    database = Database(str(tmp_path / "store.db"), writer=True, busy_ms=1000)
    migrations._create(database, NOW, schema.VERSION)
    migrations._create(database, NOW + 1, schema.VERSION)
    with database.reading() as connection:
        assert connection.execute(text("SELECT value FROM meta WHERE key = 'created_ms'")).scalars().all() == [str(NOW)]
    database.close()


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, storage.store; print([n for n in ('pandas', 'dash', 'plotly', 'flask') if n in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True
    )
    assert done.stdout == "[]\n"


def test_one_collector_at_a_time(tmp_path: Path) -> None:
    url = str(tmp_path / "store.db")
    first, second = (open_store(url, writer=True, now_ms=NOW) for _ in range(2))
    first.claim()
    first.claim()
    with pytest.raises(StoreTaken, match=r"another collector writes to the store .*store\.db: stop it first"):
        second.claim()
    write(second, "a", ["x"], {0: [1]})
    assert mode(tmp_path / "store.db-collector") == 0o600
    first.close()
    second.claim()
    second.close()
    open_store(url, writer=False, now_ms=NOW).close()


def failure(code: int) -> sqlite3.Error:
    """An error as the driver raises it."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("path", "code", "kind"),
    [
        ("/proc/store.db", sqlite3.SQLITE_IOERR, StoreFull),  # no room there, ever
        ("/proc/store.db", sqlite3.SQLITE_IOERR_WRITE, StoreFull),
        ("/nowhere/store.db", sqlite3.SQLITE_IOERR_WRITE, StoreError),
        ("/proc/store.db", sqlite3.SQLITE_BUSY_RECOVERY, StoreBusy),
        ("/proc/store.db", sqlite3.SQLITE_LOCKED_SHAREDCACHE, StoreBusy),
        ("/proc/store.db", sqlite3.SQLITE_READONLY_DBMOVED, StoreReadOnly),
        ("/proc/store.db", sqlite3.SQLITE_CORRUPT_INDEX, StoreBroken),
        ("/proc/store.db", sqlite3.SQLITE_NOTADB, StoreBroken),
        ("/proc/store.db", sqlite3.SQLITE_CANTOPEN_ISDIR, StoreError),
        ("/proc/store.db", sqlite3.SQLITE_MISUSE, StoreError),
    ],
)
def test_errors_of_the_driver_become_ours(path: str, code: int, kind: type[StoreError]) -> None:
    error = Sqlite(path, 1000).explain(failure(code))
    assert type(error) is kind
    assert str(error).endswith("(disk I/O error)")
    assert path in str(error)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY_DIRECTORY])
def test_a_read_only_file_system_is_the_cause(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs

    def read_only(path: str | Path) -> os.statvfs_result:
        found = list(real(path))
        found[8] = os.ST_RDONLY  # f_flag
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", read_only)
    error = Sqlite("/proc/store.db", 1000).explain(failure(code))
    assert type(error) is StoreReadOnly
    assert str(error) == "the store /proc/store.db cannot be written: Read-only file system"
    other = Sqlite("/proc/store.db", 1000).explain(failure(sqlite3.SQLITE_NOTADB))
    assert type(other) is StoreBroken
    nowhere = Sqlite("/nowhere/store.db", 1000).explain(failure(code))
    assert "Read-only" not in str(nowhere)
