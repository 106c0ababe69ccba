"""Sums over the series of a frame as they are at a tick: of whole histories (`telemetry.ratios`) the last column alone.

What follows from the series alone, which rows are wanted and who belongs to which group, is worked out once: frames of
the same series follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from alerts.newest import now, recent
from telemetry import latest, ratios
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame
from telemetry.model import Fold, Ratio, Series

UNKNOWN = float("nan")


class Part:
    """Some rows of frames of the same series."""

    def __init__(self, series: Sequence[Series], wanted: Callable[[Series], bool]) -> None:
        rows = [row for row, one in enumerate(series) if wanted(one)]
        self._rows: npt.NDArray[np.intp] = np.array(rows, dtype=np.intp)
        self.series = tuple(series[row] for row in rows)

    def of(self, frame: Frame) -> Frame:
        """Those rows of one."""
        rows = self._rows
        every = (frame.values[rows], frame.at_ms[rows], frame.breaks[rows], frame.gap_ms[rows])
        return Frame(frame.ticks, self.series, *every)

    def stands(self, frame: Frame, tick: int) -> bool:
        """Whether their newest values hold at this tick: no gap lies between."""
        if not len(frame.ticks) or not len(self._rows):
            return False
        return bool(tick == frame.ticks[-1] or tick - frame.ticks[-1] <= np.min(frame.gap_ms[self._rows]))

    def total(self, frame: Frame, tick: int) -> float:
        """Sum of all at this tick, as `ratios.total` has it: unknown while one that was there lately is."""
        if not self.stands(frame, tick):
            return UNKNOWN
        values = self._now(frame)
        unknown = np.isnan(values)
        if unknown.any() and bool((unknown & recent(self.of(frame))).any()):
            return UNKNOWN
        if unknown.all():
            return UNKNOWN
        return float(np.add.reduceat(np.where(unknown, 0.0, values), (0,))[0])  # which rounds like sums of groups

    def mean(self, frame: Frame, tick: int) -> float:
        """Mean of those that are known at this tick."""
        if not self.stands(frame, tick):
            return UNKNOWN
        return float(fold(self._now(frame)[:, np.newaxis], Fold.MEAN)[0])

    def _now(self, frame: Frame) -> Floats:
        """The value of each."""
        if np.isnan(frame.at_ms[self._rows, -1]).any():
            return now(self.of(frame))
        return np.asarray(frame.values[self._rows, -1])


class Speeds:
    """Counters per second, of several ratios over the same window, by the groups of each."""

    def __init__(
        self,
        series: Sequence[Series],
        asked: Sequence[tuple[Ratio, ratios.Key]],
        wanted: Callable[[Series], bool] = lambda _: True,
    ) -> None:
        names = frozenset[str]().union(*(ratios.stored_names(ratio) for ratio, _ in asked))

        def mine(one: Series) -> bool:
            return one.metric in names and wanted(one)

        self._asked, self._part, self._steady = asked, Part(series, mine), latest.Steady(series, mine)
        self._rates = [latest.Rates(ratio, self._part.series, key) for ratio, key in asked]

    def at(self, frame: Frame, window_ms: float) -> list[list[float]]:
        """Of each ratio what its groups have at the last tick."""
        gained = self._steady.increase(frame, window_ms)
        if gained is None:
            part = self._part.of(frame)
            return [[*latest.ratio(ratio, part, key, window_ms).values()] for ratio, key in self._asked]
        return [rates.of(gained[rates.rows], window_ms).tolist() for rates in self._rates]


def largest(values: Iterable[float]) -> float:
    """The largest of what is known, unknown when nothing is."""
    return max((value for value in values if value == value), default=UNKNOWN)
