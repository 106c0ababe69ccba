"""Two frames that follow each other, as one."""

from __future__ import annotations

from typing import Any

import numpy as np

from telemetry.frame import Floats, Frame
from telemetry.gaps import keep


def joined(before: Frame, after: Frame) -> Frame:
    """Everything of both; all ticks of the first lie before those of the second.

    A series that only one of them has was not read in the other. Hours that were read less often than today are no row
    of gaps: each keeps its own, see `gaps.keep`.
    """
    if not len(before.ticks) or not len(after.ticks):
        return after if not len(before.ticks) else before
    series = before.series
    if after.series != series:
        series = tuple(sorted({*series, *after.series}, key=lambda one: (one.target, one.metric, one.labels)))
    first = len(before.ticks)
    parts = [(before, slice(0, first)), (after, slice(first, first + len(after.ticks)))]
    rows = {one: row for row, one in enumerate(series)}
    places = [[rows[one] for one in part.series] for part, _ in parts]
    shape = (len(series), first + len(after.ticks))
    old, new = (_gaps(part, own, len(series)) for (part, _), own in zip(parts, places, strict=True))
    ticks = np.concatenate((before.ticks, after.ticks))
    arrays = (np.empty(shape), np.empty(shape), np.empty(shape, dtype=bool))
    found = Frame(ticks, series, *arrays, np.fmax(old, new))
    for (part, columns), own in zip(parts, places, strict=True):
        for name, absent in (("values", np.nan), ("at_ms", np.nan), ("breaks", False)):
            _put(getattr(found, name)[:, columns], own, getattr(part, name), absent)
    for row in np.flatnonzero(np.abs(old - new) > 0).tolist():
        keep(found, row, np.repeat((old[row], new[row]), (first, len(after.ticks))))
    return found


def _put(into: Any, rows: list[int], values: Any, absent: float) -> None:
    """Write the rows of a part where they belong; `absent` into those that it does not have."""
    if rows == list(range(len(into))):
        into[:] = values
        return
    missing = sorted(set(range(len(into))).difference(rows))
    if missing:
        into[missing] = absent
    for row, line in zip(rows, values, strict=True):
        into[row] = line


def _gaps(part: Frame, rows: list[int], count: int) -> Floats:
    """`gap_ms` of all series, NaN of those that a part does not have."""
    found = np.full(count, np.nan)
    found[rows] = part.gap_ms
    return found
