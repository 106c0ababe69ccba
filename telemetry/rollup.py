"""Fewer points from many: an envelope of min, max and mean per bin, in which a one-tick spike survives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.frame import Floats, Ints


@dataclass(frozen=True)
class Envelope:
    """Bins of one or many series.

    t_ms: int64[bin], start of each bin; the others float64[series, bin], NaN where unknown.
    """

    t_ms: Ints
    minimum: Floats
    maximum: Floats
    mean: Floats


def bin_width(start_ms: int, end_ms: int, points: int, step_ms: int) -> int:
    """Width of a bin: the smallest whole multiple of the step with which the range needs no more than `points` bins.

    >>> bin_width(0, 600_000, 60, 1000)
    10000
    """
    span = max(end_ms - start_ms, step_ms)
    return max(1, -(-span // (max(points, 1) * step_ms))) * step_ms


def envelope(ticks: Ints, values: Floats, start_ms: int, width_ms: int) -> Envelope:
    """Min, max and mean of each series in bins of `width_ms` aligned to the epoch; bins without samples are NaN.

    The bins run from the one that holds `start_ms` to the one that holds the last tick.
    """
    first = start_ms // width_ms
    if not len(ticks):
        none = np.zeros((values.shape[0], 0))
        return Envelope(np.zeros(0, np.int64), none, none, none)
    slot = ticks // width_ms - first
    bins = int(slot[-1]) + 1
    t_ms = (np.arange(bins, dtype=np.int64) + first) * width_ms
    edges = np.searchsorted(slot, np.arange(bins))
    return Envelope(t_ms, *(_reduce(fold, values, edges) for fold in ("min", "max", "mean")))


def _reduce(fold: str, values: Floats, edges: Ints) -> Floats:
    known = ~np.isnan(values)
    counts = _add(known.astype(np.float64), edges)
    if fold == "mean":
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, _add(np.where(known, values, 0.0), edges) / counts, np.nan)
    filler, operation = (np.inf, np.minimum) if fold == "min" else (-np.inf, np.maximum)
    padded = np.concatenate((np.where(known, values, filler), np.full((values.shape[0], 1), filler)), axis=1)
    return np.where(counts > 0, operation.reduceat(padded, edges, axis=1), np.nan)


def _add(values: Floats, edges: Ints) -> Floats:
    running = np.concatenate((np.zeros((values.shape[0], 1)), np.cumsum(values, axis=1)), axis=1)
    ends = np.append(edges[1:], values.shape[1])
    return np.asarray(running[:, ends] - running[:, edges])
