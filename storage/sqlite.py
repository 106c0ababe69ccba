"""SQLite: everything about this engine that the store needs to know."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from sqlalchemy import ColumnElement, Connection, Engine, LargeBinary, cast, create_engine, event, func
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.schema import Table

from storage import errors


def _plain(number: Any) -> int:
    return int(number)


for integer in (np.int32, np.int64):
    sqlite3.register_adapter(integer, _plain)  # the driver would bind a numpy integer as a blob

PAGE_BYTES = 8192
"""Six packed rows to a page, against three of the default size: 15 % smaller files, less work per tick."""
JOURNAL_BYTES = 64 << 20
"""To this size the write-ahead log is cut back once a slow reader has let it grow."""

BESIDE = ("-wal", "-shm")
"""Endings of the files that belong to an open store."""
MOST_FAULTS = 100
"""So many faults of one file are told."""
LOOK_S = 0.05
"""Longer than it takes to look whether a store is claimed."""

PRIMARY = 0xFF
"""The low byte of a SQLite error code is its class."""
MEND = ": restore a backup"
"""Advice about a damaged store; of no use about the backup itself."""
ERRORS: dict[int, tuple[type[errors.StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (errors.StoreBusy, "another process holds the store {path} locked"),
    sqlite3.SQLITE_LOCKED: (errors.StoreBusy, "another connection holds the store {path} locked"),
    sqlite3.SQLITE_FULL: (errors.StoreFull, "there is no room left for the store {path}: free some disk space"),
    sqlite3.SQLITE_READONLY: (errors.StoreReadOnly, "the store {path} cannot be written: check owner and mode"),
    sqlite3.SQLITE_NOTADB: (errors.StoreBroken, "{path} is not a database: name another file"),
    sqlite3.SQLITE_CORRUPT: (errors.StoreBroken, f"the database {{path}} is damaged{MEND}"),
    sqlite3.SQLITE_CANTOPEN: (errors.StoreError, "the store {path} cannot be opened: check owner, mode and directory"),
}


def path_of(url: str) -> Path:
    """File that `sqlite:///path.db` or a bare path names; StoreError for anything else."""
    scheme, separator, rest = url.partition("://")
    path = url if not separator else rest[1:] if scheme == "sqlite" and rest.startswith("/") else ""
    if not path or path == ":memory:":
        raise errors.StoreError(f"{url!r} names no store: expected sqlite:///PATH or a path")
    return Path(path).expanduser().absolute()


class Sqlite:
    """SQLite in write-ahead mode: one file, many readers, one writer at a time."""

    failures: tuple[type[Exception], ...] = (DBAPIError, sqlite3.Error)

    def __init__(self, url: str, busy_ms: int) -> None:
        self.path = path_of(url)
        self.busy_ms = busy_ms
        self._claim: int | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return str(self.path)

    def prepare(self, writer: bool) -> None:
        """Make sure that there is a file (writer: create directory and file, mode 0600) or say why not."""
        if self.path.is_dir():
            raise errors.StoreError(f"{self.path} is a directory: name a file in it")
        if not writer:
            if not self.path.exists():
                raise errors.StoreNotReady(f"there is no store at {self.path} yet: start the collector first")
            self._identity = self._file()
            return
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                self.path.chmod(0o600)
        except OSError as error:
            raise self._refusal(error) from error
        self._identity = self._file()

    def confirm(self) -> None:
        """StoreGone when the file at the path is not the one that was prepared: SQLite itself would go on with that."""
        found = self._file()
        if found != self._identity:
            what = "was deleted" if found is None else "was replaced by another file"
            raise errors.StoreGone(f"the store {self.path} {what} while it was open")

    def _file(self) -> tuple[int, int] | None:
        """What tells the file at the path from any other, None where there is none that can be seen."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _refusal(self, error: OSError) -> errors.StoreError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return errors.StoreFull(f"there is no room left for the store {self.path}: free some disk space")
        kind = errors.StoreReadOnly if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else errors.StoreError
        return kind(f"the store {self.path} cannot be written: {error.strerror}")

    def claim(self) -> None:
        """Be the one collector until `release`, or the end of the process however it ends; StoreTaken otherwise.

        The lock is on a file beside: closing any handle of the database itself would drop SQLite's own locks.
        """
        if self._claim is not None:
            return
        try:
            descriptor = os.open(self._claim_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._refusal(error) from error
        self._lock(descriptor, fcntl.LOCK_EX)
        self._claim = descriptor

    def refuse_claimed(self) -> None:
        """StoreTaken while another is the collector; makes nothing, and says nothing of what cannot be looked at."""
        try:
            descriptor = os.open(self._claim_file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        self._lock(descriptor, fcntl.LOCK_SH)
        os.close(descriptor)

    @property
    def _claim_file(self) -> Path:
        return self.path.with_name(self.path.name + "-collector")

    def _lock(self, descriptor: int, how: int) -> None:
        for pause_s in (LOOK_S, None):  # whoever only looks holds it for a moment
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if pause_s is not None:
                    time.sleep(pause_s)
        os.close(descriptor)
        raise errors.StoreTaken(f"another collector writes to the store {self.path}: stop it first")

    def release(self) -> None:
        """Let another be the collector."""
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def engine(self, writer: bool) -> Engine:
        """A pool of connections. Every transaction is BEGIN, or BEGIN IMMEDIATE with the option `write`."""
        engine = create_engine(
            "sqlite+pysqlite://", creator=self._connect, poolclass=QueuePool, pool_size=4, max_overflow=60
        )
        if writer:
            event.listen(engine, "connect", _use_write_ahead_log)
        event.listen(engine, "connect", _set_connection)
        event.listen(engine, "begin", _begin)
        return engine

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(self.path))}?mode=rw",
            uri=True,
            timeout=self.busy_ms / 1000,
            isolation_level=None,
            check_same_thread=False,
        )

    def insert(self, table: Table) -> Insert:
        """INSERT that leaves a row with the same key as it is."""
        return sqlite_insert(table).on_conflict_do_nothing()

    def upsert(self, table: Table) -> Insert:
        """INSERT that replaces a row with the same primary key."""
        statement = sqlite_insert(table)
        rest = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
        return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=rest)

    def joined(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        """Aggregate: the texts of a column, comma between, null left out, in one and the same order for all columns.

        As bytes: a text of a megabyte takes SQLite and its driver eight times as long to hand over.
        """
        return cast(func.group_concat(column), LargeBinary)

    def explain(self, error: Exception) -> errors.StoreError:
        """A database error as one of ours."""
        original = getattr(error, "orig", error)
        code = getattr(original, "sqlite_errorcode", None) or 0
        if code & PRIMARY == sqlite3.SQLITE_IOERR and self._disk_is_full():
            code = sqlite3.SQLITE_FULL
        if code & PRIMARY in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and self._disk_is_read_only():
            return self._refusal(OSError(errno.EROFS, os.strerror(errno.EROFS)))
        kind, sentence = ERRORS.get(code & PRIMARY, (errors.StoreError, "the store {path} failed"))
        return kind(f"{sentence.format(path=self.path)} ({original})")

    def _disk_is_read_only(self) -> bool:
        try:
            return bool(os.statvfs(self.path.parent).f_flag & os.ST_RDONLY)
        except OSError:
            return False

    def _disk_is_full(self) -> bool:
        try:
            room = os.statvfs(self.path.parent)
        except OSError:
            return False
        return room.f_bavail * room.f_frsize < PAGE_BYTES * 16

    def free_bytes(self, connection: Connection) -> int:
        """Bytes inside the file that new rows take before it grows: it never shrinks."""
        return int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()) * int(
            connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        )

    def disk(self) -> tuple[int, int]:
        """(size, free for us) of the disk that holds the file, in bytes."""
        try:
            found = os.statvfs(self.path.parent)
        except OSError as error:
            raise self._refusal(error) from error
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def faults(self, connection: Connection) -> list[str]:
        """What the file's own structure suffers from, as SQLite tells it."""
        found: list[str] = []
        try:
            for text in connection.exec_driver_sql(f"PRAGMA quick_check({MOST_FAULTS})").scalars():
                found.append(str(text))
        except DatabaseError as error:  # it gives up where it cannot go on
            found.append(str(error.orig))
        return [text for text in found if text != "ok"]

    def size_bytes(self) -> int:
        """Size of the file and what belongs to it."""
        names = [self.path, *(self.path.with_name(self.path.name + end) for end in BESIDE)]
        return sum(name.stat().st_size for name in names if name.exists())


def _use_write_ahead_log(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_BYTES}")


def _set_connection(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin(connection: Connection) -> None:
    immediate = connection.get_execution_options().get("write", False)
    cursor = connection.connection.cursor()  # past SQLAlchemy, which takes 20 µs to say as much
    try:
        cursor.execute("BEGIN IMMEDIATE" if immediate else "BEGIN")
    finally:
        cursor.close()
