"""Tidying: rows beside samples go when nothing that is kept needs them any more.

What still holds stays, however old: open facts and absences, the newest offset of each series, by which its counter
goes on, and those before an hour whose samples or summaries are there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Table, and_, delete, func, or_, select, tuple_

from storage import schema
from storage.database import Database
from storage.sealed import CLOCK
from storage.upkeep import PAUSE_S, SLICE_ROWS, Pause, Ranges


def tidy(database: Database, before_ms: int, pause: Pause = time.sleep, kept: Ranges = ()) -> int:
    """Delete facts, absences, episodes and offsets that ended, and events that happened, before this; number of rows.

    Those that touch a kept range stay. Offsets stay from the oldest sealed hour on.
    """
    total = 0
    for table, condition in _old(before_ms, kept):
        total += _in_slices(database, table, condition, pause)
    return total + _in_slices(database, schema.offset, _old_offsets(database, before_ms, kept), pause)


def _old(before_ms: int, kept: Ranges) -> Sequence[tuple[Table, ColumnElement[bool]]]:
    fact, absence, episode, event = schema.fact.c, schema.absence.c, schema.episode.c, schema.event.c
    return [
        (schema.fact, and_(fact.end_ms < before_ms, *_outside(fact.start_ms, fact.end_ms, kept))),
        (schema.absence, and_(absence.end_ms < before_ms, *_outside(absence.start_ms, absence.end_ms, kept))),
        (schema.episode, and_(episode.end_ms < before_ms, *_outside(episode.start_ms, episode.end_ms, kept))),
        (schema.event, and_(event.at_ms < before_ms, *_outside(event.at_ms, event.at_ms, kept))),
    ]


def _outside(start: ColumnElement[int], end: ColumnElement[int], kept: Ranges) -> list[ColumnElement[bool]]:
    return [or_(end < low, start > high) for low, high in kept]


def _old_offsets(database: Database, before_ms: int, kept: Ranges) -> ColumnElement[bool]:
    """Older than all that is sealed, and not the newest of its series."""
    with database.reading() as connection:
        oldest = connection.scalar(select(func.min(CLOCK.hour)))
    bound = min([before_ms, *(start for start, _ in kept), *([] if oldest is None else [oldest])])
    offset = schema.offset.c
    later = schema.offset.alias("later").c
    newest = select(func.max(later.tick)).where(later.series == offset.series).scalar_subquery()
    return and_(offset.tick < bound, offset.tick < newest)


def _in_slices(database: Database, table: Table, condition: ColumnElement[bool], pause: Pause) -> int:
    key = list(table.primary_key.columns)
    chosen = select(*key).where(condition).limit(SLICE_ROWS)
    match = tuple_(*key).in_(chosen) if len(key) > 1 else key[0].in_(chosen)
    total, deleted = 0, SLICE_ROWS
    while deleted == SLICE_ROWS:
        with database.writing() as connection:
            deleted = connection.execute(delete(table).where(match)).rowcount
        total += deleted
        if deleted:
            pause(PAUSE_S)
    return total
