"""Two frames that follow each other, as one."""

from __future__ import annotations

import numpy as np

from telemetry.frame import Frame


def joined(before: Frame, after: Frame) -> Frame:
    """Everything of both; all ticks of the first lie before those of the second.

    A series that only one of them has was not read in the other. What is a gap, the one says whose are longer: hours
    that were read less often than today are no row of gaps.
    """
    if not len(before.ticks) or not len(after.ticks):
        return after if not len(before.ticks) else before
    series = tuple(sorted({*before.series, *after.series}, key=lambda one: (one.target, one.metric, one.labels)))
    rows = {one: row for row, one in enumerate(series)}
    shape = (len(series), len(before.ticks) + len(after.ticks))
    values, at_ms, breaks = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    gap_ms = np.zeros(len(series))
    for frame, columns in ((before, slice(len(before.ticks))), (after, slice(len(before.ticks), None))):
        place = [rows[one] for one in frame.series]
        values[place, columns] = frame.values
        at_ms[place, columns] = frame.at_ms
        breaks[place, columns] = frame.breaks
        gap_ms[place] = np.maximum(gap_ms[place], frame.gap_ms)
    return Frame(np.concatenate((before.ticks, after.ticks)), series, values, at_ms, breaks, gap_ms)
