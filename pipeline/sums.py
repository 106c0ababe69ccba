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
from telemetry.frame import Floats, Frame, Ints
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


class Speeds:
    """Counters per second, of several ratios over the same window, by the groups of each."""

    def __init__(self, series: Sequence[Series], asked: Sequence[tuple[Ratio, ratios.Key]]) -> None:
        names = frozenset[str]().union(*(ratios.stored_names(ratio) for ratio, _ in asked))
        self._asked, self._part = asked, Part(series, lambda one: one.metric in names)
        self._rates = [latest.Rates(ratio, self._part.series, key) for ratio, key in asked]

    def at(self, frame: Frame, window_ms: float) -> list[list[float]]:
        """Of each ratio what its groups have at the last tick."""
        part = self._part.of(frame)
        gained = latest.regular_increase(part, window_ms)
        if gained is None:
            return [[*latest.ratio(ratio, part, key, window_ms).values()] for ratio, key in self._asked]
        return [rates.of(gained[rates.rows], window_ms).tolist() for rates in self._rates]


def stands(frame: Frame, tick: int) -> bool:
    """Whether the newest values hold at this tick: no gap lies between."""
    ticks: Ints = frame.ticks
    return bool(len(ticks) and len(frame.series)) and not tick - ticks[-1] > np.min(frame.gap_ms)


def total(part: Frame, tick: int) -> float:
    """Sum of all series at this tick, as `ratios.total` has it: unknown while one that was there lately is."""
    if not stands(part, tick):
        return UNKNOWN
    values = now(part)
    unknown = np.isnan(values)
    if unknown.any() and bool((unknown & recent(part)).any()):
        return UNKNOWN
    return _last(ratios.total(values[:, np.newaxis], part.ticks[-1:].astype(np.float64)))


def mean(part: Frame, tick: int) -> float:
    """Mean of those series that are known at this tick."""
    return _last(fold(now(part)[:, np.newaxis], Fold.MEAN)) if stands(part, tick) else UNKNOWN


def _last(values: Floats) -> float:
    return float(values[-1])


def largest(values: Iterable[float]) -> float:
    """The largest of what is known, unknown when nothing is."""
    return max((value for value in values if not np.isnan(value)), default=UNKNOWN)
