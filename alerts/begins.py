"""What a gauge was at an instant between two of its samples: where a window began."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from telemetry.frame import Bools, Floats, Frame
from telemetry.ratios import last_known

Places = npt.NDArray[np.intp]


def value_at(frame: Frame, instants: Floats, window_ms: float) -> Floats:
    """The value of every series at instants, interpolated between the readings around each: float64[series, instant].

    instants: milliseconds, float64[series or 1, instant]. Unknown where the step between the two is a gap, or longer
    than the window that begins there: what happened in it may have happened outside. At a reading it is what was read.
    """
    count = len(frame.ticks)
    if not count:
        return np.full((len(frame.series), instants.shape[1]), np.nan)
    ticks = frame.ticks.astype(np.float64)
    begin = np.searchsorted(ticks, instants, side="right") - 1
    begin = np.broadcast_to(begin, (len(frame.series), instants.shape[1]))
    left, right = _around(~np.isnan(frame.at_ms), begin)
    there, after = left >= 0, right < count
    left, right = np.maximum(left, 0), np.minimum(right, count - 1)
    below, above = (np.take_along_axis(frame.values, at, axis=1) for at in (left, right))
    step, gone = ticks[right] - ticks[left], instants - ticks[left]
    near = after & (step <= np.minimum(frame.gap_ms, window_ms)[:, np.newaxis])
    between = below + (above - below) * (gone / np.maximum(step, 1.0))
    return np.where(gone == 0, below, np.where(there & near, between, np.nan))


def _around(read: Bools, begin: Places) -> tuple[Places, Places]:
    """Columns of the readings at or before columns, −1 where there is none, and after them, their count where none."""
    if read.all():
        return begin, begin + 1
    count = read.shape[1]
    before = last_known(read)
    after = count - 1 - last_known(read[:, ::-1])[:, ::-1]
    left = np.where(begin >= 0, np.take_along_axis(before, np.maximum(begin, 0), axis=1), -1)
    right = np.take_along_axis(after, np.minimum(begin + 1, count - 1), axis=1)
    return left, np.where(begin + 1 < count, right, count)
