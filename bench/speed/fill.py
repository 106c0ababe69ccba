"""Ours, filled: rows committed, hours sealed and rows pruned as the collector does it, only without the waiting."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed.cost import Cost
from bench.speed.workload import (
    OPEN_HOUR_MS,
    POWER,
    STEP_MS,
    Hour,
    Size,
    Target,
    end_ms,
    targets,
)
from storage.imports import ImportedHour, Imports
from storage.records import Batch, Row, TargetRow
from storage.store import Store, open_store
from telemetry.summary import HOUR_MS

BATCH_TICKS = 30
"""Ticks of one commit, where single ticks are not to be measured: as many as the collector writes at once."""
HOT_MS = 2 * HOUR_MS
MOST_DAYS = 100
LATER_MS = 300_000 + 1
"""An hour is sealed so long after its end."""
SEALED_TABLES = ("clock", "chunk", "day", "day_due", "series", "layout")
Say = Callable[[str], None]


@dataclass
class Filled:
    """What filling cost: commits of single ticks, seals of a target-hour each, prunes; all of the last whole hour.

    sealed_bytes: of the sealed hours of everything, indexes included; days_bytes: of the days before; hot_bytes: of the
    rows that are kept for two hours, however long the history.
    """

    commit: Cost = field(default_factory=Cost)
    seal: Cost = field(default_factory=Cost)
    prune: Cost = field(default_factory=Cost)
    sealed_bytes: int = 0
    days_bytes: int = 0
    hot_bytes: int = 0
    size_bytes: int = 0

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Filled:
        """From what was kept of it."""
        return cls(**{name: Cost(**value) if isinstance(value, dict) else value for name, value in kept.items()})


def fill(path: Path, size: Size, say: Say) -> Filled:
    """Make the store of the workload; the last whole hour tick by tick, and measured, what is before in batches."""
    store = open_store(str(path), writer=True, now_ms=size.before_ms)
    cluster = targets(size)
    known = [TargetRow(one.name, one.kind, "", STEP_MS, "up", "", size.first_ms, None) for one in cluster]
    store.commit(Batch(targets=known), size.first_ms)
    _days(store, size, say)
    days_bytes = _sealed_bytes(table_bytes(path))
    found, fast = Filled(days_bytes=days_bytes), Filled()
    for hours in zip(*(one.hours(size.first_ms, end_ms()) for one in cluster), strict=True):
        start = hours[0].start
        is_last = start == OPEN_HOUR_MS - HOUR_MS
        cost = found if is_last else fast
        commit_hour(store, cluster, hours, 1 if is_last else BATCH_TICKS, cost.commit)
        if start < OPEN_HOUR_MS:
            seal_hour(store, cluster, start, cost.seal)
        with cost.prune.measured():
            store.prune(start + HOUR_MS - HOT_MS)
        fold_days(store, start + HOUR_MS)
        say(f"ours: hour {(start - size.first_ms) // HOUR_MS + 1} of {size.hours}")
    store.close()
    tables = table_bytes(path)
    found.sealed_bytes = _sealed_bytes(tables) - days_bytes
    found.hot_bytes, found.size_bytes = tables["hot"], path.stat().st_size
    return found


def _sealed_bytes(tables: Mapping[str, int]) -> int:
    return sum(tables.get(name, 0) for name in SEALED_TABLES)


def commit_hour(store: Store, cluster: Sequence[Target], hours: Sequence[Hour], ticks_at_once: int, cost: Cost) -> None:
    """Commit an hour of all targets, so many ticks to a transaction."""
    layouts = [store.layout(one.name, one.series) for one in cluster]
    values = [np.ascontiguousarray(hour.values.T) for hour in hours]
    count = len(hours[0].ticks)
    for low in range(0, count, ticks_at_once):
        rows = [
            Row(int(hour.ticks[tick]), one.name, int(hour.at_ms[tick]), layout, mine[tick])
            for tick in range(low, min(low + ticks_at_once, count))
            for one, hour, layout, mine in zip(cluster, hours, layouts, values, strict=True)
        ]
        with cost.measured():
            store.commit(Batch(rows=rows), rows[-1].tick + 250)


def seal_hour(store: Store, cluster: Sequence[Target], start: int, cost: Cost) -> None:
    """Seal an hour of all targets."""
    for one in cluster:
        with cost.measured():
            assert store.seal(one.name, start, start + HOUR_MS + LATER_MS), f"{one.name} was not sealed"


def bring_forward(path: Path, size: Size) -> None:
    """A store that was kept, as today's collector leaves it: of today's version, its days put together."""
    store = open_store(str(path), writer=True, now_ms=size.now_ms)
    fold_days(store, size.now_ms)
    store.close()


def fold_days(store: Store, now_ms: int) -> None:
    """Put days that are over together, as the collector does within a minute."""
    while due := store.days_due(now_ms, MOST_DAYS):
        for target, day in due:
            store.fold(target, day)


def _days(store: Store, size: Size, say: Say) -> None:
    """The days of one metric, written as hours that come from elsewhere are: sealed at once."""
    imports = Imports(store)
    for one in targets(size)[: size.nodes]:
        for imported in _imported(one.only(POWER), size):
            assert imports.write(imported), "an hour was there already"
        if size.days:
            say(f"ours: {size.days} days of {one.name}")


def _imported(one: Target, size: Size) -> Iterator[ImportedHour]:
    for hour in one.hours(size.before_ms, size.first_ms):
        yield ImportedHour(one.name, hour.start, hour.ticks, one.series, hour.values, (), STEP_MS)


def table_bytes(path: Path) -> dict[str, int]:
    """Bytes of each table with its indexes, free pages under "free"."""
    with closing(sqlite3.connect(path)) as connection:
        owners = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master").fetchall())
        found: dict[str, int] = {}
        for name, size in connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name").fetchall():
            owner = owners.get(name, name)
            found[owner] = found.get(owner, 0) + size
        (free,), (page,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_size"))
    return found | {"free": free * page}
