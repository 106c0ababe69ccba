"""Why a value that its target should have is not known, read off the samples it would be made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dashboard.live import current
from telemetry import ratios
from telemetry.frame import Frame
from telemetry.model import Metric, Ratio, Scope

NOT_OFFERED = "not offered"
GONE = "no longer on the page"
IDLE = "nothing happened in its window"
YOUNG = "not yet a whole window"
BROKEN = "a gap or a restart lies in its window"
ON_PAGES = (Scope.NODE, Scope.ENGINE, Scope.TARGET)


def from_samples(metric: Metric | Ratio, part: Frame, tick: int) -> str:
    """One of the sentences above. part: the samples of one place, reaching back further than any window.

    IDLE is said only where the denominator was watched over the whole window, and did not grow.
    """
    part = part.take(np.flatnonzero((~np.isnan(part.values)).any(axis=1)).tolist())
    terms = (*metric.numerator, *metric.denominator) if isinstance(metric, Ratio) else (metric,)
    if {term.name for term in terms} - {series.metric for series in part.series}:
        return NOT_OFFERED
    if isinstance(metric, Metric):
        return GONE if metric.scope in ON_PAGES else NOT_OFFERED
    if _gone(metric, part, tick):
        return GONE
    if _lower(metric, part) == 0:
        return IDLE
    first = part.ticks[np.argmax(~np.isnan(part.values), axis=1)]
    return YOUNG if bool(np.any(first > tick - metric.window_s * 1000)) else BROKEN


def _gone(ratio: Ratio, part: Frame, tick: int) -> bool:
    """Whether a series that the value still reaches back to has none now, or none of a term has one."""
    reach = tick - ratio.window_s * 1000 - ratios.SILENT_MS
    recent = (~np.isnan(part.values[:, part.ticks >= reach])).any(axis=1)
    there = ~np.isnan(current.newest(part, tick))
    held = {series.metric for series, now in zip(part.series, there, strict=True) if now}
    return bool((recent & ~there).any()) or not {series.metric for series in part.series} <= held


def _lower(ratio: Ratio, part: Frame) -> float:
    """Σ denominator over the whole window that ends at the last tick; NaN where unknown, or where it has none."""
    if not ratio.denominator:
        return float("nan")
    names = {term.name for term in ratio.denominator}
    side = part.select(lambda series: series.metric in names)
    if not ratio.window_s:
        return float(np.sum(current.newest(side, float(part.ticks[-1]))))
    lower = replace(ratio, numerator=ratio.denominator, denominator=(), scale=ratio.window_s, offset=0.0)
    return float(ratios.evaluate(lower, side, current.together)[()][-1])
