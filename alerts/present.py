"""A reading at the last tick of a frame, of all groups at once: what a live tick is made of; as `histories` has it."""

from __future__ import annotations

import numpy as np

from alerts import newest
from alerts.expression import QUANTILES, Reading
from alerts.grouping import Grouping, Quotient, Side, folded, partial, summed
from alerts.newest import Newest
from telemetry import ratios
from telemetry.frame import Floats
from telemetry.model import Metric, Ratio
from telemetry.quantiles import quantiles, together
from telemetry.rates import rate


def present(reading: Reading, frame: Newest, grouping: Grouping, quotient: Quotient | None) -> Floats:
    """float64[group, 1]. quotient: of a ratio, or a rate."""
    if quotient is not None:
        return _quotient(reading, frame, grouping, quotient)[:, np.newaxis]
    assert isinstance(reading.metric, Metric)
    window_ms = reading.window_s * 1000
    if reading.how == "now":
        values = frame.now[grouping.rows]
    elif reading.how == "increase":  # what a gap before the window hides counts, too
        values = frame.gained(grouping.rows, window_ms, whole=False)
    else:
        values = newest.SERIES[reading.how](frame.part(grouping.rows, grouping.series, window_ms), window_ms)
    return folded(values, grouping, reading.metric.across, lambda: frame.recent[grouping.rows])[:, np.newaxis]


def percentile(reading: Reading, frame: Newest, grouping: Grouping) -> Floats | None:
    """A quantile of a histogram: float64[group, 1]; None where something of it is unknown, for the history to tell."""
    gained = frame.gained(grouping.rows, reading.window_s * 1000, whole=True)
    if np.isnan(gained).any():
        return None
    found, away = np.empty((len(grouping.keys), 1)), np.zeros((len(gained), 1), dtype=bool)
    for group in range(len(grouping.keys)):
        rows = np.flatnonzero(grouping.group == group)
        buckets = [grouping.series[row] for row in rows.tolist()]
        edges, increases = together(buckets, gained[rows, np.newaxis], away[rows])
        found[group] = quantiles(edges, increases, QUANTILES[reading.how]).values
    return found


def _quotient(reading: Reading, frame: Newest, grouping: Grouping, quotient: Quotient) -> Floats:
    ratio, window_ms = ratio_of(reading)
    count = len(grouping.keys)
    whole = not ratios.same_page(ratio)
    gained = _gained(frame, quotient.above, window_ms, whole=whole)
    above = _side(gained, quotient.above, frame, count)
    if ratios.is_share(ratio):
        spent = gained if whole else _gained(frame, quotient.above, window_ms, whole=True)
        ticks = np.bincount(quotient.above.group, ~np.isnan(spent), count).astype(np.float64)
        below = ticks * window_ms / 1000.0
    elif quotient.below is None:
        below = np.full(count, window_ms / 1000.0)
    else:
        below = _side(_gained(frame, quotient.below, window_ms, whole=whole), quotient.below, frame, count)
    found = np.full(count, np.nan)
    found[quotient.groups] = ratios.quotient(ratio, above, below)[quotient.groups]
    return found


def ratio_of(reading: Reading) -> tuple[Ratio, float]:
    """The quotient that a reading is, and its window in milliseconds."""
    metric = reading.metric
    if isinstance(metric, Ratio):
        return metric, (reading.window_s if reading.how == "mean" else metric.window_s) * 1000.0
    return rate(metric), reading.window_s * 1000.0


def _gained(frame: Newest, side: Side, window_ms: float, *, whole: bool) -> Floats:
    """What each row of a side adds: float64[row]."""
    if window_ms <= 0:
        return frame.now[side.rows]
    if not side.gauges.any():
        return frame.gained(side.rows, window_ms, whole=whole)
    mine = frame.part(side.rows, side.series, window_ms if whole else None)
    over = newest.increase if whole else newest.total
    if side.gauges.all():
        return over(newest.integral(mine), window_ms)
    found = np.empty(len(side.rows))
    for chosen, counted in ((side.gauges, newest.integral(mine)), (~side.gauges, mine)):
        some = np.flatnonzero(chosen)
        found[some] = over(counted.take(some.tolist()), window_ms)
    return found


def _side(gained: Floats, side: Side, frame: Newest, count: int) -> Floats:
    found = summed(gained, side.group, count, lambda: frame.recent[side.rows])
    if side.terms > 1:
        found[partial(side, ~np.isnan(gained), count)] = np.nan
    return found
