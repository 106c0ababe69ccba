"""Folding: days are put together out of their hours, some series at a time, beside who else writes."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, select

from storage import schema
from storage.asking import fetched
from storage.database import Database
from storage.days import CELLS, DAY, DUE, HOURS, SERIES, packed
from storage.upkeep import PAUSE_S, Pause
from telemetry.summary import HOUR_MS

SLICE_SERIES = 100
"""Series folded in one transaction, which takes some milliseconds."""


def due(connection: Connection, now_ms: int, most: int) -> list[tuple[str, int]]:
    """(target, day) to fold, newest first: also the one that is not over, as far as its hours are sealed."""
    begun = select(DUE.target, DUE.day).where(DUE.day <= now_ms)
    found = connection.execute(begun.order_by(DUE.day.desc(), DUE.target).limit(most))
    return [(target, day) for target, day in found]


def fold(database: Database, target: str, day: int, pause: Pause = time.sleep) -> int:
    """Put a day of a target together; number of its series. May be repeated, and stopped anywhere.

    Each transaction reads the hours and writes their day: what is sealed in between deletes the day, and sets the mark
    anew, so that it will be folded again.
    """
    mine = (DUE.target == target, DUE.day == day)
    with database.reading() as connection:
        marked = connection.scalar(select(DUE.mark).where(*mine))
        numbers = list(connection.scalars(select(SERIES.id).where(SERIES.target == target)))
    total, upsert = 0, database.dialect.upsert(schema.day)
    for low in range(0, len(numbers), SLICE_SERIES):
        some = numbers[low : low + SLICE_SERIES]
        with database.writing() as connection:
            hours = {"first": day, "last": day + (HOURS - 1) * HOUR_MS, "some": some}
            rows = list(packed(fetched(connection, CELLS, hours), day))
            connection.execute(delete(schema.day).where(DAY.day == day, DAY.series.in_(some)))
            if rows:
                connection.execute(upsert, rows)
            total += len(rows)
        pause(PAUSE_S)
    with database.writing() as connection:
        connection.execute(delete(schema.day_due).where(*mine, DUE.mark == marked))
    return total
