"""Quotients from summaries of hours: Σ ∕ Σ over the bin of what each series gained, by the rules of `telemetry.ratios`.

An hour counts where both sides were certainly watched at the same time; else it is as if it were not there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry import ratios
from telemetry.frame import Bools, Floats
from telemetry.grid import TOLERANCE, Grid, alike, by_target, divided, largest, least, watched
from telemetry.model import Kind, Metric, Ratio
from telemetry.percentiles import Labels
from telemetry.query import Line, Query
from telemetry.summary import RATE_WINDOW_MS


@dataclass(frozen=True)
class Side:
    """What a side of a quotient gained in each hour, and over how long: float64[bin, hour], 0 where nothing is known.

    certain: bool[bin, hour]; whether the length is, and each target tells all metrics of the side for equally long.
    """

    gained: Floats
    length: Floats
    certain: Bools


def lines(query: Query, ratio: Ratio, grid: Grid) -> list[Line]:
    """A line for each group of series."""
    groups: dict[Labels, list[int]] = {}
    for row, series in enumerate(grid.series):
        groups.setdefault(query.group(series), []).append(row)
    found = [_line(ratio, key, grid.take(rows)) for key, rows in groups.items()]
    return [line for line in found if line is not None]


def _line(ratio: Ratio, key: Labels, grid: Grid) -> Line | None:
    above = grid.take(_rows(grid, ratio.numerator))
    below = grid.take(_rows(grid, ratio.denominator))
    if not above.series or (ratio.denominator and not below.series):
        return None
    mean = _quotient(ratio, above, below) if ratio.denominator else _per_second(ratio, above)
    low, high = _extremes(ratio, above)
    return Line(dict(key), grid.t_ms, None, low, high, mean, np.full(len(grid.t_ms), np.nan))


def _rows(grid: Grid, terms: tuple[Metric, ...]) -> list[int]:
    names = {metric.name for metric in terms}
    return [row for row, series in enumerate(grid.series) if series.metric in names]


def _per_second(ratio: Ratio, grid: Grid) -> Floats:
    """Gained per second watched; of a share of time, per second of each of its series."""
    if ratios.is_share(ratio):
        gained, seconds = np.nansum(grid.gain, axis=(0, 2)), np.nansum(grid.seconds, axis=(0, 2))
        return ratios.quotient(ratio, gained, seconds)
    side = _side(grid, ratio.numerator, grid.gain, np.nan_to_num(grid.seconds), grid.cap_s)
    return _divided(ratio, side.gained, side.length, side.certain & (side.length > 0))


def _quotient(ratio: Ratio, above: Grid, below: Grid) -> Floats:
    """Σ ∕ Σ of both sides. Of gauges of an instant, sums of values where all were read equally often in a bin."""
    by_time = _by_length(ratio, above, below, "gain", "seconds", above.cap_s)
    if ratio.window_s > 0:
        return by_time
    equal = alike(np.concatenate((above.count, below.count))).all(axis=1)
    return np.where(equal, _by_length(ratio, above, below, "total", "count", np.zeros_like(above.cap_s)), by_time)


def _by_length(ratio: Ratio, above: Grid, below: Grid, value: str, length: str, cap: Floats) -> Floats:
    same = ratio.numerator[0].scope is ratio.denominator[0].scope
    lengths = [np.nan_to_num(getattr(grid, length)) for grid in (above, below)]
    series = above.series + below.series
    if same:
        lengths = _paired(above, below, *lengths)
    one = _side(above, ratio.numerator, getattr(above, value), lengths[0], cap)
    other = _side(below, ratio.denominator, getattr(below, value), lengths[1], cap)
    if same:
        every = np.concatenate(lengths)
        together = np.array([alike(every[rows]) for rows in by_target(series).values()]).all(axis=0)
        together &= _complete(above, ratio.numerator, lengths[0]) & _complete(below, ratio.denominator, lengths[1])
    else:
        together = one.certain & other.certain & alike(np.stack((one.length, other.length)))
    both = np.maximum(one.length, other.length)
    gained, weighed = (divided(side.gained, side.length) * both for side in (one, other))
    return _divided(ratio, gained, weighed, together)


def _paired(above: Grid, below: Grid, *lengths: Floats) -> list[Floats]:
    """Without the hours in which a target offers only one side."""
    sides = [by_target(grid.series) for grid in (above, below)]
    kept = [np.zeros_like(each) for each in lengths]
    for target in sides[0].keys() & sides[1].keys():
        rows = [side[target] for side in sides]
        both = np.logical_and(*(np.asarray((lengths[at][rows[at]] > 0).any(axis=0)) for at in (0, 1)))
        for at in (0, 1):
            kept[at][rows[at]] = np.where(both, lengths[at][rows[at]], 0.0)
    return kept


def _side(grid: Grid, terms: tuple[Metric, ...], values: Floats, lengths: Floats, cap: Floats) -> Side:
    """A series that was watched for the whole of the time, but for a step, counts as if for all of it."""
    length, certain = watched(grid.series, lengths, cap)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.where(lengths >= (1 - TOLERANCE) * length, values * (length / lengths), values)
    gained = np.where(lengths > 0, whole, 0.0).sum(axis=0)
    return Side(gained, length, certain & _complete(grid, terms, lengths))


def _complete(grid: Grid, terms: tuple[Metric, ...], lengths: Floats) -> Bools:
    """Where no target has some of a side's metrics without the others, or for a shorter time: bool[bin, hour]."""
    whole = np.ones(lengths.shape[1:], dtype=bool)
    if len(terms) == 1:
        return whole
    for rows in by_target(grid.series).values():
        names = [
            np.array([row for row in rows if grid.series[row].metric == term.name], dtype=np.intp) for term in terms
        ]
        there = np.array([(lengths[some] > 0).any(axis=0) for some in names])
        whole &= (there.all(axis=0) | ~there.any(axis=0)) & alike(lengths[rows])
    return whole


def _divided(ratio: Ratio, above: Floats, below: Floats, counts: Bools) -> Floats:
    """The quotient of each bin, of the hours that count."""
    counts = counts & ~np.isnan(above + below)
    sums = [np.where(counts, side, 0.0).sum(axis=1) for side in (above, below)]
    return ratios.quotient(ratio, *sums)


def has_extremes(ratio: Ratio) -> bool:
    """Whether a ratio is the rate that is kept of a counter, where that is alone in its group."""
    return (
        len(ratio.numerator) == 1
        and ratio.numerator[0].kind is Kind.COUNTER
        and not ratio.denominator
        and ratio.window_s * 1000 == RATE_WINDOW_MS
    )


def _extremes(ratio: Ratio, grid: Grid) -> tuple[Floats, Floats]:
    """Least and largest value, where they are those of the kept rates: of a counter alone in its group for a bin."""
    if not has_extremes(ratio):
        return np.full(len(grid.t_ms), np.nan), np.full(len(grid.t_ms), np.nan)
    alone = ((grid.count > 0).sum(axis=0) <= 1).all(axis=1)
    low, high = least(least(grid.minimum), 0), largest(largest(grid.maximum), 0)
    return tuple(np.where(alone, one * ratio.scale + ratio.offset, np.nan) for one in (low, high))  # type: ignore[return-value]
