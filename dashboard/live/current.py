"""Values at the newest tick: of stored series, of sums and of ratios. Pure functions of frames."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np

from telemetry import latest, ratios
from telemetry.frame import Floats, Frame
from telemetry.model import Kind, Metric, Ratio, Series

MARGIN_MS = 5_000.0
SHORTEST_MS = 5_000.0
"""While fewer samples than a ratio's window exist, it is taken over those there are, but over no less than this.

Quotients of one page's counters have no need of it: what cuts one side cuts the other."""

Key = Callable[[Series], Hashable]


def together(_series: Series) -> tuple[()]:
    """All series are one group."""
    return ()


def newest(frame: Frame, tick: float) -> Floats:
    """Newest value of each series at `tick`: float64[series]; NaN where it is older than the series' gap.

    A target that was read since, without this value, does not have it any more.
    """
    if not len(frame.ticks):
        return np.full(len(frame.series), np.nan)
    read = ~np.isnan(frame.at_ms)
    last = read.shape[1] - 1 - np.argmax(read[:, ::-1], axis=1)
    fresh = read.any(axis=1) & (tick - frame.ticks[last] <= frame.gap_ms)
    return np.where(fresh, frame.values[np.arange(len(last)), last], np.nan)


def held_total(frame: Frame) -> Floats:
    """Sum of gauges over the frame's series at each tick, held where a target was not due: float64[tick]."""
    ticks = frame.ticks.astype(np.float64)
    return ratios.total(ratios.hold(frame.values, frame.gap_ms, ticks, read=~np.isnan(frame.at_ms)), ticks)


def total(frame: Frame, metric: str, tick: float) -> float:
    """Sum of a gauge over all its series at `tick`; unknown while one that was known a moment ago is not known now."""
    part = frame.between(tick - ratios.SILENT_MS - MARGIN_MS, tick).select(lambda series: series.metric == metric)
    if not part.series or not len(part.ticks):
        return float("nan")
    return float(held_total(part)[-1])


def ratio(
    wanted: Ratio, frame: Frame, tick: float, key: Key = together, window_ms: float | None = None
) -> dict[Hashable, float]:
    """Value of a ratio at `tick`, by group. window_ms: instead of the ratio's own window."""
    window = wanted.window_s * 1000.0 if window_ms is None else window_ms
    names = ratios.stored_names(wanted)
    part = frame.between(tick - window - ratios.SILENT_MS - MARGIN_MS, tick)
    if not all(series.metric in names for series in part.series):
        part = part.select(lambda series: series.metric in names)
    if not part.series or not len(part.ticks):
        return {}
    if same_page(wanted):
        part = paired(wanted, part)
        short = latest.regular_increase(part, window) is not None
    else:
        window = young(part, window)
        short = window > 0 and all(term.kind is Kind.COUNTER for term in (*wanted.numerator, *wanted.denominator))
    if short:
        return _from_sides(wanted, part, key, window)
    return {group: float(values[-1]) for group, values in ratios.evaluate(wanted, part, key, window).items()}


def whole(wanted: Ratio, frame: Frame, tick: float, window_ms: float | None = None) -> float:
    """Value of a ratio at `tick` over all series; NaN when there are none."""
    return ratio(wanted, frame, tick, window_ms=window_ms).get((), float("nan"))


def young(part: Frame, window_ms: float) -> float:
    """The window, or as much of it as there are samples for while watching has just begun."""
    known = ~np.isnan(part.values)
    rows = np.flatnonzero(known.any(axis=1))
    if window_ms <= SHORTEST_MS or not len(rows):
        return window_ms
    first = np.argmax(known[rows], axis=1)
    last = known.shape[1] - 1 - np.argmax(known[rows][:, ::-1], axis=1)
    began, ended = part.at_ms[rows, first], part.at_ms[rows, last]
    if float(np.max(ended)) - float(np.min(began)) >= window_ms:
        return window_ms
    together_with_first = part.ticks[first] - part.ticks[first].min() <= part.gap_ms[rows]
    return max(float(np.min((ended - began)[together_with_first])), SHORTEST_MS)


def same_page(wanted: Ratio) -> bool:
    """Whether both sides are counters of one page: then `ratios.evaluate` takes what was seen of the window."""
    terms = (*wanted.numerator, *wanted.denominator)
    counters = all(term.kind is Kind.COUNTER for term in terms)
    return bool(wanted.denominator) and counters and len({term.scope for term in terms}) == 1


def paired(wanted: Ratio, part: Frame) -> Frame:
    """Without the targets that offer only one side of a quotient of one page's counters."""
    names = [{term.name for term in side} for side in (wanted.numerator, wanted.denominator)]
    above, below = ({series.target for series in part.series if series.metric in side} for side in names)
    return part if above == below else part.select(lambda series: series.target in above & below)


def _from_sides(wanted: Ratio, part: Frame, key: Key, window_ms: float) -> dict[Hashable, float]:
    above = _gained(wanted, wanted.numerator, part, key, window_ms)
    below = _gained(wanted, wanted.denominator, part, key, window_ms) if wanted.denominator else None
    found: dict[Hashable, float] = {}
    for group, gained in above.items():
        over = window_ms / 1000.0 if below is None else below.get(group)
        if over is not None:
            found[group] = gained / over * wanted.scale + wanted.offset if over > 0 else float("nan")
    return found


def _gained(wanted: Ratio, terms: tuple[Metric, ...], part: Frame, key: Key, window_ms: float) -> dict[Hashable, float]:
    """Sum of the increases of one side over the window that ends at the last tick, by group."""
    names = {term.name for term in terms}
    side = part.select(lambda series: series.metric in names)
    increase = replace(wanted, numerator=terms, denominator=(), scale=window_ms / 1000.0, offset=0.0)
    return latest.ratio(increase, side, key, window_ms)
