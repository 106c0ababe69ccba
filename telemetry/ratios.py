"""Quotients of counters and gauges over trailing windows: Σ numerator ∕ Σ denominator, never a mean of quotients."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from telemetry import catalog
from telemetry.counters import increase, integral, trailing_increase
from telemetry.frame import Floats, Frame
from telemetry.model import Kind, Metric, Ratio, Series

SILENT_MS = 15_000
"""A series without a sample is "unknown", and makes a sum unknown, for this long; then it is an absence with a name
of its own, and sums go on without it."""

Key = Callable[[Series], Hashable]


def hold(values: Floats, gap_ms: Floats, ticks: Floats, limit_ms: float | None = None) -> Floats:
    """Values carried forward to ticks at which their target was not due, but not over a gap (or over `limit_ms`)."""
    held = values.copy()
    columns = np.arange(values.shape[1])
    for row in range(values.shape[0]):
        known = ~np.isnan(values[row])
        last = np.maximum.accumulate(np.where(known, columns, -1))
        age = ticks - ticks[np.maximum(last, 0)]
        limit = gap_ms[row] if limit_ms is None else limit_ms
        usable = (last >= 0) & (age <= limit)
        held[row] = np.where(usable, values[row][np.maximum(last, 0)], np.nan)
    return held


def total(values: Floats, ticks: Floats) -> Floats:
    """Sum over rows at each tick: float64[tick].

    Unknown while any row that had a value within SILENT_MS has none now; unknown where no row has one.
    """
    if not values.shape[0]:
        return np.full(values.shape[1], np.nan)
    known = ~np.isnan(values)
    columns = np.arange(values.shape[1])
    last = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    age = ticks - ticks[np.maximum(last, 0)]
    unknown = (~known & (last >= 0) & (age <= SILENT_MS)).any(axis=0)
    summed = np.where(known, values, 0.0).sum(axis=0)
    return np.where(unknown | ~known.any(axis=0), np.nan, summed)


def contribution(frame: Frame, window_ms: float) -> Floats:
    """What each series adds to a term at each tick: a counter its increase, a gauge its integral, over the window."""
    ticks = frame.ticks.astype(np.float64)
    gauges = np.array([_is_gauge(series.metric) for series in frame.series], dtype=bool)
    gained = np.full(frame.values.shape, np.nan)
    for chosen, change in ((~gauges, False), (gauges, True)):
        rows = np.flatnonzero(chosen)
        if len(rows):
            part = frame.take(rows.tolist())
            if window_ms <= 0:
                gained[rows] = part.values
            else:
                gained[rows] = trailing_increase(integral(part) if change else part, window_ms)
    return hold(gained, frame.gap_ms, ticks)


def _is_gauge(name: str) -> bool:
    return catalog.stored(name).kind is not Kind.COUNTER


def _names(terms: tuple[Metric, ...]) -> frozenset[str]:
    return frozenset(metric.name for metric in terms)


def stored_names(ratio: Ratio) -> frozenset[str]:
    """Names of the stored metrics a ratio is made of."""
    return _names(ratio.numerator) | _names(ratio.denominator)


def evaluate(ratio: Ratio, frame: Frame, key: Key, window_ms: float | None = None) -> dict[Hashable, Floats]:
    """A ratio at each tick of the frame, by group: {key(series): float64[tick]}.

    frame: the ratio's stored metrics, beginning at least one window before the first tick wanted.
    key: which group a series belongs to; series of both terms meet in a group when their keys are equal.
    window_ms: instead of the ratio's own window.
    """
    window = ratio.window_s * 1000.0 if window_ms is None else window_ms
    frame = _paired(ratio, frame)
    above = _by_group(frame, _names(ratio.numerator), key, window)
    if not ratio.denominator:
        return {group: _finish(ratio, values, np.full_like(values, window / 1000.0)) for group, values in above.items()}
    below = _by_group(frame, _names(ratio.denominator), key, window)
    return {group: _finish(ratio, values, below[group]) for group, values in above.items() if group in below}


def _paired(ratio: Ratio, frame: Frame) -> Frame:
    """Without the targets that offer only one side, where both sides come from the same kind of target."""
    if not ratio.denominator or ratio.numerator[0].scope is not ratio.denominator[0].scope:
        return frame
    sides = [_names(ratio.numerator), _names(ratio.denominator)]
    offered = [{series.target for series in frame.series if series.metric in side} for side in sides]
    both = offered[0] & offered[1]
    return frame.select(lambda series: series.target in both)


def _by_group(frame: Frame, names: frozenset[str], key: Key, window_ms: float) -> dict[Hashable, Floats]:
    part = frame.select(lambda series: series.metric in names)
    gained = contribution(part, window_ms)
    rows: dict[Hashable, list[int]] = {}
    for row, series in enumerate(part.series):
        rows.setdefault(key(series), []).append(row)
    ticks = part.ticks.astype(np.float64)
    return {group: total(gained[index], ticks) for group, index in rows.items()}


def _finish(ratio: Ratio, above: Floats, below: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = above / below * ratio.scale + ratio.offset
    return np.where(below > 0, quotient, np.nan)


def over(ratio: Ratio, frame: Frame, start_ms: float, end_ms: float) -> float:
    """One value of a ratio over a whole range: Σ numerator ∕ Σ denominator of all series; NaN if unknown.

    What happened in gaps is included. A ratio per second divides by the length of the range.
    """
    above = _sum_over(frame, ratio.numerator, start_ms, end_ms)
    below = _sum_over(frame, ratio.denominator, start_ms, end_ms) if ratio.denominator else (end_ms - start_ms) / 1000
    return float(_finish(ratio, np.array(above), np.array(below)))


def _sum_over(frame: Frame, terms: tuple[Metric, ...], start_ms: float, end_ms: float) -> float:
    names = _names(terms)
    part = frame.select(lambda series: series.metric in names)
    gauges = {metric.name for metric in terms if metric.kind is not Kind.COUNTER}
    summed = integral(part) if gauges else part
    gained = increase(summed, start_ms, end_ms)
    known = gained[~np.isnan(gained)]
    return float(known.sum()) if len(known) else float("nan")
