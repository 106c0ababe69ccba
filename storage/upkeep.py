"""Forgetting, in slices so short that no tick waits for one."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import delete, func, select

from storage import schema
from storage.database import Database

SLICE_ROWS = 500
"""Rows deleted in one transaction: a few milliseconds, far below the 50 that any may take."""
PAUSE_S = 0.005
"""Between two slices, for whoever waits for the lock."""


def prune(database: Database, before_ms: int, pause: Callable[[float], None] = time.sleep) -> int:
    """Delete hot rows of tick < before, and commits of at < before except the newest; number of rows.

    The newest commit stays, because its number says where the next one goes on counting.
    """
    total = 0
    while deleted := _slice(database, before_ms):
        total += deleted
        pause(PAUSE_S)
    log = schema.commit_log
    newest = select(func.max(log.c.sequence)).scalar_subquery()
    with database.writing() as connection:
        connection.execute(delete(log).where(log.c.at_ms < before_ms, log.c.sequence < newest))
    return total


def _slice(database: Database, before_ms: int) -> int:
    tick = schema.hot.c.tick
    old = select(tick).where(tick < before_ms).order_by(tick)
    with database.writing() as connection:
        first = connection.scalar(old.limit(1))
        if first is None:
            return 0
        bound = connection.scalar(old.offset(SLICE_ROWS).limit(1))
        end = before_ms if bound is None else max(bound, first + 1)
        return connection.execute(delete(schema.hot).where(tick < end)).rowcount
