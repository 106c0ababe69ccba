"""A reading at every tick of a frame, group by group: what a replay of months is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from alerts.begins import value_at
from alerts.expression import QUANTILES, Reading
from alerts.grouping import Grouping
from telemetry import ratios
from telemetry.counters import trailing_total
from telemetry.fleet import fold
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Fold, Metric, Ratio, Series
from telemetry.percentiles import Labels, percentiles
from telemetry.rates import rate


def history(reading: Reading, part: Frame, grouping: Grouping, count: int) -> Floats:
    """Of the last `count` ticks: float64[group, tick]. part: the grouping's rows of a frame."""
    metric = reading.metric
    number = {id(series): int(group) for series, group in zip(part.series, grouping.group, strict=True)}

    def key(series: Series) -> int:
        return number[id(series)]

    if isinstance(metric, Ratio):
        over_ms = reading.window_s * 1000 if reading.how == "mean" else None
        return _rows(ratios.evaluate(metric, part, key, over_ms), grouping, count)
    if reading.how in QUANTILES:
        inside = slice(len(part.ticks) - count, None)
        group = cast(Callable[[Series], Labels], key)
        found = percentiles(metric, part, QUANTILES[reading.how], group, inside)
        return _rows({of: one.values for of, one in found.items()}, grouping, count)
    if reading.how == "rate":
        return _rows(ratios.evaluate(rate(metric), part, key, reading.window_s * 1000), grouping, count)
    return _folded(part, SERIES[reading.how](part, reading.window_s * 1000), metric, grouping, count)


def _rows(found: Mapping[object, Floats], grouping: Grouping, count: int) -> Floats:
    result = np.full((len(grouping.keys), count), np.nan)
    for group, values in found.items():
        result[cast(int, group)] = values[len(values) - count :]
    return result


def _folded(part: Frame, values: Floats, metric: Metric, grouping: Grouping, count: int) -> Floats:
    """Held values of series, folded into groups as the metric folds."""
    held = ratios.hold(values, part.gap_ms, part.ticks.astype(np.float64), ~np.isnan(part.at_ms))
    ticks, sampled = part.ticks.astype(np.float64), ~np.isnan(part.values)
    result = np.empty((len(grouping.keys), count))
    for group in range(len(grouping.keys)):
        rows = np.flatnonzero(grouping.group == group)
        found = _fold(held[rows], metric.across, ticks, sampled[rows])
        result[group] = found[len(found) - count :]
    return result


def _fold(held: Floats, how: Fold, ticks: Floats, sampled: Bools) -> Floats:
    if len(held) == 1:
        return cast(Floats, held[0])
    return ratios.total(held, ticks, sampled) if how is Fold.SUM else fold(held, how)


def _now(part: Frame, _: float) -> Floats:
    return part.values


def _extreme(function: np.ufunc) -> Callable[[Frame, float], Floats]:
    """Largest or smallest known value of each trailing window."""

    def over(part: Frame, window_ms: float) -> Floats:
        low = np.searchsorted(part.ticks, part.ticks - window_ms, side="right")
        pairs = np.column_stack((low, np.arange(1, len(part.ticks) + 1))).ravel()
        padded = np.concatenate((part.values, np.full((len(part.values), 1), np.nan)), axis=1)
        found = function.reduceat(padded, pairs, axis=1)[:, ::2] if len(part.ticks) else part.values
        return np.where(np.isnan(part.at_ms), np.nan, found)

    return over


def _mean(part: Frame, window_ms: float) -> Floats:
    """Mean of the known values of each trailing window."""
    low = np.searchsorted(part.ticks, part.ticks - window_ms, side="right")
    known = ~np.isnan(part.values)
    start = np.zeros((len(part.values), 1))
    sums = np.concatenate((start, np.cumsum(np.where(known, part.values, 0.0), axis=1)), axis=1)
    counts = np.concatenate((start, np.cumsum(known, axis=1)), axis=1)
    count = counts[:, 1:] - counts[:, low]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(known, (sums[:, 1:] - sums[:, low]) / count, np.nan)


def _change(part: Frame, window_ms: float) -> Floats:
    """Value now less the value at the window's start, interpolated there (`begins`); unknown where that is."""
    begin: Floats = np.asarray(part.ticks - window_ms, dtype=np.float64)
    return np.asarray(part.values - value_at(part, begin[np.newaxis, :], window_ms))


SERIES: Mapping[str, Callable[[Frame, float], Floats]] = {
    "now": _now,
    "min": _extreme(np.fmin),
    "max": _extreme(np.fmax),
    "mean": _mean,
    "change": _change,
    "increase": trailing_total,  # what happened in a gap has happened: an OOM kill stops the agent for seconds
}
"""How a reading is taken → float64[series, tick]."""
