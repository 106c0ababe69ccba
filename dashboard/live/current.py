"""Values at the newest tick: of stored series, of sums and of ratios. Pure functions of frames."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from telemetry import ratios
from telemetry.frame import Floats, Frame
from telemetry.model import Ratio, Series

MARGIN_MS = 5_000.0

Key = Callable[[Series], Hashable]


def newest(frame: Frame, tick: float) -> Floats:
    """Newest value of each series at `tick`: float64[series]; NaN where it is older than the series' gap."""
    if not len(frame.ticks):
        return np.full(len(frame.series), np.nan)
    known = ~np.isnan(frame.values)
    last = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    fresh = known.any(axis=1) & (tick - frame.ticks[last] <= frame.gap_ms)
    return np.where(fresh, frame.values[np.arange(len(last)), last], np.nan)


def total(frame: Frame, metric: str, tick: float) -> float:
    """Sum of a gauge over all its series at `tick`; unknown while one that was known a minute ago is not known now."""
    part = frame.between(tick - ratios.SILENT_MS - MARGIN_MS, tick).select(lambda series: series.metric == metric)
    if not part.series or not len(part.ticks):
        return float("nan")
    ticks = part.ticks.astype(np.float64)
    return float(ratios.total(ratios.hold(part.values, part.gap_ms, ticks), ticks)[-1])


def together(_series: Series) -> tuple[()]:
    """All series are one group."""
    return ()


def ratio(
    wanted: Ratio, frame: Frame, tick: float, key: Key | None = None, window_ms: float | None = None
) -> dict[Hashable, float]:
    """Value of a ratio at `tick`, by group. window_ms: instead of the ratio's own window."""
    window = wanted.window_s * 1000.0 if window_ms is None else window_ms
    names = ratios.stored_names(wanted)
    part = frame.between(tick - window - ratios.SILENT_MS - MARGIN_MS, tick)
    part = part.select(lambda series: series.metric in names)
    if not part.series or not len(part.ticks):
        return {}
    found = ratios.evaluate(wanted, part, key or together, window)
    return {group: float(values[-1]) for group, values in found.items()}


def whole(wanted: Ratio, frame: Frame, tick: float, window_ms: float | None = None) -> float:
    """Value of a ratio at `tick` over all series; NaN when there are none."""
    return ratio(wanted, frame, tick, window_ms=window_ms).get((), float("nan"))
