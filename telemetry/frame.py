"""Frame: the one type between storage, arithmetic, pages and export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from telemetry.model import Series

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Frame:
    """Samples of several series on one axis of ticks.

    ticks: int64[tick], epoch milliseconds, strictly rising.
    series: the rows' identities.
    values: float64[series, tick]; NaN where there is no sample. Counters are unwrapped.
    at_ms: float64[series, tick]; instant at which a value was true, NaN where the target was not read.
    breaks: bool[series, tick]; True where the step into this sample crosses a restart, so no rate may.
    gap_ms: float64[series]; two samples further apart than this have a gap between them.
    """

    ticks: Ints
    series: tuple[Series, ...]
    values: Floats
    at_ms: Floats
    breaks: Bools
    gap_ms: Floats
    _index: dict[Series, int] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        shape = (len(self.series), len(self.ticks))
        assert self.values.shape == self.at_ms.shape == self.breaks.shape == shape, "a frame's arrays have one shape"

    def row(self, series: Series) -> int | None:
        """Position of a series, None when the frame does not hold it."""
        if not self._index:  # built on first use: most frames are never asked
            self._index.update({one: row for row, one in enumerate(self.series)})
        return self._index.get(series)

    def select(self, wanted: Callable[[Series], bool]) -> Frame:
        """The rows whose series are wanted."""
        return self.take([row for row, series in enumerate(self.series) if wanted(series)])

    def take(self, rows: Sequence[int]) -> Frame:
        """These rows, in this order."""
        index = np.asarray(rows, dtype=np.intp)
        series = tuple(self.series[row] for row in rows)
        return Frame(self.ticks, series, self.values[index], self.at_ms[index], self.breaks[index], self.gap_ms[index])

    def between(self, start_ms: float, end_ms: float) -> Frame:
        """The ticks of start ≤ tick ≤ end."""
        low = int(np.searchsorted(self.ticks, start_ms, side="left"))
        high = int(np.searchsorted(self.ticks, end_ms, side="right"))
        cut = slice(low, high)
        return Frame(
            self.ticks[cut],
            self.series,
            self.values[:, cut],
            self.at_ms[:, cut],
            self.breaks[:, cut],
            self.gap_ms,
        )

    def watched(self) -> Frame:
        """The ticks at which any of its targets was read: those of others say nothing here."""
        first = {series.target: row for row, series in reversed(list(enumerate(self.series)))}
        read = np.asarray(~np.isnan(self.at_ms[list(first.values())]).all(axis=0))
        if not read.all():  # of a target that has other series in another part of a joined frame, another row knows
            read[~read] = ~np.isnan(self.at_ms[:, ~read]).all(axis=0)
        if read.all():
            return self
        kept = self.values[:, read], self.at_ms[:, read], self.breaks[:, read]
        return Frame(self.ticks[read], self.series, kept[0], kept[1], kept[2], self.gap_ms)


@dataclass(frozen=True)
class Sheet:
    """Values of a frame alone, which is all that a chart of gauges needs: `ticks`, `series` and `values` as in it."""

    ticks: Ints
    series: tuple[Series, ...]
    values: Floats

    def between(self, start_ms: float, end_ms: float) -> Sheet:
        """The ticks of start ≤ tick ≤ end."""
        low, high = np.searchsorted(self.ticks, start_ms), np.searchsorted(self.ticks, end_ms, side="right")
        return Sheet(self.ticks[low:high], self.series, self.values[:, low:high])


def blank() -> Sheet:
    """A sheet of nothing."""
    return Sheet(np.zeros(0, np.int64), (), np.zeros((0, 0)))


def empty() -> Frame:
    """A frame of nothing."""
    none = np.zeros((0, 0))
    return Frame(np.zeros(0, np.int64), (), none, none, none.astype(bool), np.zeros(0))


def together(places: Ints) -> Ints | slice:
    """Places as a slice where they stand together, which is looked at without a copy."""
    count = len(places)
    if count and places[-1] - places[0] + 1 == count and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[0]) + count)
    return places
