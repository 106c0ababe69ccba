"""Strip: a frame that slides on from tick to tick, where every target is read at every tick.

Putting samples of all targets together costs as much as reading the rules with them. Mostly only the newest column is
new; whatever else happens (a target that was not read, another layout, a restart) is for the window to put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Series

SPARE = 64
"""Columns that are there before they are needed; then all move into arrays of their own, so that what was given away
stays as it was."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was read of a target. series: of its values; the same object as long as its layout is the same."""

    tick: int
    at_ms: float
    series: tuple[Series, ...]
    values: Floats


class Tape:
    """The arrays of a frame without breaks, with room for columns that are still to come."""

    def __init__(self, frame: Frame) -> None:
        self._series, self._gap_ms = frame.series, frame.gap_ms
        self._hold(frame.ticks, frame.values, frame.at_ms)

    def _hold(self, ticks: Ints, values: Floats, at_ms: Floats) -> None:
        """Begin with these columns."""
        shape = (len(self._series), len(ticks) + SPARE)
        self._ticks = np.zeros(shape[1], np.int64)
        self._values, self._at_ms, self._breaks = np.empty(shape), np.empty(shape), np.zeros(shape, bool)
        self._low, self._end = 0, len(ticks)
        self._ticks[: self._end], self._values[:, : self._end], self._at_ms[:, : self._end] = ticks, values, at_ms

    @property
    def last_tick(self) -> int:
        """Tick of the last column; there must be one."""
        return int(self._ticks[self._end - 1])

    def append(self, tick: int, values: Floats | float, at_ms: Floats | float) -> None:
        """A column more."""
        if self._end == len(self._ticks):
            kept = slice(self._low, self._end)
            self._hold(self._ticks[kept], self._values[:, kept], self._at_ms[:, kept])
        self._ticks[self._end], self._values[:, self._end], self._at_ms[:, self._end] = tick, values, at_ms
        self._end += 1

    def write(self, tick: int, rows: slice, values: Floats, at_ms: float) -> bool:
        """Into some rows of the column of a tick; False where there is none."""
        column = int(self._ticks[: self._end].searchsorted(tick))
        if column == self._end or self._ticks[column] != tick:
            return False
        self._values[rows, column], self._at_ms[rows, column] = values, at_ms
        return True

    def begin(self, start_ms: float, *, before: bool = False) -> None:
        """Leave out what lies before a start. before: but not the last column of that."""
        low = int(self._ticks[: self._end].searchsorted(start_ms))
        self._low = max(self._low, low - 1 if before else low)

    def frame(self) -> Frame:
        """The columns from the start on: a view of them."""
        kept = slice(self._low, self._end)
        values, at_ms, breaks = self._values[:, kept], self._at_ms[:, kept], self._breaks[:, kept]
        return Frame(self._ticks[kept], self._series, values, at_ms, breaks, self._gap_ms)


class Strip:
    """The rows of some targets, one after the other as in a frame."""

    def __init__(self, frame: Frame, rows: Mapping[str, Row], wanted: frozenset[str]) -> None:
        """rows: of each target of the frame, in its order, one that is in it. wanted: metrics of the frame."""
        self._layouts = {target: row.series for target, row in rows.items()}
        every = [one for layout in self._layouts.values() for one in layout]
        self._places = np.array([place for place, one in enumerate(every) if one.metric in wanted], dtype=np.intp)
        own = [sum(one.metric in wanted for one in layout) for layout in self._layouts.values()]
        self._counts = np.array(own, dtype=np.intp)
        self.fits = tuple(every[place] for place in self._places.tolist()) == frame.series
        self._tape = Tape(frame)

    def next(self, tick: int, start_ms: float, rows: Mapping[str, Row]) -> Frame | None:
        """With a tick more, from the last one before the start on; None where it is not simply the next of all.

        rows: of all targets that are asked, what they said since the last tick.
        """
        if rows.keys() != self._layouts.keys() or tick <= self._tape.last_tick:
            return None
        mine = [rows[target] for target in self._layouts]
        if any(row.tick != tick or row.series is not self._layouts[target] for target, row in rows.items()):
            return None
        values = np.concatenate([row.values for row in mine])[self._places]
        self._tape.append(tick, values, np.repeat([row.at_ms for row in mine], self._counts))
        self._tape.begin(start_ms, before=True)
        return self._tape.frame()
