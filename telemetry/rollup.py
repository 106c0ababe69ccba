"""Fewer points from many: an envelope of min, max and mean per bin, in which a one-tick spike survives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.frame import Bools, Floats, Ints


@dataclass(frozen=True)
class Envelope:
    """Bins of one or many series.

    t_ms: int64[bin], start of each bin; the others float64[series, bin], NaN where unknown. total, count: Σ and number
    of the known values.
    """

    t_ms: Ints
    minimum: Floats
    maximum: Floats
    mean: Floats
    last: Floats
    total: Floats
    count: Floats


SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
ROUND = (
    *(number * unit for unit in (1, 10, 100) for number in (1, 2, 5)),
    *(number * SECOND for number in (1, 2, 5, 10, 15, 20, 30)),
    *(number * MINUTE for number in (1, 2, 5, 10, 15, 20, 30)),
    *(number * HOUR for number in (1, 2, 3, 6, 12)),
    *(number * DAY for number in (1, 2, 5, 10, 20, 30, 60, 90, 180, 360)),
)
"""Widths, in ms, that read well. Those up to a day divide it, so that hours and days begin with a bin."""


def bins_of(start_ms: int, end_ms: int, points: int, step_ms: int) -> tuple[int, int]:
    """(origin, width) in ms of at most `points` bins that hold the closed range; a width is whole steps.

    It is the least one of ROUND that does, or a number of steps where none of those is whole steps and wide enough.
    Bins are aligned to the epoch, so that a range that moves on keeps those it has. A single bin begins where the range
    does: aligned ones could be split at any width.

    >>> bins_of(0, 599_000, 60, 1000)
    (0, 10000)
    >>> bins_of(5_000, 604_000, 60, 1000)
    (0, 15000)
    >>> bins_of(0, 599_000, 60, 7000)
    (0, 14000)
    """
    span = max(end_ms - start_ms, 0)
    if points <= 1:
        return start_ms, (span // step_ms + 1) * step_ms
    for width in ROUND:
        if width * points > span and width % step_ms == 0 and end_ms // width - start_ms // width < points:
            return 0, width
    tight = max(-(-span // (points * step_ms)), 1) * step_ms
    if end_ms // tight - start_ms // tight < points:
        return 0, tight
    return 0, max(-(-span // ((points - 1) * step_ms)), 1) * step_ms


def envelope(ticks: Ints, values: Floats, start_ms: int, width_ms: int, origin_ms: int = 0) -> Envelope:
    """Min, max, mean and last known value of each series in bins of `width_ms`, one of which begins at the origin.

    Bins without samples are NaN.
    The bins run from the one that holds `start_ms` to the one that holds the last tick.
    """
    t_ms, edges = slots(ticks, start_ms, width_ms, origin_ms)
    if not len(ticks):
        none = np.zeros((values.shape[0], 0))
        return Envelope(t_ms, none, none, none, none, none, none)
    known = known_in(values, edges)
    counts = counted(values.shape, known, edges)
    low, high, total = (folded(fold, values, known, edges, counts) for fold in ("min", "max", "sum"))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / counts
    count = np.broadcast_to(counts, low.shape).astype(np.float64)
    return Envelope(t_ms, low, high, mean, _last(values, known, edges, counts), total, count)


def known_in(values: Floats, edges: Ints) -> Bools | None:
    """Where values are known; None where all are, and no bin is empty: then nothing needs to be looked at twice."""
    whole = not np.isnan(values).any() and (np.diff(np.append(edges, values.shape[1])) > 0).all()
    return None if whole else ~np.isnan(values)


def slots(ticks: Ints, start_ms: int, width_ms: int, origin_ms: int = 0) -> tuple[Ints, Ints]:
    """(start of each bin, position of its first tick): the bins from that of `start_ms` to that of the last tick."""
    if not len(ticks):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = (start_ms - origin_ms) // width_ms
    bins = (int(ticks[-1]) - origin_ms) // width_ms - first + 1
    t_ms = (np.arange(bins, dtype=np.int64) + first) * width_ms + origin_ms
    return t_ms, np.searchsorted(ticks, t_ms)


def folded(fold: str, values: Floats, known: Bools | None, edges: Ints, counts: Ints) -> Floats:
    """ "min", "max" or "sum" of the known values of each bin: float64[series, bin], NaN where there is none.

    known: see `known_in`; counts: see `counted`.
    """
    filler, operation = _FOLDS[fold]
    if known is None:
        return np.asarray(operation.reduceat(values, edges, axis=1))
    padded = np.full((values.shape[0], values.shape[1] + 1), filler)
    np.copyto(padded[:, :-1], values, where=known)
    return np.where(counts > 0, operation.reduceat(padded, edges, axis=1), np.nan)


def counted(shape: tuple[int, ...], known: Bools | None, edges: Ints) -> Ints:
    """Known values of each bin: int64[series, bin], or one row that holds for all."""
    if known is None:
        return np.diff(np.append(edges, shape[1]))[np.newaxis, :]
    running = np.zeros((known.shape[0], known.shape[1] + 1), np.int64)
    np.cumsum(known, axis=1, dtype=np.int64, out=running[:, 1:])
    return np.asarray(running[:, np.append(edges[1:], known.shape[1])] - running[:, edges])


def _last(values: Floats, known: Bools | None, edges: Ints, counts: Ints) -> Floats:
    at_end = np.append(edges[1:], values.shape[1]) - 1
    if known is None:
        return np.asarray(values[:, at_end])
    newest = np.maximum.accumulate(np.where(known, np.arange(known.shape[1]), 0), axis=1)[:, at_end]
    return np.where(counts > 0, np.take_along_axis(values, newest, axis=1), np.nan)


_FOLDS: dict[str, tuple[float, np.ufunc]] = {
    "min": (np.inf, np.minimum),
    "max": (-np.inf, np.maximum),
    "sum": (0.0, np.add),
}
"""What stands for an unknown value, and how two become one. (Sums bin by bin: a difference of running sums would carry
the rounding of large values into bins of small ones.)"""
