"""Backups of an SQLite store: copied beside a collector that goes on, looked at afterwards, and put in place at once.

One read transaction lies under the whole copy: without it SQLite would begin anew with every commit. It is copied in
small steps with pauses, so that no tick waits for the disk.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from storage import migrations, schema
from storage.database import Database
from storage.errors import StoreBroken, StoreError, StoreFull, StoreNewer
from storage.sqlite import BESIDE, MEND, Sqlite, path_of
from storage.verify import Pause, Report, verify

STEP_PAGES = 128
"""A megabyte."""
PAUSE_S = 0.004
COUNTED = ("series", "layout", "clock", "chunk", "hot", "offset", "fact", "absence", "event", "episode")
Told = Callable[[str, int, int], None]
"""What is being done ("copied", "verified"), how much of it, of how much."""
SECRET = ("channel", "token")
"""Beginnings of the names of tables and preferences whose rows nobody else may read."""


def nobody(_what: str, _done: int, _of: int) -> None:
    """Progress that nobody wants to know."""


@dataclass(frozen=True)
class Backup:
    """What was copied: rows by table, and what of it is secret ("3 channels")."""

    path: Path
    size: int
    rows: Mapping[str, int]
    secrets: tuple[str, ...]
    report: Report


def back_up(url: str, path: Path, *, force: bool = False, progress: Told = nobody, pause: Pause = time.sleep) -> Backup:
    """Copy the store at this URL to a file of mode 0600, verify the copy, and give it its name.

    progress: told what is done, and how much of it. StoreError with a sentence when there is no
    store, no room, or when the copy is not what it should be: then there is no file of that name.
    """
    source = _file_of(url)
    if path.exists() and not force:
        raise StoreError(f"{path} is there already: name another file, or give --force")
    if path.exists() and source.exists() and path.samefile(source):
        raise StoreError(f"{path} is the store itself: name another file")
    with _part(path) as part:
        rows = _copy(source, part, progress, pause)
        secrets = _refuse_damaged(part, rows)
        report = _verified(part, progress, pause)
        if report.faults:
            raise StoreBroken(
                f"the copy is not sound, and was not kept: {report.faults[0].text}; run verify on the store"
            )
        _put(part, path)
    return Backup(path, path.stat().st_size, rows, secrets, report)


def _file_of(url: str) -> Path:
    if url.startswith("postgresql"):
        raise StoreError("a store in PostgreSQL is copied with pg_dump and brought back with pg_restore")
    return path_of(url)


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    """A file beside that only its owner can read; gone afterwards unless it was renamed."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(f"{part} cannot be written: {error.strerror}") from error
    try:
        yield part
    finally:
        for end in ("", "-journal", *BESIDE):
            part.with_name(part.name + end).unlink(missing_ok=True)


def _copy(source: Path, part: Path, progress: Told, pause: Pause) -> dict[str, int]:
    """Copy everything; rows by table, counted in the very state that was copied."""
    dialect = Sqlite(str(source), 2000)
    dialect.prepare(writer=False)
    try:
        with closing(_open(source)) as old, closing(_open(part)) as new:
            old.execute("BEGIN")
            rows = _counts(old)
            _refuse_no_room(old, part)
            new.execute("PRAGMA synchronous = OFF")  # synced once, at the end

            def step(_status: int, left: int, total: int) -> None:
                progress("copied", total - left, total)
                pause(PAUSE_S)

            old.backup(new, pages=STEP_PAGES, progress=step)
            old.execute("ROLLBACK")
            new.execute("PRAGMA journal_mode = DELETE").close()  # one file, whole by itself
    except sqlite3.Error as error:
        copy = Sqlite(str(part), 0).explain(error)  # only it is written to
        raise (copy if isinstance(copy, StoreFull) else dialect.explain(error)) from error
    return rows


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=2.0, isolation_level=None)


def _refuse_no_room(old: sqlite3.Connection, part: Path) -> None:
    (pages,), (size,) = (old.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    room = os.statvfs(part.parent)
    if pages * size > room.f_bavail * room.f_frsize:
        need, free = pages * size / 1e9, room.f_bavail * room.f_frsize / 1e9
        raise StoreFull(f"there is no room for the copy in {part.parent}: it needs {need:.2f} GB of {free:.2f} GB")


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in COUNTED if name in names
    }


def _refuse_damaged(part: Path, rows: Mapping[str, int]) -> tuple[str, ...]:
    """StoreBroken for a file that is not whole or has not these rows, StoreNewer for one that is not known here; what
    of it is secret."""
    try:
        with closing(_open(part)) as connection:
            for (text,) in connection.execute("PRAGMA integrity_check(1)"):
                if text != "ok":
                    raise StoreBroken(f"what was copied is damaged: {text}")
            version = version_of(part)
            found, secrets = _counts(connection), _secrets(connection)
    except sqlite3.Error as error:
        raise Sqlite(str(part), 0).explain(error) from error
    if found != rows:
        raise StoreBroken(f"the copy does not hold what was copied: {found} rows in place of {dict(rows)}")
    if version > schema.VERSION:
        raise StoreNewer(f"a newer version of this program wrote it (schema {version}): update this one")
    return secrets


def _verified(part: Path, progress: Told, pause: Pause) -> Report:
    """Every number of a copy, of whichever version it is."""
    database = Database(str(part), writer=False, busy_ms=2000)
    try:
        return verify(database, partial(progress, "verified"), pause)
    finally:
        database.close()


def _bring_forward(part: Path, now_ms: int) -> int:
    """Make a copy one of this version; the version that it had."""
    found = version_of(part)
    if found < schema.VERSION:
        database = Database(str(part), writer=True, busy_ms=2000)
        try:
            migrations.bring_up_to_date(database, writer=True, now_ms=now_ms)
        finally:
            database.close()
        with closing(_open(part)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").close()  # one file again
    return found


def version_of(path: Path) -> int:
    """Version of the tables in a file; StoreBroken for one that is no store."""
    database = Database(str(path), writer=False, busy_ms=2000)
    try:
        with database.reading() as connection:
            found = migrations.version_of(connection)
    finally:
        database.close()
    if found is None:
        raise StoreBroken("the file is empty: it holds no store")
    return found


def _secrets(connection: sqlite3.Connection) -> tuple[str, ...]:
    return tuple(f"{count} {name}{'s' * (count != 1)}" for name, count in _secret_rows(connection) if count)


def _secret_rows(connection: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for secret in SECRET:
        kept = connection.execute("SELECT count(*) FROM preference WHERE key LIKE ?", (f"{secret}%",)).fetchone()[0]
        own = connection.execute(f'SELECT count(*) FROM "{secret}"').fetchone()[0] if secret in names else 0
        yield secret, kept + own


def _put(part: Path, path: Path) -> None:
    """Give a whole file its name, on the disk and not only in memory."""
    for one, how in ((part, os.O_RDONLY), (path.parent, os.O_RDONLY | os.O_DIRECTORY)):
        if one == path.parent:
            part.replace(path)
        descriptor = os.open(one, how | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(frozen=True)
class Restored:
    """What stands in the store's place now, and where what stood there is kept; None where nothing did."""

    rows: Mapping[str, int]
    aside: Path | None
    report: Report
    version: int
    """Of the backup's tables; the store has this program's."""


def restore(url: str, backup: Path, now_ms: int, *, progress: Told = nobody, pause: Pause = time.sleep) -> Restored:
    """Put a copy of a backup in the place of the store at this URL, and keep what was there beside it.

    A backup of an older version is brought to this one in the copy, and verified as it will be used. StoreTaken while
    a collector writes to the store; StoreError for a backup that is not whole, which changes nothing.
    """
    store = _file_of(url)
    if not backup.is_file():
        raise StoreError(f"there is no file {backup}")
    if store.exists() and store.samefile(backup):
        raise StoreError(f"{backup} is the store itself: name a backup of it")
    dialect = Sqlite(str(store), 2000)
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        dialect.claim()  # no collector begins meanwhile
        with _part(store) as part:
            try:
                rows = _copy(backup.absolute(), part, progress, pause)
                _refuse_damaged(part, rows)
                version = _bring_forward(part, now_ms)
                report = _verified(part, progress, pause)
                if report.faults:
                    raise StoreBroken(report.faults[0].text)
            except StoreBroken as error:
                why = str(error).replace(MEND, "")
                raise StoreBroken(f"{backup} is not sound, and nothing was changed: {why}") from error
            aside = _set_aside(store, now_ms)
            _put(part, store)
    finally:
        dialect.release()
    return Restored(rows, aside, report, version)


def _set_aside(store: Path, now_ms: int) -> Path | None:
    """Rename what stands there, its log first: a log of one store beside the file of another would spoil that."""
    if not store.exists():
        return None
    _check_point(store)
    aside = store.with_name(f"{store.name}.replaced-{datetime.fromtimestamp(now_ms / 1000, UTC):%Y%m%dT%H%M%SZ}")
    if aside.exists():
        raise StoreError(f"{aside} is there already: wait a second")
    for end in (*BESIDE, ""):
        with contextlib.suppress(FileNotFoundError):
            store.with_name(store.name + end).rename(aside.with_name(aside.name + end))
    return aside


def _check_point(store: Path) -> None:
    """Bring the log into the file, where both can be read; a damaged one is kept as it is."""
    with contextlib.suppress(sqlite3.Error), closing(_open(store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
