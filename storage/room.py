"""Room: what the store takes, what its hours weigh, and which of them are the oldest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import BigInteger, Connection, Select, func, select

from storage import schema
from storage.chunks import FORGOTTEN
from storage.database import Database
from storage.read import HOT
from storage.records import Room, Weight
from storage.sealed import CHUNK, CLOCK, parts
from storage.upkeep import Ranges, is_kept
from telemetry.summary import HOUR_MS

SPAN_MS = 60_000
"""So long a stretch of rows is weighed to know what an hour of them takes."""


def room(database: Database) -> Room:
    """As it is now."""
    with database.reading() as connection:
        free = database.dialect.free_bytes(connection)
    return Room(database.dialect.size_bytes(), free, *database.dialect.disk())


def rows_per_hour(connection: Connection) -> int:
    """Bytes that an hour of packed rows takes, by the newest minute of them; 0 without rows."""
    newest = connection.scalar(select(func.max(HOT.tick, type_=BigInteger)))
    if newest is None:
        return 0
    recent = (HOT.tick > newest - SPAN_MS, HOT.tick <= newest)
    total, first = connection.execute(select(func.sum(func.length(HOT.data)), func.min(HOT.tick)).where(*recent)).one()
    return int(total * HOUR_MS / max(newest - first, SPAN_MS // 2))


def weigh(connection: Connection, hour: int) -> Weight | None:
    """What a sealed hour takes; None where none is sealed, or its samples were given up."""
    mine = (CLOCK.hour == hour, CLOCK.codec != FORGOTTEN)
    query = select(func.sum(func.length(CLOCK.data)), func.min(CLOCK.first_tick), func.max(CLOCK.last_tick))
    samples, first, last = connection.execute(query.where(*mine)).one()
    if samples is None:
        return None
    rows = 0
    numbers = list(connection.scalars(select(schema.series.c.id)))
    lengths = select(func.count(), func.coalesce(func.sum(func.length(CHUNK.data)), 0)).where(CHUNK.hour == hour)
    for some in parts(numbers):
        count, size = connection.execute(lengths.where(CHUNK.series.in_(some))).one()
        rows, samples = rows + count, samples + size
    return Weight(hour, samples, rows, first, last)


def newest_hours(connection: Connection, most: int) -> list[int]:
    """The newest sealed hours with samples, newest first."""
    query = select(CLOCK.hour).distinct().where(CLOCK.codec != FORGOTTEN).order_by(CLOCK.hour.desc()).limit(most)
    return list(connection.scalars(query))


def oldest_row(connection: Connection) -> int | None:
    """The first tick of the rows that are not sealed yet, or were not cleared away yet."""
    found: int | None = connection.scalar(select(func.min(HOT.tick, type_=BigInteger)))
    return found


def oldest_samples(connection: Connection, kept: Ranges = ()) -> int | None:
    """The oldest sealed hour whose samples are there and are in none of these ranges."""
    return next(_free(connection.scalars(_hours().where(CLOCK.codec != FORGOTTEN)), kept), None)


def oldest_summaries(connection: Connection, kept: Ranges = ()) -> int | None:
    """The oldest sealed hour of which only summaries are left, and that is in none of these ranges."""
    return next(_free(connection.scalars(_hours().where(CLOCK.codec == FORGOTTEN)), kept), None)


def _hours() -> Select[int]:
    return select(CLOCK.hour).distinct().order_by(CLOCK.hour)


def _free(hours: Iterable[int], kept: Ranges) -> Iterator[int]:
    return (hour for hour in hours if not is_kept(hour, kept))
