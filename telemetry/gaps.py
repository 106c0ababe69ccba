"""Gaps of series that were not read equally often all the time: each stretch by its own interval."""

from __future__ import annotations

import numpy as np

from telemetry.frame import Floats, Frame


def keep(frame: Frame, row: int, own_ms: Floats) -> None:
    """Mark what is a gap of one series although its `gap_ms` is longer: as breaks, in the frame's own arrays.

    own_ms: float64[tick], what is a gap around a sample there. Of two neighbours that differ the longer counts.
    """
    known = np.flatnonzero(~np.isnan(frame.values[row]))
    own = own_ms[known]
    apart = np.diff(frame.at_ms[row, known])
    crossed = (apart > np.maximum(own[1:], own[:-1])) & (apart <= frame.gap_ms[row])
    frame.breaks[row, known[1:][crossed]] = True
