"""The newest value of ratios, as `ratios.evaluate` would give it, without the work for all the ticks before."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from telemetry import ratios
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Kind, Metric, Ratio, Series

Places = npt.NDArray[np.intp]
SHORTEST_MS = 5_000.0
"""Of a young history a window is as long as what there is, but no shorter than this."""


def ratio(
    wanted: Ratio, frame: Frame, key: ratios.Key, window_ms: float | None = None, *, young: bool = False
) -> dict[Hashable, float]:
    """Value of a ratio at the last tick of the frame, by group; the frame begins a window and SILENT_MS before it.

    young: while fewer samples than a window exist, take it over those there are (`young_window`). Quotients of one
    page's counters always are, since what cuts one side cuts the other.

    Of counters that were read regularly all is known from two places in each row; anything else (a gap, a restart, a
    missing sample, a gauge) goes the long way through `ratios.evaluate`.
    """
    window = wanted.window_s * 1000.0 if window_ms is None else window_ms
    terms = (*wanted.numerator, *wanted.denominator)
    part = ratios.paired(wanted, _of(terms, frame))
    if not part.series or not len(part.ticks):
        return {}
    counters = window > 0 and all(term.kind is Kind.COUNTER for term in terms) and not ratios.is_share(wanted)
    if ratios.same_page(wanted):
        short = counters and regular_increase(part, window) is not None
    else:
        window = young_window(part, window) if young else window
        short = counters
    if not short:
        return {group: float(values[-1]) for group, values in ratios.evaluate(wanted, part, key, window).items()}
    return _from_sides(wanted, part, key, window)


def _of(terms: tuple[Metric, ...], frame: Frame) -> Frame:
    names = {term.name for term in terms}
    if all(series.metric in names for series in frame.series):
        return frame
    return frame.select(lambda series: series.metric in names)


def young_window(frame: Frame, window_ms: float) -> float:
    """The window, or as much of it as there are samples for while watching has just begun."""
    known = ~np.isnan(frame.values)
    rows = np.flatnonzero(known.any(axis=1))
    if window_ms <= SHORTEST_MS or not len(rows):
        return window_ms
    first = np.argmax(known[rows], axis=1)
    last = known.shape[1] - 1 - np.argmax(known[rows][:, ::-1], axis=1)
    began, ended = frame.at_ms[rows, first], frame.at_ms[rows, last]
    if float(np.max(ended)) - float(np.min(began)) >= window_ms:
        return window_ms
    together_with_first = frame.ticks[first] - np.min(frame.ticks[first]) <= frame.gap_ms[rows]
    return max(float(np.min((ended - began)[together_with_first])), SHORTEST_MS)


def _from_sides(wanted: Ratio, part: Frame, key: ratios.Key, window_ms: float) -> dict[Hashable, float]:
    above = _gained(wanted.numerator, part, key, window_ms)
    if wanted.denominator:
        below = _gained(wanted.denominator, part, key, window_ms)
    else:
        below = dict.fromkeys(above, window_ms / 1000.0)
    groups = [group for group in above if group in below]
    sides = (np.array([side[group] for group in groups], dtype=np.float64) for side in (above, below))
    return dict(zip(groups, ratios.quotient(wanted, *sides).tolist(), strict=True))


def _gained(terms: tuple[Metric, ...], part: Frame, key: ratios.Key, window_ms: float) -> dict[Hashable, float]:
    """Sum of the increases of one side over the window that ends at the last tick, by group."""
    side = _of(terms, part)
    increases = regular_increase(side, window_ms)
    if increases is None:
        return {group: float(values[-1]) for group, values in ratios.side(terms, side, key, window_ms).items()}
    sums: dict[Hashable, float] = {}
    offered: dict[tuple[Hashable, str], set[str]] = {}
    for series, gained in zip(side.series, increases.tolist(), strict=True):
        group = key(series)
        sums[group] = sums.get(group, 0.0) + gained
        offered.setdefault((group, series.target), set()).add(series.metric)
    for (group, _), metrics in offered.items():
        if metrics != {term.name for term in terms}:  # a target that has one of the terms without the others
            sums[group] = float("nan")
    return sums


def regular_increase(frame: Frame, window_ms: float) -> Floats | None:
    """Increase of each counter over the window that ends at the last tick: float64[series].

    None unless every series has every sample of the window and one before it, without gap or restart, and the window
    is not shorter than the nominal interval: then `counters.trailing_increase` must judge.
    """
    if not len(frame.series) or len(frame.ticks) < 2:
        return None
    left = _begins(frame.at_ms, frame.gap_ms, window_ms)
    if left is None:
        return None
    low = int(np.min(left))
    values = frame.values[:, low:]
    if np.isnan(values).any() or frame.breaks[:, low + 1 :].any() or not _is_steady(frame.at_ms, frame.gap_ms, low):
        return None
    rows = np.arange(len(left))
    return _interpolated(frame.at_ms[:, low:], values, frame.at_ms[:, -1] - window_ms, left - low, rows)


def _begins(at_ms: Floats, gap_ms: Floats, window_ms: float) -> Places | None:
    """Column at or before the start of the window that ends with the last one: int[row]. None where a row has none, or
    is read too rarely for the window."""
    start = at_ms[:, -1] - window_ms
    left: Places = np.sum(at_ms <= start[:, np.newaxis], axis=1) - 1
    if np.isnan(start).any() or (left < 0).any() or (window_ms < gap_ms / NOMINAL_PER_GAP).any():
        return None
    return left


def _is_steady(at_ms: Floats, gap_ms: Floats, low: int) -> bool:
    """Whether every row was read at every tick from column `low` on, without a gap between.

    Nothing may be missing before that either: a place in a row is counted from its beginning.
    """
    apart = np.diff(at_ms[:, low:], axis=1)
    usual = (apart > 0) & (apart <= gap_ms[:, np.newaxis])
    return bool(usual.all() and not np.isnan(at_ms[:, :low]).any())


def _interpolated(at_ms: Floats, values: Floats, start: Floats, left: Places, of: Places) -> Floats:
    """Last value less that at the start, of each row. of: int[row], the row of the instants, starts and columns left of
    them."""
    clocks, rows = np.arange(len(left)), np.arange(len(of))
    right = np.minimum(left + 1, values.shape[1] - 1)
    width = np.maximum(at_ms[clocks, right] - at_ms[clocks, left], 1e-9)
    share = (start - at_ms[clocks, left]) / width
    below, above = values[rows, left[of]], values[rows, right[of]]
    return np.asarray(values[:, -1] - below - (above - below) * share[of])


class Steady:
    """Counters of frames with the same series, in which a target's series are all read together: what is asked of their
    instants is asked once for each target.

    rows: int[row], of the counters in such a frame.
    """

    def __init__(self, series: Sequence[Series], wanted: Callable[[Series], bool]) -> None:
        self.rows: Places = np.array([row for row, one in enumerate(series) if wanted(one)], dtype=np.intp)
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(series[row].target, len(numbers)) for row in self.rows.tolist()]
        self._of: Places = np.array(of, dtype=np.intp)
        self._first: Places = self.rows[np.unique(self._of, return_index=True)[1]]

    def increase(self, frame: Frame, window_ms: float) -> Floats | None:
        """`regular_increase` of these rows."""
        if not len(self.rows) or len(frame.ticks) < 2:
            return None
        at_ms, gap_ms = frame.at_ms[self._first], frame.gap_ms[self._first]
        left = _begins(at_ms, gap_ms, window_ms)
        if left is None:
            return None
        low = int(np.min(left))
        values = frame.values[:, low:][self.rows]
        if np.isnan(values).any() or not _is_steady(at_ms, gap_ms, low):
            return None
        if frame.breaks[:, low + 1 :].any() and frame.breaks[:, low + 1 :][self.rows].any():
            return None
        return _interpolated(at_ms[:, low:], values, at_ms[:, -1] - window_ms, left - low, self._of)


class Rates:
    """Counters per second by group, as `ratio` has them, of many frames with the same series: who belongs to which
    group is worked out once. wanted: a ratio without denominator.

    rows: int[row], of the counters in such a frame.
    """

    def __init__(self, wanted: Ratio, series: Sequence[Series], key: ratios.Key) -> None:
        assert ratios.is_per_second(wanted), "others have two sides, or other windows"
        self._wanted, names = wanted, ratios.stored_names(wanted)
        rows = [row for row, one in enumerate(series) if one.metric in names]
        self.rows: Places = np.array(rows, dtype=np.intp)
        numbers: dict[Hashable, int] = {}
        group = [numbers.setdefault(key(series[row]), len(numbers)) for row in rows]
        self._group: Places = np.array(group, dtype=np.intp)
        offered: dict[tuple[int, str], set[str]] = {}
        for row, number in zip(rows, group, strict=True):
            offered.setdefault((number, series[row].target), set()).add(series[row].metric)
        partial = {number for (number, _), metrics in offered.items() if metrics != names}
        self._partial: Bools = np.array([number in partial for number in range(len(numbers))], dtype=bool)

    def of(self, gained: Floats, window_ms: float) -> Floats:
        """Each group's rate; unknown where a target has one of the terms without the others: float64[group].

        gained: float64[row], increases of the rows over the window.
        """
        counted = np.bincount(self._group, weights=gained, minlength=len(self._partial))
        summed: Floats = np.asarray(counted, dtype=np.float64)
        summed[self._partial] = np.nan
        return ratios.quotient(self._wanted, summed, np.full(len(summed), window_ms / 1000.0))
