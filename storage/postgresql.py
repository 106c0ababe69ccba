"""PostgreSQL: everything about this engine that the store needs to know."""

from __future__ import annotations

import re
import select
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper, StrDumper
from sqlalchemy import ColumnElement, Connection, Engine, LargeBinary, Text, cast, create_engine, event, func
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import QueuePool
from sqlalchemy.schema import CreateColumn
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.schema import Table

from storage import errors, schema

LEAST_VERSION = 13
CONNECT_S = 5
"""How long a server may take to answer a new connection."""
SILENCE_S = 10
"""A connection of which so long nothing is heard, though it should be, is dead: on both sides, so that a claim ends."""
OPEN_CONNECTIONS, MOST_CONNECTIONS = 4, 24
"""A server takes 100 in all, unless told otherwise, and each is a process of it."""
CLAIM, WRITE = 0x7AC0, 0x7AC1
"""First keys of our advisory locks; the second is the schema, so that several stores may share a database."""
SCHEMA = "hashtext(coalesce(current_schema(), ''))"
LOOK = "SELECT to_regclass('meta')::bigint"
LOOK_S = 0.05
"""Longer than it takes to look whether a store is claimed."""

AWAY = "the server of the store {name} does not answer, or does not let us in: it is asked again"
ERRORS: Mapping[str, tuple[type[errors.StoreError], str]] = {
    "55P03": (errors.StoreBusy, "another process holds the store {name} locked"),
    "40P01": (errors.StoreBusy, "another process holds the store {name} locked"),
    "40001": (errors.StoreBusy, "another process changed the store {name} at the same time"),
    "57014": (errors.StoreBusy, "the store {name} took too long"),
    "53100": (errors.StoreFull, "there is no room left for the store {name}: free some disk space"),
    "42501": (errors.StoreReadOnly, "the store {name} cannot be written: grant its user more rights"),
    "25006": (errors.StoreReadOnly, "the store {name} cannot be written: the server is read-only"),
    "42P01": (errors.StoreGone, "tables of the store {name} were deleted"),
    "42703": (errors.StoreBroken, "the database {name} belongs to another program: name another"),
    "XX001": (errors.StoreBroken, "the database {name} is damaged: restore a backup"),
    "XX002": (errors.StoreBroken, "an index of the database {name} is damaged: REINDEX it"),
}
"""What SQLSTATE means."""
LOST = ("08", "53300", "57P01", "57P02", "57P03", "57P05")
"""How the SQLSTATE of a lost or refused connection begins."""
VALUES = re.compile(r"VALUES \((.*?)\)(?= ON CONFLICT|$)")
BIND = re.compile(r"%\((\w+)\)s(?:::[A-Z ]*[A-Z])?")

STORAGE: Mapping[str, str] = {
    # Blobs are compressed already. A row of numbers stands in the table itself as long as it fits on a page.
    "chunk": "ALTER COLUMN data SET STORAGE EXTERNAL, SET (autovacuum_vacuum_insert_scale_factor = 0.02)",
    "clock": "ALTER COLUMN data SET STORAGE EXTERNAL",
    "day": "ALTER COLUMN data SET STORAGE EXTERNAL",
    "hot": "ALTER COLUMN data SET STORAGE EXTERNAL, SET (toast_tuple_target = 8160)",
    "target": "SET (fillfactor = 50)",
}
"""How tables lie on the disk, for ALTER TABLE. Summaries are read from their index alone only once a vacuum has seen
the pages; the state of targets is written again and again."""


class _Binary(psycopg.Cursor[Any]):
    """Answers come as bytes: a blob as text would be twice as long."""

    def __init__(self, connection: psycopg.Connection[Any], **rest: Any) -> None:
        super().__init__(connection, **rest)
        self.format = Format.BINARY


class _Printable(StrDumper):
    """PostgreSQL takes every letter but the one of number 0, which a page or a log may hold."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\N{REPLACEMENT CHARACTER}"))


class _PrintableBinary(StrBinaryDumper):
    """The same inside arrays."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\N{REPLACEMENT CHARACTER}"))


@compiles(CreateColumn, "postgresql")
def _compared_by_bytes(element: CreateColumn, compiler: Any, **rest: Any) -> str:
    """Texts are sorted and compared as SQLite does it, whatever language a database was made for."""
    text = str(compiler.visit_create_column(element, **rest))
    return text.replace(" TEXT", ' TEXT COLLATE "C"', 1) if isinstance(element.element.type, Text) else text


@event.listens_for(Table, "after_create")
def _lay_out(table: Table, connection: Connection, **_: Any) -> None:
    if connection.dialect.name == "postgresql" and table.name in STORAGE:
        connection.exec_driver_sql(f"ALTER TABLE {table.name} {STORAGE[table.name]}")


class Postgresql:
    """PostgreSQL: many readers, each of one state; one writer at a time, by an advisory lock."""

    failures: tuple[type[Exception], ...] = (DBAPIError, PoolTimeoutError, psycopg.Error)

    def __init__(self, url: str, busy_ms: int) -> None:
        try:
            found = make_url(url)
        except (ArgumentError, ValueError):
            raise errors.StoreError(
                "this names no store: expected postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
            ) from None
        self.busy_ms = busy_ms
        user = f"{found.username}@" if found.username else ""
        where = found.host or found.query.get("host") or ""
        self._name = f"{found.drivername}://{user}{where}{f':{found.port}' * bool(found.port)}/{found.database or ''}"
        self._address: dict[str, Any] = {
            "host": found.host,
            "port": found.port,
            "dbname": found.database,
            "user": found.username,
            "password": found.password,
            **{name: ",".join(values) for name, values in found.normalized_query.items()},
        }
        self._claim: psycopg.Connection[Any] | None = None
        self._turn = threading.Lock()
        self._created: str | None = None
        self._table: int | None = None
        self._engine: Engine | None = None

    @property
    def name(self) -> str:
        return self._name

    def prepare(self, writer: bool) -> None:  # noqa: ARG002 - the same for both: nobody but a person makes a database
        with self._explained(), self._connect() as connection:
            version = connection.info.server_version
            encoding = connection.info.parameter_status("server_encoding")
        refuse(version, encoding)

    def confirm(self) -> None:
        """Nothing: each transaction begins with it."""

    def _connect(self) -> psycopg.Connection[Any]:
        silence = {"idle": SILENCE_S, "interval": 2, "count": 3}
        options = [str(self._address.get("options", "")), f"-c lock_timeout={max(self.busy_ms, 1)}"]
        options += [f"-c tcp_keepalives_{name}={number}" for name, number in silence.items()]
        ours: dict[str, Any] = {
            "application_name": "tachograph",
            "connect_timeout": CONNECT_S,
            "tcp_user_timeout": SILENCE_S * 1000,
            **{f"keepalives_{name}": number for name, number in silence.items()},
        }
        address = make_conninfo(**{**ours, **self._address, "options": " ".join(options)})
        connection: psycopg.Connection[Any] = psycopg.connect(address, autocommit=True, cursor_factory=_Binary)
        for dumper in (_PrintableBinary, _Printable):
            connection.adapters.register_dumper(str, dumper)
        self._recognise(connection)
        return connection

    def _recognise(self, connection: psycopg.Connection[Any]) -> None:
        """A database may be dropped and made anew while nobody is connected: it tells when its store was made."""
        try:
            found = connection.execute("SELECT value FROM meta WHERE key = 'created_ms'").fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.InsufficientPrivilege):
            found = None
        created = None if found is None else str(found[0])
        if self._created is None:
            self._created = created
        elif created != self._created:
            connection.close()
            raise self._gone()

    def _gone(self) -> errors.StoreGone:
        return errors.StoreGone(f"the store {self._name} was deleted or replaced while it was open")

    def claim(self) -> None:
        """A session's lock: it ends with the connection, which the server drops when this process dies."""
        with self._turn:
            self._claim = self._claim or self._claimed("lock")

    def refuse_claimed(self) -> None:
        try:
            self._claimed("lock_shared").close()
        except errors.StoreTaken:
            raise
        except errors.StoreError:
            return

    def _claimed(self, how: str) -> psycopg.Connection[Any]:
        """A connection that holds the claim."""
        with self._explained():
            connection = self._connect()
            for pause_s in (LOOK_S, None):  # whoever only looks holds it for a moment
                found = connection.execute(f"SELECT pg_try_advisory_{how}({CLAIM}, {SCHEMA})").fetchone()
                if found is not None and found[0]:
                    return connection
                if pause_s is not None:
                    time.sleep(pause_s)
            connection.close()
        raise errors.StoreTaken(f"another collector writes to the store {self._name}: stop it first")

    def _hold(self) -> None:
        """The claim ended when its connection was lost; it is claimed anew, unless another was faster."""
        with self._turn:
            if self._claim is None or not _has_news(self._claim):
                return
            try:
                self._claim.execute("SELECT 1")
            except psycopg.OperationalError:
                self._claim.close()
                self._claim = self._claimed("lock")

    def release(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def engine(self, writer: bool) -> Engine:  # noqa: ARG002
        """Readers see the state of their first question. Writers queue, and see what was committed before."""
        engine = self._engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=OPEN_CONNECTIONS,
            max_overflow=MOST_CONNECTIONS - OPEN_CONNECTIONS,
            pool_timeout=CONNECT_S,
            pool_use_lifo=True,
            use_native_hstore=False,
        )
        event.listen(engine, "checkout", _refuse_cut)
        event.listen(engine, "begin", self._begin)
        event.listen(engine, "do_executemany", _at_once)
        return engine

    def _begin(self, connection: Connection) -> None:
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {LOOK}"
        if connection.get_execution_options().get("write", False):
            self._hold()
            begin = f"BEGIN; {LOOK} FROM pg_advisory_xact_lock({WRITE}, {SCHEMA})"
        table = self._answer(connection, begin)
        if self._table is None:
            self._table = table
        elif table != self._table:
            raise self._gone()

    def _answer(self, connection: Connection, both: str) -> int | None:
        """What the second of two statements says; together they go to the server and back once."""
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        try:
            with psycopg.Cursor(driver) as cursor:
                cursor.execute(both.encode())
                cursor.nextset()
                found = cursor.fetchone()
        except psycopg.OperationalError:
            if driver.closed:
                connection.invalidate()
                connection.engine.dispose()  # what else is open is as old
            raise
        return None if found is None else found[0]

    def insert(self, table: Table) -> Insert:
        return postgresql_insert(table).on_conflict_do_nothing()

    def upsert(self, table: Table) -> Insert:
        statement = postgresql_insert(table)
        rest = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
        return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=rest)

    def joined(self, column: ColumnElement[Any]) -> ColumnElement[bytes]:
        """All aggregates of a question see its rows in the same order; one of their own would be sorted for each."""
        return func.convert_to(func.string_agg(cast(column, Text), ","), "UTF8", type_=LargeBinary)

    def explain(self, error: Exception) -> errors.StoreError:
        original = getattr(error, "orig", error)
        state = getattr(original, "sqlstate", None) or ""
        kind, sentence = ERRORS.get(state, (errors.StoreError, "the store {name} failed"))
        unheard = not state and isinstance(original, psycopg.OperationalError)
        if unheard or state.startswith(LOST) or isinstance(error, PoolTimeoutError):
            kind, sentence = errors.StoreAway, AWAY
        told = next((line for line in str(original).splitlines() if line), type(original).__name__)
        return kind(f"{sentence.format(name=self._name)} ({told})")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self.failures as error:
            raise self.explain(error) from error

    def free_bytes(self, connection: Connection) -> None:
        """Vacuuming makes the room of what was deleted free again; how much it is only an extension tells."""

    def disk(self) -> tuple[int | None, int | None]:
        """It is the server's."""
        return None, None

    def faults(self, connection: Connection) -> list[str]:  # noqa: ARG002
        """PostgreSQL finds out when it reads: nothing to ask."""
        return []

    def size_bytes(self) -> int:
        """Tables with their indexes and blobs."""
        assert self._engine is not None, "asked of an open store"
        names = ", ".join(f"('\"{name}\"')" for name in schema.tables.tables)
        query = (
            f"SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0) FROM (VALUES {names}) AS ours(name)"
        )
        with self._explained(), self._engine.connect() as connection, connection.begin():
            return int(connection.exec_driver_sql(query).scalar_one())


def refuse(version: int, encoding: str | None) -> None:
    """StoreError for a server that is too old, or a database that does not take every text."""
    if version < LEAST_VERSION * 10_000:
        told = f"{version // 10_000}.{version % 10_000}"
        raise errors.StoreError(f"the server is PostgreSQL {told}, but {LEAST_VERSION} or newer is needed")
    if encoding != "UTF8":
        raise errors.StoreError(f"the database has the encoding {encoding}: make one with UTF8")


def _has_news(connection: psycopg.Connection[Any]) -> bool:
    """Whether there is something to read where nothing was asked: mostly, that the server has gone."""
    try:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except psycopg.OperationalError:
        return True


def _refuse_cut(connection: psycopg.Connection[Any], *_: Any) -> None:
    """A connection that was cut while nobody used it costs no question: the pool makes a new one, and drops others."""
    if _has_news(connection):
        raise InvalidatePoolError


def _at_once(cursor: Any, statement: str, rows: Sequence[Mapping[str, Any]], context: Any) -> bool:
    """INSERT of many rows as one statement over arrays of columns: one for each row takes four times as long.

    Of several rows with one key the last counts, as it would one after the other.
    """
    if not context.isinsert:
        return False
    table = context.compiled.statement.table
    if "DO UPDATE" in statement:
        key = [column.name for column in table.primary_key]
        rows = list({tuple(row[name] for name in key): row for row in rows}.values())
    arrays = {name: _array(table.c[name].type.python_type, [row[name] for row in rows]) for name in rows[0]}
    kinds = {name: table.c[name].type.compile(context.dialect) for name in rows[0]}
    cursor.execute(VALUES.sub(lambda values: _unnested(values[1], kinds), statement), arrays)
    return True


def _array(kind: type, values: Sequence[Any]) -> Sequence[Any]:
    """The driver wants one type of number in an array."""
    if kind not in (int, float):
        return values
    return [None if value is None else kind(value) for value in values]


def _unnested(values: str, kinds: Mapping[str, str]) -> str:
    return f"SELECT * FROM unnest({BIND.sub(lambda bind: f'%({bind[1]})s::{kinds[bind[1]]}[]', values)})"
