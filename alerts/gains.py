"""What counters gained over windows that end at the last tick of a frame, of very many at once.

Nearly all series have every sample, one after the other without gap and restart. What is asked of their instants is the
same for all series of a target, which are read together, and so it is worked out once for each target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Series

Places = npt.NDArray[np.intp]


class Together:
    """Rows of frames that are asked for together. Whoever asks first at a tick has them worked out for all who asked
    before: many rows at once take hardly longer than few."""

    def __init__(self) -> None:
        self.rows: Places = np.zeros(0, dtype=np.intp)
        self._known: dict[int, Places] = {}

    def takes(self, rows: Places) -> bool:
        """Whether these were not among them; from now on they are. rows: an object that is asked for again."""
        if id(rows) in self._known:
            return False
        self._known[id(rows)] = rows  # which keeps it alive, so that no other has its identity
        self.rows = np.union1d(self.rows, rows)
        return True


@dataclass(frozen=True)
class Clocks:
    """first: the first row of each target. of: number of the target of each row."""

    first: Places
    of: Places


def clocks(series: Sequence[Series]) -> Clocks:
    """Whose instants the rows of a frame have."""
    numbers: dict[str, int] = {}
    of = np.array([numbers.setdefault(one.target, len(numbers)) for one in series], dtype=np.intp)
    return Clocks(np.unique(of, return_index=True)[1].astype(np.intp), of)


class Plain:
    """The series of a frame that have every sample from their target's first one in it on, without gap and restart, and
    what they gained.

    rows: bool[series].
    """

    def __init__(self, frame: Frame, clocks: Clocks) -> None:
        self._values, self._of = frame.values, clocks.of
        self._at, self._gap_ms = frame.at_ms[clocks.first], frame.gap_ms[clocks.first]
        read = ~np.isnan(self._at)
        self._first = read.argmax(axis=1) if len(frame.ticks) else np.zeros(len(read), dtype=np.intp)
        steps = np.diff(self._at, axis=1)
        steady = (steps > 0) & (steps <= self._gap_ms[:, np.newaxis])
        early = np.arange(steps.shape[1]) < self._first[:, np.newaxis]
        plain = (steady | early).all(axis=1) & (self._first < len(frame.ticks) - 1) & read.any(axis=1)
        missing = np.isnan(frame.values).sum(axis=1)
        self.rows: Bools = plain[self._of] & (missing == self._first[self._of])
        if frame.breaks.any():
            self.rows &= ~np.asarray(frame.breaks.any(axis=1))

    def gained(self, rows: Places, window_ms: float, *, whole: bool) -> Floats:
        """Increase of plain rows, as `newest.increase` (whole) or `newest.total` has it: float64[row]."""
        at, end = self._at, self._at[:, -1]
        begun = at[np.arange(len(at)), self._first]
        windows = np.full(len(at), window_ms) if whole else np.minimum(window_ms, end - begun)
        start = end - windows
        before = (at <= start[:, np.newaxis]).sum(axis=1)
        usable = before > 0
        left = self._first + np.maximum(before - 1, 0)
        right = np.minimum(left + 1, at.shape[1] - 1)
        target = np.arange(len(at))
        step = at[target, right] - at[target, left]
        if whole:
            rarely = windows < self._gap_ms / NOMINAL_PER_GAP
            usable &= ~(rarely & (step > windows))  # where the last step is longer, the window begins in it
        share = (start - at[target, left]) / np.maximum(step, 1e-9)
        share[~usable] = np.nan  # and so is all that follows from it
        return self._between(rows, left, right, share)

    def _between(self, rows: Places, left: Places, right: Places, share: Floats) -> Floats:
        """The last value less that between two columns of each target."""
        of = self._of[rows]
        below = self._values[rows, left[of]]
        above = self._values[rows, right[of]]
        return np.asarray(self._values[rows, -1] - ((above - below) * share[of] + below))
