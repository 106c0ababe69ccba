"""Summaries of sealed hours: by the day where that was made, else out of an index that holds them whole, so that no
blob of samples is touched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from storage import days, schema
from storage.asking import fetched, scalar
from storage.days import CELLS, DAY_MS, FROM, HOURS, SOME, TO, Days, day_of
from storage.layouts import Layouts
from storage.plan import Wanted, make_plan
from storage.sealed import CHUNK, CLOCK, parts
from telemetry.counters import FROM_ZERO
from telemetry.frame import Floats, Ints, together
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries, hour_of

COLUMNS: Mapping[str, str] = {
    "n": "count",
    "first": "first",
    "last": "last",
    "min": "minimum",
    "max": "maximum",
    "sum": "total",
    "gain": "gain",
    "seconds": "seconds",
}
"""Columns of `chunk` and what they are in `Summaries`."""
OFFSET = schema.offset.c
assert tuple(COLUMNS) == days.COLUMNS
NO_DAYS = Days(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, *days.SHAPE)))
Row = tuple[Any, ...]
BEGUN = select(OFFSET.series, OFFSET.tick).where(
    OFFSET.tick >= FROM, OFFSET.tick <= TO, OFFSET.series.in_(SOME), OFFSET.reason.in_(sorted(FROM_ZERO))
)
FIRSTS = select(CHUNK.series, CHUNK.n, CHUNK.first).where(CHUNK.hour == FROM, CHUNK.series.in_(SOME))
BEGUN_BY = select(CLOCK.target, CLOCK.n).where(CLOCK.hour == FROM, CLOCK.first_tick <= TO)
EDGES = [select(edge(CLOCK.hour)) for edge in (func.min, func.max)]


def summaries(
    connection: Connection, layouts: Layouts, wanted: Wanted, targets: Sequence[str] | None, start: int, end: int
) -> Summaries:
    """Of the wanted series, sorted by identity, in the sealed hours that overlap start ≤ t ≤ end."""
    layouts.refresh(connection)
    known = layouts.series()
    numbers = _numbers(layouts, known, wanted, targets)
    first, last = hour_of(start), hour_of(end)
    if last - first >= DAY_MS:
        oldest, newest = (scalar(connection, edge) for edge in EDGES)
        first, last = (0, -1) if oldest is None else (max(first, oldest), min(last, newest))
    if last - first < DAY_MS:
        rows = _hourly(connection, numbers, first, last)
        begun = _first_uses(connection, numbers, first, last) if rows else set()
        return _arranged(known, NO_DAYS, [*rows, *_zeros_before(rows, begun)], first, last)
    begun = _first_uses(connection, numbers, first, last)
    found = days.read(connection, numbers, day_of(first), day_of(last)).without({number for number, _ in begun})
    rows = [
        row
        for some, (low, high) in days.missing(found, numbers, day_of(first), day_of(last))
        for row in _hourly(connection, some, max(first, low), min(last, high + DAY_MS - HOUR_MS))
    ]
    return _arranged(known, found, [*rows, *_zeros_before(rows, begun)], first, last)


def firsts(
    connection: Connection, layouts: Layouts, wanted: Wanted, targets: Sequence[str] | None, at_ms: int
) -> dict[Series, float]:
    """The number at the first reading of an instant's hour, where that is sealed and the reading is not after the
    instant; of series that have a number at every reading of it."""
    layouts.refresh(connection)
    known, hour = layouts.series(), hour_of(at_ms)
    readings = dict(fetched(connection, BEGUN_BY, {"first": hour, "last": at_ms}))
    mine = readings.keys() if targets is None else readings.keys() & set(targets)
    numbers = np.unique(make_plan(layouts, known, wanted, sorted(mine)).series).tolist()
    rows = [row for some in parts(numbers) for row in fetched(connection, FIRSTS, {"first": hour, "some": some})]
    return {known[number]: first for number, count, first in rows if count == readings[known[number].target]}


def _numbers(layouts: Layouts, known: Mapping[int, Series], wanted: Wanted, targets: Sequence[str] | None) -> list[int]:
    """Numbers of the wanted series, rising; where metrics are named, without looking through all layouts."""
    if wanted is None or callable(wanted):
        return list(np.unique(make_plan(layouts, known, wanted, targets).series).tolist())
    chosen = None if targets is None else frozenset(targets)
    named = [one for one in layouts.of_metrics(wanted) if one in known]
    return [one for one in named if chosen is None or known[one].target in chosen]


def _hourly(connection: Connection, numbers: Sequence[int], first: int, last: int) -> list[Row]:
    asked = {"first": first, "last": last}
    return [row for some in parts(numbers) for row in fetched(connection, CELLS, {**asked, "some": some})]


def _first_uses(connection: Connection, numbers: Sequence[int], first: int, last: int) -> set[tuple[int, int]]:
    """(series, hour) in which a counter began from 0."""
    asked = {"first": first, "last": last + HOUR_MS - 1}
    return {
        (number, hour_of(tick))
        for some in parts(numbers)
        for number, tick in fetched(connection, BEGUN, {**asked, "some": some})
    }


def _zeros_before(rows: Sequence[Row], begun: Collection[tuple[int, int]]) -> Iterator[Row]:
    """Rows of the hours before those in which a counter from first use appeared with the very first sample: there it
    stood at 0 all the time, and in its own hour nothing says so. Readings are taken to be as many as in that.

    Where it appeared later in an hour, the zero is that hour's `first`; where there is an hour before, it was imported.
    """
    if begun:
        there = {(number, hour) for number, hour, *_ in rows}
        for number, hour, n, first, *rest in rows:
            if (number, hour) in begun and (number, hour - HOUR_MS) not in there and first is not None and first > 0:
                yield (number, hour - HOUR_MS, n, 0.0, *(0.0 for _ in rest))


def _arranged(known: Mapping[int, Series], whole: Days, rows: Sequence[Row], first: int, last: int) -> Summaries:
    """Summaries of days and of rows of CELLS; of the days the hours first … last."""
    cells = days.cells_of(rows)
    of_rows, hour_of_rows = cells[:, 0].astype(np.int64), cells[:, 1].astype(np.int64)
    all_days = np.unique(whole.day)
    of_days = (all_days[:, np.newaxis] + np.arange(HOURS) * HOUR_MS).ravel()
    hours = np.union1d(of_days, hour_of_rows) if len(rows) else of_days
    numbers = np.union1d(whole.series, of_rows)
    arrays = np.full((len(COLUMNS), len(numbers), len(hours)), np.nan)
    arrays[0] = days.ABSENT
    _lay_days(arrays, np.searchsorted(numbers, whole.series), np.searchsorted(hours, whole.day), whole)
    arrays[0][:, (hours < first) | (hours > last)] = days.ABSENT
    arrays[:, np.searchsorted(numbers, of_rows), np.searchsorted(hours, hour_of_rows)] = cells[:, 2:].T
    return _chosen([known[number] for number in numbers.tolist()], hours, arrays)


def _lay_days(arrays: Floats, row: Ints, column: Ints, whole: Days) -> None:
    """Put days where they belong, 24 hours at a time."""
    if not len(row):
        return
    windows = np.lib.stride_tricks.sliding_window_view(arrays, HOURS, axis=2, writeable=True)
    block = _block(row, column)
    if block is None:
        windows[:, row, column] = whole.cells.transpose(1, 0, 2)
    else:
        rows, columns, count = block
        windows[:, rows, columns] = whole.cells.reshape(-1, count, *days.SHAPE).transpose(2, 0, 1, 3)


def _block(row: Ints, column: Ints) -> tuple[slice, slice, int] | None:
    """Where days lie in rows that stand together, each of the same days without a gap, in their order: those rows, the
    first hours of the days, and how many there are; copied in a third of the time."""
    count = int(np.searchsorted(row, row[0], side="right"))
    if len(row) % count:
        return None
    first, own = int(row[0]), int(column[0])
    laid = row.reshape(-1, count) - first == np.arange(len(row) // count)[:, np.newaxis]
    if not laid.all() or (column.reshape(-1, count) - own != np.arange(count) * HOURS).any():
        return None
    return slice(first, first + len(row) // count), slice(own, own + HOURS * (count - 1) + 1, HOURS), count


def _chosen(series: Sequence[Series], hours: Ints, arrays: Floats) -> Summaries:
    """Those hours, and those series, of which there is anything; sorted."""
    there = arrays[0] != days.ABSENT
    arrays[0][arrays[0] == days.ABSENT] = 0.0
    kept = np.flatnonzero(there.any(axis=0))
    rows = np.flatnonzero(there.any(axis=1)).tolist()
    order = sorted(rows, key=lambda at: (series[at].target, series[at].metric, series[at].labels))
    inside, mine = together(kept), together(np.array(order, dtype=np.intp))
    chosen = [arrays[place][mine][:, inside] for place in range(len(COLUMNS))]
    return Summaries(
        hours[inside], tuple(series[at] for at in order), **dict(zip(COLUMNS.values(), chosen, strict=True))
    )
