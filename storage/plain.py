"""A plain SQLite file to give away: few tables that explain themselves, nothing of the store's own shape.

Written once, from the front to the end, by whoever made it; a file that was not finished has no `metadata`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

MOST_COLUMNS = 1_500
"""SQLite takes 2,000 columns in a table."""
PAGE_BYTES = 16_384
CACHE_KIB = 32_768


def quoted(name: str) -> str:
    """A name of a table or column in SQL."""
    return '"' + name.replace('"', '""') + '"'


class PlainFile:
    """`sample` holds the numbers, `t_ms` their time; a context manager that closes the file.

    wide: texts and numbers of a row stand in `sample`. Else texts stand once in `series`, and `sample` refers to it;
    the view `reading` has both.
    ValueError for more than MOST_COLUMNS columns.
    """

    def __init__(self, path: Path, texts: Sequence[str], numbers: Sequence[str], *, wide: bool) -> None:
        if len(texts) + len(numbers) > MOST_COLUMNS:
            raise ValueError(f"{len(texts) + len(numbers)} columns are too many for SQLite, which takes {MOST_COLUMNS}")
        self._wide = wide
        self._series = 0
        self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            self._create(texts, numbers)
        except BaseException:
            self._connection.close()
            raise

    def _create(self, texts: Sequence[str], numbers: Sequence[str]) -> None:
        told = [f"{quoted(name)} TEXT NOT NULL DEFAULT ''" for name in texts]
        counted = [f"{quoted(name)} REAL" for name in numbers]
        run = self._connection.execute
        for pragma in (
            f"page_size = {PAGE_BYTES}",
            f"cache_size = -{CACHE_KIB}",
            "journal_mode = OFF",
            "synchronous = OFF",
        ):
            run(f"PRAGMA {pragma}").close()
        if self._wide:
            run(f"CREATE TABLE sample ({', '.join(['t_ms INTEGER NOT NULL', *told, *counted])})")
        else:
            run(f"CREATE TABLE series ({', '.join(['id INTEGER PRIMARY KEY', *told])})")
            head = ["t_ms INTEGER NOT NULL", "series INTEGER NOT NULL REFERENCES series (id)", *counted]
            run(f"CREATE TABLE sample ({', '.join(head)}, PRIMARY KEY (series, t_ms)) WITHOUT ROWID")
            shown = ", ".join(["t_ms", *map(quoted, (*texts, *numbers))])
            run(f"CREATE VIEW reading AS SELECT {shown} FROM sample JOIN series ON series.id = sample.series")
        run('CREATE TABLE "column" (name TEXT PRIMARY KEY, metric TEXT, unit TEXT, meaning TEXT)')
        run("CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT)")

    def add_series(self, texts: Sequence[str]) -> int:
        """A series of the long shape; its number."""
        self._series += 1
        places = ", ".join("?" * (1 + len(texts)))
        self._connection.execute(f"INSERT INTO series VALUES ({places})", (self._series, *texts))
        return self._series

    def add(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Rows of `sample` in one transaction: time, number of the series (unless wide), then these columns.

        A text that is not given is empty; a number that is not given, or NaN, is NULL.
        """
        names = ["t_ms", *([] if self._wide else ["series"]), *columns]
        into = ", ".join(map(quoted, names))
        self._connection.execute("BEGIN")
        self._connection.executemany(f"INSERT INTO sample ({into}) VALUES ({', '.join('?' * len(names))})", rows)
        self._connection.execute("COMMIT")

    def finish(self, columns: Iterable[Sequence[str]], metadata: Mapping[str, str]) -> None:
        """Say what the columns (name, metric, unit, meaning) and the file are."""
        self._connection.execute("BEGIN")
        self._connection.executemany('INSERT INTO "column" VALUES (?, ?, ?, ?)', columns)
        self._connection.executemany("INSERT INTO metadata VALUES (?, ?)", metadata.items())
        self._connection.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._connection.close()
