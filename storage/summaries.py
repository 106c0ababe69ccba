"""Summaries of sealed hours, out of an index that holds them whole: no blob is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, select

from storage.layouts import Layouts
from storage.plan import Wanted, make_plan
from storage.sealed import CHUNK, parts
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


def summaries(
    connection: Connection, layouts: Layouts, wanted: Wanted, targets: Sequence[str] | None, start: int, end: int
) -> Summaries:
    """Of the wanted series, sorted by identity, in the sealed hours that overlap start ≤ t ≤ end."""
    layouts.refresh(connection)
    known = layouts.series()
    numbers = np.unique(make_plan(layouts, known, wanted, targets).series).tolist()
    query = select(CHUNK.series, CHUNK.hour, *(CHUNK[name] for name in COLUMNS)).where(
        CHUNK.hour >= hour_of(start), CHUNK.hour <= end
    )
    rows = [row for some in parts(numbers) for row in _plain(connection, query.where(CHUNK.series.in_(some)))]
    return _arranged(known, np.array(rows, dtype=np.float64).reshape(len(rows), 2 + len(COLUMNS)))


def _plain(connection: Connection, query: Select[Any]) -> Sequence[tuple[Any, ...]]:
    """Rows as the driver gives them: a month of a metric is ten thousand, which SQLAlchemy takes a third longer for."""
    cursor = connection.execute(query).cursor
    return () if cursor is None else cursor.fetchall()


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
