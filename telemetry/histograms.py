"""Percentiles of a stated window, from bucket increases, with their count (never since the server started)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from telemetry.counters import increase
from telemetry.frame import Frame

NEEDED = {0.5: 10, 0.95: 60, 0.99: 300}
"""Observations below which a percentile says nothing and the mean stands in its place."""

WINDOW_REQUESTS = 100
WINDOW_MIN_MS = 300_000
WINDOW_MAX_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A percentile or mean of a window.

    value: seconds or tokens, None when nothing was observed.
    relation: "=" for an estimate, "<" below the first edge, ">" above the last one.
    kind: "percentile" or "mean".
    count: observations it rests on.
    """

    value: float | None
    relation: str
    kind: str
    count: float


NOTHING = Estimate(None, "=", "percentile", 0)


def quantile(increases: Mapping[float, float], q: float) -> tuple[float, str] | None:
    """The q-quantile of cumulative bucket increases {upper edge: observations at or below it}, with its relation.

    Linear inside a bucket; an exact edge belongs to the lower bucket. None when nothing was observed.

    >>> quantile({0.1: 0, 0.5: 100, float("inf"): 100}, 0.95)
    (0.48, '=')
    >>> quantile({1.0: 5, float("inf"): 10}, 0.9)
    (1.0, '>')
    >>> quantile({1.0: 5, float("inf"): 5}, 0.5)
    (1.0, '<')
    """
    edges = sorted(increases)
    if not edges or not increases[edges[-1]] > 0:
        return None
    rank = round(q * increases[edges[-1]], 9)  # 0.07 × 100 is 7, not 7.000000000000001, and belongs to that bucket
    below, lower = 0.0, None
    for edge in edges:
        reached = max(increases[edge], below)
        if reached >= rank and reached > below:
            if edge == float("inf"):
                return (lower, ">") if lower is not None else None
            if lower is None:
                return edge, "<"
            return round(lower + (edge - lower) * (rank - below) / (reached - below), 12), "="
        below, lower = reached, edge
    return None


def estimate(buckets: Mapping[float, float], total: float, count: float, q: float) -> Estimate:
    """The q-quantile where enough was observed, else the mean, else nothing.

    buckets: cumulative increases by upper edge, empty when the page has none; total, count: increases of sum and count.
    """
    if not count > 0:
        return NOTHING
    needed = next((n for level, n in sorted(NEEDED.items()) if q <= level), max(NEEDED.values()))
    found = quantile(buckets, q) if count >= needed else None
    if found is not None:
        return Estimate(found[0], found[1], "percentile", count)
    mean = total / count
    return Estimate(None if np.isnan(mean) else float(mean), "=", "mean", count)


def window_start(ttft_count: Frame, now_ms: float) -> float:
    """Start of the window that percentiles are taken over: the latest tick that leaves 100 requests by the TTFT
    count, but at least 5 minutes and at most 1 hour before now. Without any count, 5 minutes.
    """
    latest, earliest = now_ms - WINDOW_MIN_MS, now_ms - WINDOW_MAX_MS
    ticks = ttft_count.ticks[(ttft_count.ticks >= earliest) & (ttft_count.ticks <= latest)]
    if not len(ticks) or not len(ttft_count.series):
        return latest
    low, high = 0, len(ticks)
    while (
        low < high
    ):  # increases only shrink as the start moves forward, so the last that leaves 100 is found by halving
        middle = (low + high) // 2
        if np.nansum(increase(ttft_count, float(ticks[middle]), now_ms)) >= WINDOW_REQUESTS:
            low = middle + 1
        else:
            high = middle
    return float(ticks[low - 1]) if low else float(earliest)


def bucket_increases(buckets: Frame, start_ms: float, end_ms: float) -> dict[float, float]:
    """Cumulative increases by upper edge, summed over all series (engines) of the frame; unknown ones left out."""
    totals: dict[float, float] = {}
    for series, gained in zip(buckets.series, increase(buckets, start_ms, end_ms), strict=True):
        edge = series.label("le")
        if edge is not None and not np.isnan(gained):
            totals[float(edge)] = totals.get(float(edge), 0.0) + float(gained)
    return totals
