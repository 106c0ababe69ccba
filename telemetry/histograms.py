"""Percentiles of a stated window, from bucket increases, with their count (never since the server started)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from telemetry.counters import increase, window_ends
from telemetry.frame import Frame
from telemetry.model import Series

NEEDED = {0.5: 10, 0.95: 60, 0.99: 300}
"""Observations below which a percentile says nothing and the mean stands in its place."""

INFINITE = float("inf")
FEWEST_COMMON = 2
"""Finite edges that histograms must have in common, where theirs differ, for a percentile of all of them."""
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
    # 0.07 × 100 is 7, not 7.000000000000001, and belongs to that bucket; a count of many digits is rounded up beyond
    # all there is.
    rank = min(round(q * increases[edges[-1]], 9), increases[edges[-1]])
    below, lower = 0.0, None
    for edge in edges:
        reached = max(increases[edge], below)
        if reached >= rank and reached > below:
            if edge == INFINITE:
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
    """Cumulative increases by upper edge, summed over the histograms (engines) of the frame.

    A histogram counts with the edges that it had over the same samples as its +Inf: not with those that it got or lost
    within the window; without +Inf it is unknown and left out. Where histograms that observed something have different
    edges, only their common ones are summed; fewer than two finite ones say nothing, and the result is empty.
    """
    histograms = _histograms(buckets, start_ms, end_ms)
    observed = [histogram for histogram in histograms if histogram[INFINITE] > 0] or histograms
    if not observed:
        return {}
    common = set.intersection(*(set(histogram) for histogram in observed))
    differ = any(len(histogram) > len(common) for histogram in observed)
    if differ and len(common) <= FEWEST_COMMON:
        return {}
    return {edge: sum(histogram[edge] for histogram in observed) for edge in sorted(common)}


def _histograms(buckets: Frame, start_ms: float, end_ms: float) -> list[dict[float, float]]:
    """Increases by edge of each histogram, of the edges that it had from the window's start to its end."""
    gained, ends = increase(buckets, start_ms, end_ms), window_ends(buckets, start_ms, end_ms)
    rows: dict[Series, dict[float, int]] = {}
    for row, series in enumerate(buckets.series):
        edge = series.label("le")
        if edge is not None and ends[row] is not None:
            labels = tuple(label for label in series.labels if label[0] != "le")
            rows.setdefault(Series(series.target, series.metric, labels), {})[float(edge)] = row
    return [
        {edge: float(gained[row]) for edge, row in edges.items() if ends[row] == ends[edges[INFINITE]]}
        for edges in rows.values()
        if INFINITE in edges
    ]
