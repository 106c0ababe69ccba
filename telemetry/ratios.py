"""Quotients of counters and gauges over trailing windows: Σ numerator ∕ Σ denominator, never a mean of quotients."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from telemetry import catalog
from telemetry.counters import alike, increase, integral, trailing_increase, trailing_total
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Kind, Metric, Ratio, Series, Unit

SILENT_MS = 15_000
"""A series without a sample is "unknown", and makes a sum unknown, for this long; then it is an absence with a name
of its own, and sums go on without it."""

Key = Callable[[Series], Hashable]


def hold(values: Floats, gap_ms: Floats, ticks: Floats, read: Bools | None = None) -> Floats:
    """Values carried forward to ticks at which their target was not due, but not over a gap.

    read: bool[series, tick]; where the target was read, so that what it did not say then is unknown from there on.
    Without it a target counts as read where it has a value.
    """
    known = ~np.isnan(values) if read is None else read
    if known.all():
        return values
    last = last_known(known)
    usable = (last >= 0) & (ticks - ticks[np.maximum(last, 0)] <= gap_ms[:, np.newaxis])
    return np.asarray(np.where(usable, np.take_along_axis(values, np.maximum(last, 0), axis=1), np.nan))


def last_known(known: Bools) -> npt.NDArray[np.intp]:
    """Column of the newest known sample at or before each column, −1 before the first: intp[series, tick]."""
    columns = np.arange(known.shape[1], dtype=np.intp)
    return np.asarray(np.maximum.accumulate(np.where(known, columns, -1), axis=1), dtype=np.intp)


def total(values: Floats, ticks: Floats, sampled: Bools | None = None) -> Floats:
    """Sum over rows at each tick: float64[tick].

    Unknown while any row that was sampled within SILENT_MS has no value now; unknown where no row has one.
    sampled: see `totals`.
    """
    if not values.shape[0]:
        return np.full(values.shape[1], np.nan)
    return np.asarray(totals(values, ticks, np.zeros(values.shape[0], np.intp), sampled)[0])


def totals(values: Floats, ticks: Floats, group: npt.NDArray[np.intp], sampled: Bools | None = None) -> Floats:
    """Sums like `total`, a row per group: float64[group, tick]. group: intp[series], numbers from 0 without holes.

    sampled: bool[series, tick]; where a series has a sample, whether or not a value follows from it (its window touches
    a gap or a restart): the sum is unknown there too. Without it, where the row has a value.
    """
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(int(np.max(group)) + 1))
    if len(starts) == len(order):
        return values[order]
    known = ~np.isnan(values)
    last = last_known(known if sampled is None else sampled)
    unknown = ~known & (last >= 0) & (ticks - ticks[np.maximum(last, 0)] <= SILENT_MS)
    summed = np.add.reduceat(np.where(known, values, 0.0)[order], starts, axis=0)
    spoiled = np.logical_or.reduceat(unknown[order], starts, axis=0)
    some = np.logical_or.reduceat(known[order], starts, axis=0)
    return np.where(spoiled | ~some, np.nan, summed)


def contribution(frame: Frame, window_ms: float, *, whole: bool = True) -> Floats:
    """What each series adds to a term at each tick: a counter its increase, a gauge its integral, over the window.

    whole: the window must have been watched from end to end; else a counter adds what was seen of it.
    """
    ticks = frame.ticks.astype(np.float64)
    gauges = np.array([is_gauge(series.metric) for series in frame.series], dtype=bool)
    if gauges.all() or not gauges.any():
        gained = _over(frame, window_ms, change=bool(gauges.any()), whole=whole)
        return hold(gained, frame.gap_ms, ticks, read=~np.isnan(frame.at_ms))
    gained = np.full(frame.values.shape, np.nan)
    for chosen, change in ((~gauges, False), (gauges, True)):
        rows = np.flatnonzero(chosen)
        gained[rows] = _over(frame.take(rows.tolist()), window_ms, change=change, whole=whole)
    return hold(gained, frame.gap_ms, ticks, read=~np.isnan(frame.at_ms))


def _over(part: Frame, window_ms: float, *, change: bool, whole: bool) -> Floats:
    """Contributions of counters, or of gauges (change), over a window; their values where there is none."""
    if window_ms <= 0:
        return part.values
    counted = integral(part) if change else part
    return trailing_increase(counted, window_ms) if whole else trailing_total(counted, window_ms)


def is_gauge(name: str) -> bool:
    """Whether a stored metric of this name is no counter."""
    return catalog.stored(name).kind is not Kind.COUNTER


def _of(frame: Frame, names: frozenset[str]) -> Frame:
    """The rows of these metrics; the frame itself where those are all."""
    rows = [row for row, series in enumerate(frame.series) if series.metric in names]
    return frame if len(rows) == len(frame.series) else frame.take(rows)


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
    found = sides(ratio, frame, key, window_ms)
    return {group: quotient(ratio, above, below) for group, (above, below) in found.items()}


def sides(
    ratio: Ratio, frame: Frame, key: Key, window_ms: float | None = None
) -> dict[Hashable, tuple[Floats, Floats]]:
    """What `evaluate` divides: Σ numerator and Σ denominator at each tick, by group. Both add up over ticks."""
    window = ratio.window_s * 1000.0 if window_ms is None else window_ms
    frame = paired(ratio, frame)
    whole = not same_page(ratio)
    above = side(ratio.numerator, frame, key, window, whole=whole)
    if is_share(ratio):
        watched = _watched(ratio, frame, key, window)
        return {group: (values, watched[group]) for group, values in above.items()}
    if not ratio.denominator:
        return {group: (values, np.full_like(values, window / 1000.0)) for group, values in above.items()}
    below = side(ratio.denominator, frame, key, window, whole=whole)
    return {group: (values, below[group]) for group, values in above.items() if group in below}


def is_share(ratio: Ratio) -> bool:
    """Whether a ratio is a share of time: of several series it is the mean, since each has its own seconds."""
    return not ratio.denominator and ratio.unit is Unit.RATIO


def is_per_second(ratio: Ratio) -> bool:
    """Whether a ratio divides by the seconds of its window, as many for every group."""
    return not ratio.denominator and not is_share(ratio)


def _watched(ratio: Ratio, frame: Frame, key: Key, window_ms: float) -> dict[Hashable, Floats]:
    """Seconds of all series of a share of time whose contribution is known, at each tick, by group."""
    names = _names(ratio.numerator)
    part = frame.select(lambda series: series.metric in names)
    spent: dict[Hashable, Floats] = {}
    for series, known in zip(part.series, ~np.isnan(contribution(part, window_ms)), strict=True):
        spent[key(series)] = spent.get(key(series), np.zeros(len(known))) + known * window_ms / 1000.0
    return spent


def same_page(ratio: Ratio) -> bool:
    """Whether both sides are counters of one page: then a gap, a restart or a late start cuts both alike, and they
    are taken over what was seen of the window."""
    terms = (*ratio.numerator, *ratio.denominator)
    counters = all(term.kind is Kind.COUNTER for term in terms)
    return bool(ratio.denominator) and counters and len({term.scope for term in terms}) == 1


def paired(ratio: Ratio, frame: Frame) -> Frame:
    """Without the targets that offer only one side, where both sides come from the same kind of target."""
    if not ratio.denominator or ratio.numerator[0].scope is not ratio.denominator[0].scope:
        return frame
    sides = [_names(ratio.numerator), _names(ratio.denominator)]
    above, below = ({series.target for series in frame.series if series.metric in names} for names in sides)
    return frame if above == below else frame.select(lambda series: series.target in above & below)


def side(
    terms: tuple[Metric, ...], frame: Frame, key: Key, window_ms: float, *, whole: bool = True
) -> dict[Hashable, Floats]:
    """Σ of the terms' contributions at each tick, by group. whole: see `contribution`."""
    names = _names(terms)
    part = _of(frame, names)
    if not len(part.series):
        return {}
    numbers: dict[Hashable, int] = {}
    group = np.array([numbers.setdefault(key(series), len(numbers)) for series in part.series], dtype=np.intp)
    metrics = [frozenset((series.metric,)) for series in part.series]
    if window_ms > 0 and all(metric.kind is Kind.COUNTER for metric in terms):
        part, group, metrics = _merged(part, group)
    gained, ticks = contribution(part, window_ms, whole=whole), part.ticks.astype(np.float64)
    summed = totals(gained, ticks, group, sampled=~np.isnan(part.values))
    if len(names) > 1:
        summed[_partial(part, metrics, ~np.isnan(gained), group, names)] = np.nan
    return {name: summed[number] for name, number in numbers.items()}


def _merged(part: Frame, group: npt.NDArray[np.intp]) -> tuple[Frame, npt.NDArray[np.intp], list[frozenset[str]]]:
    """Counters of a group that share all samples and breaks as their sum, whose increase is the sum of theirs; the
    group, and the metrics, of each row."""
    rows: list[list[int]] = []
    for same in alike(part):
        by_group: dict[int, list[int]] = {}
        for row in same:
            by_group.setdefault(int(group[row]), []).append(row)
        rows += by_group.values()
    metrics = [frozenset(part.series[row].metric for row in some) for some in rows]
    if len(rows) == len(part.series):
        return part, group, [frozenset((series.metric,)) for series in part.series]
    merged = part.take([some[0] for some in rows])
    for row, some in enumerate(rows):
        if len(some) > 1:
            np.sum(part.values[some], axis=0, out=merged.values[row])
    return merged, group[[some[0] for some in rows]], metrics


def _partial(
    part: Frame, metrics: list[frozenset[str]], known: Bools, group: npt.NDArray[np.intp], names: frozenset[str]
) -> Bools:
    """Where a target has some of a side's metrics without the others, so that their sum is none: bool[group, tick]."""
    spoiled = np.zeros((int(np.max(group)) + 1, known.shape[1]), dtype=bool)
    terms: dict[tuple[int, str], dict[str, list[int]]] = {}
    for row, series in enumerate(part.series):
        for name in metrics[row]:
            terms.setdefault((int(group[row]), series.target), {}).setdefault(name, []).append(row)
    for (number, _), rows in terms.items():
        if len(rows) == len(names) and len({tuple(some) for some in rows.values()}) == 1:
            continue  # the same rows tell of all
        here = np.array([known[index].any(axis=0) for index in rows.values()])
        spoiled[number] |= here.any(axis=0) & (here.sum(axis=0) < len(names))
    return spoiled


def quotient(ratio: Ratio, above: Floats, below: Floats) -> Floats:
    """The ratio of two sums; NaN where either is unknown or the lower one is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = above / below
    if ratio.scale != 1:
        found *= ratio.scale
    if ratio.offset != 0:
        found += ratio.offset
    positive = below > 0
    return found if positive.all() else np.where(positive, found, np.nan)


def over(ratio: Ratio, frame: Frame, start_ms: float, end_ms: float) -> float:
    """One value of a ratio over a whole range: Σ numerator ∕ Σ denominator of all series; NaN if unknown.

    What happened in gaps is included. A ratio per second divides by the length of the range.
    """
    above = _sum_over(frame, ratio.numerator, start_ms, end_ms)
    below = _sum_over(frame, ratio.denominator, start_ms, end_ms) if ratio.denominator else (end_ms - start_ms) / 1000
    return float(quotient(ratio, np.array(above), np.array(below)))


def _sum_over(frame: Frame, terms: tuple[Metric, ...], start_ms: float, end_ms: float) -> float:
    names = _names(terms)
    part = frame.select(lambda series: series.metric in names)
    gauges = {metric.name for metric in terms if metric.kind is not Kind.COUNTER}
    summed = integral(part) if gauges else part
    gained = increase(summed, start_ms, end_ms)
    known = gained[~np.isnan(gained)]
    return float(known.sum()) if len(known) else float("nan")
