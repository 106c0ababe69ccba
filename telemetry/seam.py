"""Two frames that follow each other, as one."""

from __future__ import annotations

import numpy as np

from telemetry.frame import Frame
from telemetry.gaps import keep
from telemetry.model import Series


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
        before, after = _of(series, before), _of(series, after)
    found = Frame(
        np.concatenate((before.ticks, after.ticks)),
        series,
        np.concatenate((before.values, after.values), axis=1),
        np.concatenate((before.at_ms, after.at_ms), axis=1),
        np.concatenate((before.breaks, after.breaks), axis=1),
        np.fmax(before.gap_ms, after.gap_ms),
    )
    lengths = len(before.ticks), len(after.ticks)
    for row in np.flatnonzero(np.abs(before.gap_ms - after.gap_ms) > 0).tolist():
        keep(found, row, np.repeat((before.gap_ms[row], after.gap_ms[row]), lengths))
    return found


def _of(series: tuple[Series, ...], frame: Frame) -> Frame:
    """A frame with exactly these series, in this order; NaN, gap included, of those that it does not have."""
    if frame.series == series:
        return frame
    rows = {one: row for row, one in enumerate(series)}
    place = [rows[one] for one in frame.series]
    values, at_ms = (np.full((len(series), len(frame.ticks)), np.nan) for _ in range(2))
    breaks, gap_ms = np.zeros(values.shape, dtype=bool), np.full(len(series), np.nan)
    values[place], at_ms[place], breaks[place], gap_ms[place] = frame.values, frame.at_ms, frame.breaks, frame.gap_ms
    return Frame(frame.ticks, series, values, at_ms, breaks, gap_ms)
