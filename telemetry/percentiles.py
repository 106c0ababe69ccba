"""Percentiles at each tick of a history, over a trailing window that is always as long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry import ratios
from telemetry.counters import trailing_increase
from telemetry.frame import Floats, Frame
from telemetry.histograms import estimate
from telemetry.model import Metric, part

WINDOW_MS = 300_000
"""Window of a percentile in a history. (A single number "now" has the window of `histograms.window_start`.)"""

SIDES = {-1.0: "<", 0.0: "=", 1.0: ">"}


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of one histogram: float64[tick] each.

    values: NaN where the window holds too few observations or is not wholly known. side: a key of SIDES, −1 below the
    first edge, 1 above the last, NaN without a value. count: observations in the window.
    """

    values: Floats
    side: Floats
    count: Floats


def percentiles(metric: Metric, frame: Frame, q: float, total: bool) -> list[tuple[dict[str, str], Percentiles]]:
    """The q-quantile of a histogram at each tick, by labels; one of the sums over all series where `total`."""
    buckets = frame.select(lambda series: series.metric == part(metric, "bucket").name)
    ticks, read = buckets.ticks.astype(np.float64), ~np.isnan(buckets.at_ms)
    gained = ratios.hold(trailing_increase(buckets, float(WINDOW_MS)), buckets.gap_ms, ticks, read)
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for row, series in enumerate(buckets.series):
        labels = tuple(pair for pair in series.labels if pair[0] != "le")
        groups.setdefault(() if total else (("target", series.target), *labels), []).append(row)
    return [(dict(key), _of_rows(buckets, gained, rows, q)) for key, rows in groups.items()]


def _of_rows(buckets: Frame, gained: Floats, rows: list[int], q: float) -> Percentiles:
    found = Percentiles(*np.full((3, len(buckets.ticks)), np.nan))
    edges = [float(buckets.series[row].label("le") or "nan") for row in rows]
    sides = {sign: side for side, sign in SIDES.items()}
    for column in range(len(buckets.ticks)):
        values: dict[float, float] = {}
        for edge, value in zip(edges, gained[rows, column], strict=True):
            values[edge] = values.get(edge, 0.0) + float(value)
        found.count[column] = values.get(np.inf, np.nan)
        one = estimate(values, np.nan, values.get(np.inf, 0.0), q)
        if one.kind == "percentile" and one.value is not None:
            found.values[column] = one.value
            found.side[column] = sides[one.relation]
    return found
