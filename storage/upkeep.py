"""Forgetting, in slices so short that no tick waits for one.

Rows go once they stand in a sealed hour; samples go when they are older than people want, and leave their summary;
summaries go last. Room that becomes free is used again: the file is never rewritten.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, insert, not_, or_, select, update

from storage import days, edition, schema
from storage.chunks import FORGOTTEN
from storage.database import Database
from storage.hours import hours_of_rows
from storage.read import HOT, newest_ticks
from storage.sealed import CHUNK, CLOCK, parts
from telemetry.summary import HOUR_MS

SLICE_ROWS = 500
"""Rows deleted in one transaction: a few milliseconds, far below the 50 that any may take."""
PAUSE_S = 0.005
"""Between two slices, for whoever waits for the lock."""
Pause = Callable[[float], None]
Ranges = Sequence[tuple[int, int]]
"""(start, end) in milliseconds, both inside: hours that overlap one are not given up."""


def prune(database: Database, before_ms: int, pause: Pause = time.sleep) -> int:
    """Delete rows of tick < before that a sealed hour holds, but the newest of each target; number of rows.

    Rows of an hour that is not sealed, or got late rows, stay. Commits of at < before go, too, except the newest, whose
    number says where the next one goes on counting.
    """
    with database.reading() as connection:
        hours = list(hours_of_rows(connection, -(2**62), before_ms - 1))
        newest = [(target, tick) for target, tick in newest_ticks(connection).items() if tick < before_ms]
    total = sum(_prune_hour(database, hour, min(before_ms, hour + HOUR_MS), newest, pause) for hour in hours)
    log = schema.commit_log
    last = select(func.max(log.c.sequence)).scalar_subquery()
    with database.writing() as connection:
        connection.execute(delete(log).where(log.c.at_ms < before_ms, log.c.sequence < last))
    return total


def _prune_hour(database: Database, hour: int, end: int, kept: Sequence[tuple[str, int]], pause: Pause) -> int:
    """Whether a row may go is asked in the very transaction that deletes it: a late one may have come meanwhile."""
    clean = and_(CLOCK.hour == hour, CLOCK.late == 0)
    with database.reading() as connection:
        if connection.execute(select(CLOCK.target).where(clean).limit(1)).first() is None:
            return 0
    held = select(CLOCK.target).where(clean, CLOCK.target == HOT.target).exists()
    mine = [and_(HOT.target == target, HOT.tick == tick) for target, tick in kept if hour <= tick < end]
    goes = and_(held, not_(or_(*mine))) if mine else held
    total, start = 0, hour
    while start < end:
        with database.writing() as connection:
            stop = _slice_end(connection, start, end)
            deleted = connection.execute(delete(schema.hot).where(HOT.tick >= start, HOT.tick < stop, goes)).rowcount
        total, start = total + deleted, stop
        pause(PAUSE_S)
    return total


def _slice_end(connection: Connection, start: int, end: int) -> int:
    """So far that about SLICE_ROWS rows lie between; a tick is not divided."""
    ticks = select(HOT.tick).where(HOT.tick >= start, HOT.tick < end).order_by(HOT.tick)
    bound = connection.scalar(ticks.offset(SLICE_ROWS).limit(1))
    return end if bound is None else max(bound, start + 1)


def forget(database: Database, before_ms: int, pause: Pause = time.sleep, kept: Ranges = ()) -> int:
    """Give up the samples of sealed hours that ended at or before this, and keep their summaries; target-hours."""
    left = or_(CLOCK.codec != FORGOTTEN, CLOCK.data.is_not(None))
    hours = _sealed_hours(database, before_ms, kept, left)
    for target, hour in hours:
        clock = (CLOCK.target == target, CLOCK.hour == hour)
        with database.writing() as connection:  # first of all, so that nobody takes what is left for everything
            connection.execute(update(schema.clock).where(*clock).values(codec=FORGOTTEN, late=0))
        for some, last in _slices(database, target):
            with database.writing() as connection:
                _strip(connection, schema.chunk, CHUNK.hour == hour, CHUNK.series.in_(some))
                if last:
                    _strip(connection, schema.clock, *clock)
            pause(PAUSE_S)
    return len(hours)


def _strip(connection: Connection, table: Table, *where: ColumnElement[bool]) -> None:
    """Write rows anew without their blobs.

    A row that is only updated keeps its place, and with two or three blobs to a page SQLite would give none back.
    """
    kept = [column for column in table.columns if column.name not in ("data", "codec")]
    rows = [dict(row) for row in connection.execute(select(*kept).where(*where)).mappings()]
    connection.execute(delete(table).where(*where))
    if rows:
        connection.execute(insert(table), [{**row, "codec": FORGOTTEN, "data": None} for row in rows])


def drop_summaries(database: Database, before_ms: int, pause: Pause = time.sleep, kept: Ranges = ()) -> int:
    """Delete sealed hours that ended at or before this, summaries and all; target-hours.

    One that its target's newest row belongs to stays: it would only be sealed again.
    """
    rows = and_(HOT.target == CLOCK.target, HOT.tick >= CLOCK.hour, HOT.tick < CLOCK.hour + HOUR_MS)
    hours = _sealed_hours(database, before_ms, kept, ~select(HOT.tick).where(rows).exists())
    for target, hour in hours:
        for some, last in _slices(database, target):
            with database.writing() as connection:
                days.spoil(connection, target, hour)
                edition.rise(connection, database.dialect, dropped=True)
                connection.execute(delete(schema.chunk).where(CHUNK.hour == hour, CHUNK.series.in_(some)))
                if last:
                    connection.execute(delete(schema.clock).where(CLOCK.target == target, CLOCK.hour == hour))
            pause(PAUSE_S)
    return len(hours)


def _sealed_hours(database: Database, before_ms: int, kept: Ranges, *conditions: object) -> list[tuple[str, int]]:
    query = select(CLOCK.target, CLOCK.hour).where(CLOCK.hour <= before_ms - HOUR_MS, *conditions)  # type: ignore[arg-type]
    with database.reading() as connection:
        found = connection.execute(query.order_by(CLOCK.hour, CLOCK.target)).all()
    return [(target, hour) for target, hour in found if not is_kept(hour, kept)]


def is_kept(hour: int, kept: Ranges) -> bool:
    """Whether one of the ranges holds a moment of the hour."""
    return any(start < hour + HOUR_MS and end >= hour for start, end in kept)


def _slices(database: Database, target: str) -> Iterator[tuple[Sequence[int | str], bool]]:
    """Numbers of a target's series, and whether they are the last.

    The clock's blob goes with the last slice: after a stop in between, the hour is found again and finished.
    """
    with database.reading() as connection:
        numbers = list(connection.scalars(select(schema.series.c.id).where(schema.series.c.target == target)))
    slices = list(parts(numbers)) or [[]]
    return ((some, place == len(slices)) for place, some in enumerate(slices, start=1))
