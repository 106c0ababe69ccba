"""Two frames that follow each other, as one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from telemetry.frame import Floats, Frame, Ints
from telemetry.gaps import keep
from telemetry.model import Series

ARRAYS = ("values", "at_ms", "breaks")


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
    ticks, gap_ms = np.concatenate((before.ticks, after.ticks)), np.fmax(old, new)
    if _adjoin(before, after):
        values, at_ms, breaks = (getattr(before, name).base for name in ARRAYS)
        found = Frame(ticks, series, values, at_ms, breaks, gap_ms)
    else:
        found = Frame(ticks, series, np.empty(shape), np.empty(shape), np.empty(shape, dtype=bool), gap_ms)
        for (part, columns), own in zip(parts, places, strict=True):
            for name, absent in zip(ARRAYS, (np.nan, np.nan, False), strict=True):
                _put(getattr(found, name)[:, columns], own, getattr(part, name), absent)
    for row in np.flatnonzero(np.abs(old - new) > 0).tolist():
        keep(found, row, np.repeat((old[row], new[row]), (first, len(after.ticks))))
    return found


def behind(before: Frame, ticks: Ints, series: Collection[Series]) -> Frame | None:
    """Arrays for the samples of these series that follow a frame, still to be filled, in the room that was left behind
    it: joined with it, neither is copied. None where there is no such room, or the frame lacks one of the series."""
    count = len(before.ticks)
    wide = [getattr(before, name).base for name in ARRAYS]
    shape = (len(before.series), count + len(ticks))
    if not len(ticks) or any(one is None or one.shape != shape for one in wide) or set(series) - set(before.series):
        return None
    values, at_ms, breaks = (one[:, count:] for one in wide)
    return Frame(ticks, before.series, values, at_ms, breaks, np.full(shape[0], np.nan))


def _adjoin(before: Frame, after: Frame) -> bool:
    """Whether the second was made by `behind` the first."""
    width = len(before.ticks) + len(after.ticks)
    of = [(getattr(before, name).base, getattr(after, name).base) for name in ARRAYS]
    return after.series is before.series and all(
        one is two and one is not None and one.shape[1] == width for one, two in of
    )


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
