"""Percentiles at each tick of a history, over a trailing window that is always as long."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from telemetry import ratios
from telemetry.counters import trailing_increase
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Metric, Series, part
from telemetry.quantiles import Percentiles, quantiles, together

WINDOW_MS = 300_000
"""Window of a percentile in a history. (A single number "now" has the window of `histograms.window_start`.)"""

Labels = tuple[tuple[str, str], ...]


def percentiles(
    metric: Metric, frame: Frame, q: float, group: Callable[[Series], Labels], inside: slice
) -> dict[Labels, Percentiles]:
    """The q-quantile of a histogram at each tick `inside`, by group; of the sums over all histograms of a group.

    A bucket without a sample makes them unknown, until it is away; then they go on without it.
    """
    name = part(metric, "bucket").name
    chosen = [row for row, series in enumerate(frame.series) if series.metric == name]
    buckets = frame if len(chosen) == len(frame.series) else frame.take(chosen)
    ticks, read = buckets.ticks.astype(np.float64), ~np.isnan(buckets.at_ms)
    gained = ratios.hold(trailing_increase(buckets, float(WINDOW_MS)), buckets.gap_ms, ticks, read)[:, inside]
    away = np.isnan(gained)
    if away.any():
        away &= _away(buckets)[:, inside]
    groups: dict[Labels, list[int]] = {}
    for row, series in enumerate(buckets.series):
        groups.setdefault(group(series), []).append(row)
    return {
        key: _of_rows([buckets.series[row] for row in rows], gained[rows], away[rows], q)
        for key, rows in groups.items()
    }


def _away(buckets: Frame) -> Bools:
    """Where a bucket has not come yet, or has been silent for a gap, or for SILENT_MS where that is longer."""
    last = ratios.last_known(~np.isnan(buckets.values))
    silent_ms = buckets.ticks - buckets.ticks[np.maximum(last, 0)]
    return np.asarray((last < 0) | (silent_ms > np.maximum(buckets.gap_ms, ratios.SILENT_MS)[:, np.newaxis]))


def _of_rows(buckets: Sequence[Series], gained: Floats, away: Bools, q: float) -> Percentiles:
    edges, increases = together(buckets, gained, away)
    spoiled = np.isnan(gained) & ~away
    if spoiled.any():
        increases[:, spoiled.any(axis=0)] = np.nan
    return quantiles(edges, increases, q)
