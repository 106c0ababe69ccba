"""When output tokens came: the active windows that means are taken over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from telemetry.counters import active_windows, bad_steps
from telemetry.frame import Bools, Floats, Frame
from telemetry.phases import DECODING_MS


@dataclass(frozen=True, slots=True)
class Window:
    """From the tick of the last sample before the first increase to that of the last one; tokens that came in it.

    It may lie over gaps and restarts no longer than a pause; how fast tokens came tells `runs.decoding`.
    """

    start_ms: float
    end_ms: float
    tokens: float


def windows(tokens: Frame, start_ms: float, end_ms: float) -> list[Window]:
    """Active windows of start ≤ t ≤ end, of all rows together: pauses are only where no token came anywhere.

    tokens: counters of output tokens. Each row counts from its last sample at or before the start. What came over a
    gap or a restart makes no window: when it came nobody knows.
    """
    return merged(parts(tokens, start_ms, end_ms))


def parts(tokens: Frame, start_ms: float, end_ms: float) -> list[tuple[float, float, float]]:
    """(start, end, tokens) of each row's active windows, for `merged`; those of ranges that follow each other, of which
    each begins where the one before ends, are together those of the whole."""
    found: list[tuple[float, float, float]] = []
    high = int(np.searchsorted(tokens.ticks, end_ms, side="right"))
    low = int(np.searchsorted(tokens.ticks, start_ms, side="right"))
    for row, values in enumerate(tokens.values[:, :high]):
        before = np.flatnonzero(~np.isnan(values[:low]))
        first = int(before[-1]) if len(before) else low
        ticks, own = tokens.ticks[first:high].astype(np.float64), values[first:]
        bad = bad_steps(ticks, tokens.breaks[row, first:high], ~np.isnan(own), float(tokens.gap_ms[row]))
        found += active_windows(ticks, own, DECODING_MS, bad)
    return found


def merged(parts: Sequence[tuple[float, float, float]]) -> list[Window]:
    """Windows of several engines as those of all: what each gained is added, and pauses are those of all."""
    found: list[Window] = []
    for start, end, gained in sorted(parts):
        if found and start - found[-1].end_ms <= DECODING_MS:
            last = found[-1]
            found[-1] = Window(last.start_ms, max(last.end_ms, end), last.tokens + gained)
        else:
            found.append(Window(start, end, gained))
    return found


def within(instants: Floats, active: Sequence[Window]) -> Bools:
    """Which instants lie in an active window: bool, in the shape of the instants; NaN lies in none."""
    starts = np.array([one.start_ms for one in active])
    ends = np.array([one.end_ms for one in active])
    if not len(starts):
        return np.zeros(instants.shape, dtype=bool)
    place = np.searchsorted(starts, instants, side="right") - 1
    return np.asarray((place >= 0) & (instants <= ends[np.maximum(place, 0)]))
