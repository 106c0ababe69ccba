"""Summaries of sealed hours, out of an index that holds them whole: no blob is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from storage.layouts import Layouts
from storage.plan import Wanted, make_plan
from storage.sealed import CHUNK, fetched, parts
from telemetry.frame import Floats
from telemetry.model import Series
from telemetry.summary import Summaries, hour_of

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
    return _arranged(known, np.array(rows, dtype=np.float64).reshape(len(rows), 2 + len(COLUMNS)))


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
