"""Rows that come for an hour that may be sealed: they are noted in the transaction that commits them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, func, select, update

from storage import schema
from storage.chunks import FORGOTTEN
from storage.records import Row
from telemetry.summary import HOUR_MS, hour_of

CLOCK = schema.clock.c


class Late:
    """Says which rows may be late, without a question to the database for those of the present hour.

    Asked inside the transaction that commits them, while `raise_to` is called before the one that seals: so whichever
    of the two comes second knows of the first.
    """

    def __init__(self) -> None:
        self._open_from: int | None = None
        self._raised = 0

    def raise_to(self, end: int) -> None:
        """An hour that ends here is about to be sealed."""
        self._raised = max(self._raised, end)

    def hours(self, connection: Connection, rows: Iterable[Row], now_ms: int) -> list[tuple[str, int]]:
        """(target, hour) of rows before the present hour, or before the end of the newest that is sealed: a clock that
        was set back must not make rows look punctual."""
        if self._open_from is None:
            newest = connection.scalar(select(func.max(CLOCK.hour)))
            self._open_from = 0 if newest is None else newest + HOUR_MS
        open_from = max(self._open_from, self._raised, hour_of(now_ms))
        return sorted({(row.target, hour_of(int(row.tick))) for row in rows if row.tick < open_from})


def mark_late(connection: Connection, hours: Collection[tuple[str, int]]) -> None:
    """Mark these hours where they are sealed, and the ones after, whose first rates look back; not forgotten ones."""
    for target, hour in hours:
        sealed = (CLOCK.target == target) & CLOCK.hour.in_([hour, hour + HOUR_MS])
        connection.execute(update(schema.clock).where(sealed, CLOCK.codec != FORGOTTEN).values(late=1))
