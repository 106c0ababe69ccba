"""Ends: the two samples of each series between which a window's increase counts, however long the window is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from sqlalchemy import Connection, select

from storage import history, schema
from storage.damage import Broken, refused
from storage.dialect import Dialect
from storage.layouts import Layouts
from storage.plan import Wanted, make_plan
from storage.sealed import parts
from storage.search import NEVER, Point, Points, Search
from telemetry.counters import FROM_ZERO
from telemetry.frame import Frame, empty
from telemetry.model import Series


class Last(Protocol):
    """Last samples up to an instant, as far as they are known before anything is looked for."""

    def get(self, series: Series, /) -> Point | None:
        """Of one series."""


class Told(NamedTuple):
    """Those up to the start, and up to the end."""

    start: Last
    end: Last


NONE: Mapping[Series, Point] = {}
NOTHING = Told(NONE, NONE)


def ends(
    connection: Connection,
    dialect: Dialect,
    layouts: Layouts,
    wanted: Wanted,
    targets: Sequence[str] | None,
    start: int,
    end: int,
    told: Told = NOTHING,
    broken: Broken = refused,
) -> Frame:
    """For each series its last sample at or before the end, and at or before the start; see `Store.ends`."""
    search = Search(connection, dialect, layouts, broken)
    numbers = np.unique(make_plan(layouts, search.known, wanted, targets).series).tolist()
    high = _last(search, numbers, end, told.end)
    moved = [number for number, point in high.items() if point.tick > start]
    low = _last(search, moved, start, told.start)
    begun = [number for number in moved if number not in low]
    first = search.first(begun, start, end)
    low |= first | _zeros(connection, search, first, start)
    return _frame(connection, search.known, low, high)


def _last(search: Search, numbers: Sequence[int], until: int, told: Last) -> Points:
    """The last sample of each series up to an instant; what is told is not looked for."""
    found = {number: point for number in numbers if (point := told.get(search.known[number])) is not None}
    return found | search.last([number for number in numbers if number not in found], until)


def _zeros(connection: Connection, search: Search, first: Points, start: int) -> Points:
    """Where series that count from 0 stood at it: at the last reading of their target before the window, or, when that
    begins inside, at the first one."""
    found: Points = {}
    for number, tick in _first_uses(connection, first).items():
        target = search.known[number].target
        point = search.reading(target, -NEVER, start, newest=True)
        point = point or search.reading(target, start, tick - 1, newest=False)
        if point is not None:
            found[number] = point
    return found


def _first_uses(connection: Connection, first: Mapping[int, Point]) -> dict[int, int]:
    """Ticks from which series count from 0, of those that do so with their first sample."""
    table = schema.offset.c
    query = select(table.series, table.tick).where(table.reason.in_(sorted(FROM_ZERO)))
    return {
        number: tick
        for some in parts(sorted(first))
        for number, tick in connection.execute(query.where(table.series.in_(some)))
        if tick == first[number].tick
    }


def _frame(connection: Connection, known: Mapping[int, Series], low: Points, high: Points) -> Frame:
    if not high:
        return empty()
    order = sorted(high, key=lambda number: (known[number].target, known[number].metric, known[number].labels))
    points = [(row, *side[number]) for row, number in enumerate(order) for side in (high, low) if number in side]
    rows, at, instants, levels = (list(one) for one in zip(*points, strict=True))
    ticks, columns = np.unique(np.array(at, dtype=np.int64), return_inverse=True)
    shape = (len(order), len(ticks))
    values, at_ms = np.full(shape, np.nan), np.full(shape, np.nan)
    values[rows, columns], at_ms[rows, columns] = levels, instants
    series = tuple(known[number] for number in order)
    gaps = history.gaps(connection, [one.target for one in series])
    return Frame(ticks, series, values, at_ms, np.zeros(shape, dtype=bool), gaps)
