"""What the store asks of a database engine. Everything that differs between engines is in `sqlite` and `postgresql`."""

from __future__ import annotations

from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Engine
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.schema import Table

from storage.errors import StoreError

POSTGRESQL = "postgresql+psycopg"
FORMS = "sqlite:///PATH, a path, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"


class Dialect(Protocol):
    """One database as its engine sees it.

    name: what sentences call it; never holds a password. failures: what driver and pool raise, see `explain`.
    """

    busy_ms: int
    failures: tuple[type[Exception], ...]

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def prepare(self, writer: bool) -> None:
        """Make sure that there is a database, or say why not."""

    def confirm(self) -> None:
        """Before every transaction, without a question to the database where that costs: StoreGone, StoreTaken."""

    def claim(self) -> None:
        """Be the one collector until `release`, or the end of the process however it ends; StoreTaken otherwise."""

    def refuse_claimed(self) -> None:
        """StoreTaken while another is the collector; makes nothing, and says nothing of what cannot be looked at."""

    def release(self) -> None:
        """Let another be the collector."""

    def engine(self, writer: bool) -> Engine:
        """A pool of connections. Each transaction sees one state; with the option `write` it is the only one that
        writes. INSERT of many rows is one statement, or costs as little."""

    def insert(self, table: Table) -> Insert:
        """INSERT that leaves a row with the same key as it is."""

    def upsert(self, table: Table) -> Insert:
        """INSERT that replaces a row with the same primary key; of several with one key the last counts."""

    def joined(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        """Aggregate: the texts of a column as bytes, comma between, null left out, in one order for all columns."""

    def explain(self, error: Exception) -> StoreError:
        """A failure as one of ours."""

    def free_bytes(self, connection: Connection) -> int | None:
        """Bytes inside the files that new rows take before they grow; None where that cannot be seen."""

    def disk(self) -> tuple[int | None, int | None]:
        """(size, free for us) of the disk that holds the database, in bytes; None where that cannot be seen."""

    def faults(self, connection: Connection) -> list[str]:
        """What the database finds wrong with its own structure, where it can be asked."""

    def size_bytes(self) -> int:
        """What the store takes on its disk."""


def dialect_of(url: str, busy_ms: int) -> Dialect:
    """The engine that a URL names. StoreError for anything else, and where what an engine needs is not installed."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme == "sqlite":
        from storage.sqlite import Sqlite

        return Sqlite(url, busy_ms)
    if scheme != POSTGRESQL:
        raise StoreError(f"{scheme}:// names no store: expected {FORMS}")
    try:
        from storage.postgresql import Postgresql
    except ImportError as error:
        raise StoreError(f"PostgreSQL needs psycopg: pip install -r requirements-postgresql.txt ({error})") from error
    return Postgresql(url, busy_ms)
