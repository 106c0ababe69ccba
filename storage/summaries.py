"""Summaries of sealed hours, out of an index that holds them whole: no blob is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from storage import schema
from storage.layouts import Layouts
from storage.plan import Wanted, make_plan
from storage.sealed import CHUNK, fetched, parts
from telemetry.counters import FROM_ZERO
from telemetry.frame import Floats
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
FIRST = list(COLUMNS).index("first")
OFFSET = schema.offset.c


CELLS = select(CHUNK.series, CHUNK.hour, *(CHUNK[name] for name in COLUMNS)).where(
    CHUNK.hour >= bindparam("first"),
    CHUNK.hour <= bindparam("last"),
    CHUNK.series.in_(bindparam("some", expanding=True)),
)


def summaries(
    connection: Connection, layouts: Layouts, wanted: Wanted, targets: Sequence[str] | None, start: int, end: int
) -> Summaries:
    """Of the wanted series, sorted by identity, in the sealed hours that overlap start ≤ t ≤ end."""
    layouts.refresh(connection)
    known = layouts.series()
    numbers = np.unique(make_plan(layouts, known, wanted, targets).series).tolist()
    range_of = {"first": hour_of(start), "last": end}
    rows = [row for some in parts(numbers) for row in fetched(connection, CELLS, {**range_of, "some": some})]
    cells = np.array(rows, dtype=np.float64).reshape(len(rows), 2 + len(COLUMNS))
    return _arranged(known, np.vstack((cells, _zeros_before(connection, numbers, cells))))


def _zeros_before(connection: Connection, numbers: Sequence[int], cells: Floats) -> Floats:
    """Cells of the hours before those in which a counter from first use appeared with the very first sample: there it
    stood at 0 all the time, and in its own hour nothing says so. Readings are taken to be as many as in that.

    Where it appeared later in an hour, the zero is that hour's `first`.
    """
    if not len(cells):
        return cells
    low, high = int(np.min(cells[:, 1])), int(np.max(cells[:, 1]))
    inside = (OFFSET.tick >= low, OFFSET.tick < high + HOUR_MS, OFFSET.reason.in_(sorted(FROM_ZERO)))
    query = select(OFFSET.series, OFFSET.tick).where(*inside)
    begun = {
        (number, hour_of(tick))
        for some in parts(numbers)
        for number, tick in connection.execute(query.where(OFFSET.series.in_(some)))
    }
    if not begun:
        return cells[:0]
    first = np.array([(int(number), int(hour)) in begun for number, hour in cells[:, :2].tolist()], dtype=bool)
    found = cells[first & (cells[:, 2 + FIRST] > 0)]
    found[:, 1] -= HOUR_MS
    found[:, 2 + FIRST :] = 0.0
    return found


def _arranged(known: Mapping[int, Series], cells: Floats) -> Summaries:
    """Summaries of float64[row, column]: series, hour, and COLUMNS."""
    numbers, row = np.unique(cells[:, 0].astype(np.int64), return_inverse=True)
    hours, column = np.unique(cells[:, 1].astype(np.int64), return_inverse=True)
    series = [known[number] for number in numbers.tolist()]
    order = sorted(range(len(series)), key=lambda at: (series[at].target, series[at].metric, series[at].labels))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    arrays = np.full((len(COLUMNS), len(numbers), len(hours)), np.nan)
    arrays[0] = 0.0
    arrays[:, place[row], column] = cells[:, 2:].T
    return Summaries(hours, tuple(series[at] for at in order), **dict(zip(COLUMNS.values(), arrays, strict=True)))
