"""Fewer points from many: an envelope of min, max and mean per bin, in which a one-tick spike survives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.frame import Bools, Floats, Ints


@dataclass(frozen=True)
class Envelope:
    """Bins of one or many series.

    t_ms: int64[bin], start of each bin; the others float64[series, bin], NaN where unknown.
    """

    t_ms: Ints
    minimum: Floats
    maximum: Floats
    mean: Floats
    last: Floats


def bins_of(start_ms: int, end_ms: int, points: int, step_ms: int) -> tuple[int, int]:
    """(origin, width) in ms of at most `points` bins that hold the closed range; a width is whole steps.

    Bins are aligned to the epoch, so that a range that moves on keeps those it has; a range that lies badly needs wider
    ones then. A single bin begins where the range does: aligned ones could be split at any width.

    >>> bins_of(0, 599_000, 60, 1000)
    (0, 10000)
    >>> bins_of(5_000, 604_000, 60, 1000)
    (0, 11000)
    """
    span = max(end_ms - start_ms, 0)
    if points <= 1:
        return start_ms, (span // step_ms + 1) * step_ms
    tight = max(-(-span // (points * step_ms)), 1) * step_ms
    if end_ms // tight - start_ms // tight < points:
        return 0, tight
    return 0, max(-(-span // ((points - 1) * step_ms)), 1) * step_ms


def envelope(ticks: Ints, values: Floats, start_ms: int, width_ms: int, origin_ms: int = 0) -> Envelope:
    """Min, max, mean and last known value of each series in bins of `width_ms`, one of which begins at the origin.

    Bins without samples are NaN.
    The bins run from the one that holds `start_ms` to the one that holds the last tick.
    """
    ticks = ticks - origin_ms
    first = (start_ms - origin_ms) // width_ms
    if not len(ticks):
        none = np.zeros((values.shape[0], 0))
        return Envelope(np.zeros(0, np.int64), none, none, none, none)
    slot = ticks // width_ms - first
    bins = int(slot[-1]) + 1
    t_ms = (np.arange(bins, dtype=np.int64) + first) * width_ms + origin_ms
    edges = np.searchsorted(slot, np.arange(bins))
    low, high, mean = (_reduce(fold, values, edges) for fold in ("min", "max", "mean"))
    return Envelope(t_ms, low, high, mean, _last(values, edges))


def _reduce(fold: str, values: Floats, edges: Ints) -> Floats:
    known = ~np.isnan(values)
    counts = _count(known, edges)
    filler, operation = _FOLDS[fold]
    padded = np.concatenate((np.where(known, values, filler), np.full((values.shape[0], 1), filler)), axis=1)
    folded = operation.reduceat(padded, edges, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, folded / counts if fold == "mean" else folded, np.nan)


def _last(values: Floats, edges: Ints) -> Floats:
    known = ~np.isnan(values)
    newest = np.maximum.accumulate(np.where(known, np.arange(known.shape[1]), 0), axis=1)
    at_end = newest[:, np.append(edges[1:], known.shape[1]) - 1]
    return np.where(_count(known, edges) > 0, np.take_along_axis(values, at_end, axis=1), np.nan)


def _count(known: Bools, edges: Ints) -> Ints:
    running = np.zeros((known.shape[0], known.shape[1] + 1), np.int64)
    np.cumsum(known, axis=1, dtype=np.int64, out=running[:, 1:])
    return np.asarray(running[:, np.append(edges[1:], known.shape[1])] - running[:, edges])


_FOLDS: dict[str, tuple[float, np.ufunc]] = {
    "min": (np.inf, np.minimum),
    "max": (-np.inf, np.maximum),
    "mean": (0.0, np.add),
}
"""What stands for an unknown value, and how two become one. (Sums bin by bin: a difference of running sums would carry
the rounding of large values into bins of small ones.)"""
