"""Quantiles of histograms, many windows at once: the same rules as `histograms.quantile`, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from telemetry.frame import Bools, Floats
from telemetry.histograms import FEWEST_COMMON, INFINITE, NEEDED
from telemetry.model import Series

SIDES = {-1.0: "<", 0.0: "=", 1.0: ">"}
BELOW, BETWEEN, ABOVE = SIDES


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of one histogram: float64[column] each, a column being a tick or a bin.

    values: NaN where the window holds too few observations or is not wholly known. side: a key of SIDES, −1 below the
    first edge, 1 above the last, NaN without a value. count: observations in the window.
    """

    values: Floats
    side: Floats
    count: Floats


def together(buckets: Sequence[Series], gained: Floats, away: Bools) -> tuple[Floats, Floats]:
    """Cumulative increases of several histograms as those of one: (edges, rising; float64[edge, column]).

    buckets: series of buckets with their edge as label `le`. gained: float64[bucket, column], NaN for one that was not
    there for the whole window. An edge that is NaN says nothing there. Where histograms that observed something have
    different edges, only their common ones are summed; fewer than two finite ones say nothing, and all are NaN.
    away: bool[bucket, column]; a histogram whose +Inf is away does not take part. Of all others the sum needs +Inf.
    """
    parts: dict[Series, dict[float, int]] = {}
    for row, series in enumerate(buckets):
        labels = tuple(pair for pair in series.labels if pair[0] != "le")
        parts.setdefault(replace(series, labels=labels), {})[float(series.label("le") or "nan")] = row
    edges = sorted({edge for rows in parts.values() for edge in rows} | {INFINITE})
    if len(parts) == 1:
        (rows,) = parts.values()
        return np.array(edges), _filled(rows, edges, gained)
    cube = np.array([_filled(rows, edges, gained) for rows in parts.values()])
    gone = np.array([away[rows[INFINITE]] if INFINITE in rows else np.ones_like(away[0]) for rows in parts.values()])
    return np.array(edges), _common(cube, gone & np.isnan(cube[:, -1]))


def _filled(rows: dict[float, int], edges: Sequence[float], gained: Floats) -> Floats:
    if len(rows) == len(edges):
        return gained[[rows[edge] for edge in edges]]
    missing = np.full(gained.shape[1], np.nan)
    return np.array([gained[rows[edge]] if edge in rows else missing for edge in edges])


def _common(cube: Floats, gone: Bools) -> Floats:
    """Sum over histograms of float64[histogram, edge, column]; gone: bool[histogram, column]."""
    known, here = ~np.isnan(cube), ~gone
    observed = cube[:, -1] > 0
    observed = np.where(observed.any(axis=0), observed, here)[:, np.newaxis]
    common = (known | ~observed).all(axis=0)
    lost = (known & observed & ~common).any(axis=(0, 1))
    unknown = (here & ~known[:, -1]).any(axis=0) | ~here.any(axis=0) | (lost & (common.sum(axis=0) <= FEWEST_COMMON))
    summed = np.where(observed & known, cube, 0.0).sum(axis=0)
    return np.where(common & ~unknown, summed, np.nan)


def quantiles(edges: Floats, increases: Floats, q: float) -> Percentiles:
    """The q-quantile of each column where enough was observed.

    edges: rising, +Inf last. increases: cumulative, float64[edge, column], NaN for an edge that is not there.
    """
    count = increases[-1]
    needed = next((n for level, n in sorted(NEEDED.items()) if q <= level), max(NEEDED.values()))
    found = Percentiles(np.full(len(count), np.nan), np.full(len(count), np.nan), count)
    columns = np.flatnonzero(count >= needed)
    if len(columns) == len(count):
        return Percentiles(*_quantiles(edges, increases, q), count)
    if len(columns):
        found.values[columns], found.side[columns] = _quantiles(edges, increases[:, columns], q)
    return found


def _quantiles(edges: Floats, increases: Floats, q: float) -> tuple[Floats, Floats]:
    """Value and side of each column; +Inf is known in all."""
    # 0.07 × 100 is 7, not 7.000000000000001, and belongs to that bucket; a count of many digits is rounded up beyond
    # all there is.
    rank = np.minimum(np.round(q * increases[-1], 9), increases[-1])
    if (rank > 0).all() and not np.isnan(increases).any() and (increases[1:] >= increases[:-1]).all():
        hit = np.count_nonzero(increases < rank, axis=0)
        before = hit - 1
        reached = increases
    else:
        known = ~np.isnan(increases)
        reached = np.maximum.accumulate(np.where(known, increases, 0.0), axis=0)
        risen = np.diff(reached, axis=0, prepend=0.0) > 0
        hit = np.argmax(known & (reached >= rank) & risen, axis=0)
        places = np.arange(len(edges))[:, np.newaxis]
        before = np.where(known & (places < hit), places, -1).max(axis=0)
    columns = np.arange(len(rank))
    upper, lower = edges[hit], np.where(before >= 0, edges[before], np.nan)
    side = np.where(upper == INFINITE, ABOVE, np.where(before < 0, BELOW, BETWEEN))
    start, end = np.where(hit > 0, reached[hit - 1, columns], 0.0), reached[hit, columns]
    with np.errstate(invalid="ignore"):
        between = lower + (upper - lower) * (rank - start) / (end - start)
    value = np.select([side == ABOVE, side == BELOW], [lower, upper], np.round(between, 12))
    return value, np.where(np.isnan(value), np.nan, side)
