"""Transactions: short, all or nothing, and failing with our own exceptions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from storage.dialect import dialect_of
from storage.errors import StoreBusy, StoreError, StoreGone


class Database:
    """An engine's connections. Threads of this process queue at a lock of their own before they ask the database's."""

    def __init__(self, url: str, *, writer: bool, busy_ms: int) -> None:
        self.dialect = dialect_of(url, busy_ms)
        self.dialect.prepare(writer)
        self._engine = self.dialect.engine(writer)
        self._writing = self._engine.execution_options(write=True)
        self._turn = threading.Lock()
        self._held = threading.local()

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """What this thread reads inside is of one state, in one read transaction, and costs a fraction each."""
        with self.reading() as connection:
            before = self._shared()
            self._held.connection = connection
            try:
                yield
            finally:
                self._held.connection = before

    def _shared(self) -> Connection | None:
        found: Connection | None = getattr(self._held, "connection", None)
        return found

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read transaction: one consistent state. Keep it short.

        It ends by being rolled back: SQLite refuses to commit one that has met a damaged page. Inside `one_state` it is
        that one's.
        """
        shared = self._shared()
        if shared is not None:
            with self._explained():
                yield shared
            return
        self.dialect.confirm()
        with self._explained(), self._engine.connect() as connection:
            connection.begin()
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction, which holds the lock from its first moment; rolled back on any error."""
        self.dialect.confirm()
        if not self._turn.acquire(timeout=self.dialect.busy_ms / 1000):
            raise StoreBusy(f"another thread is writing to the store {self.dialect.name}")
        try:
            with self._explained(), self._writing.connect() as connection, connection.begin():
                yield connection
        finally:
            self._turn.release()

    def confirm(self) -> None:
        """StoreGone when what is open is not what others find there; nothing is said of what cannot be looked at."""
        try:
            with self.reading():
                pass
        except StoreGone:
            raise
        except StoreError:
            return

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self.dialect.failures as error:
            raise self.dialect.explain(error) from error

    def close(self) -> None:
        """Close every connection, and give up being the collector."""
        self._engine.dispose()
        self.dialect.release()
