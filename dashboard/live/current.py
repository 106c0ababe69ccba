"""Values at the newest tick: of stored series, of sums and of ratios. Pure functions of frames."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from telemetry import latest, ratios
from telemetry.frame import Floats, Frame
from telemetry.model import Ratio, Series

MARGIN_MS = 5_000.0


def silent_ms(frame: Frame) -> float:
    """For how long what has fallen silent is still waited for: SILENT_MS, and no less than its gap."""
    return float(frame.gap_ms.max(initial=float(ratios.SILENT_MS)))


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
    part = frame.select(lambda series: series.metric == metric)
    part = part.between(tick - silent_ms(part) - MARGIN_MS, tick)
    if not part.series or not len(part.ticks):
        return float("nan")
    return float(held_total(part)[-1])


def ratio(
    wanted: Ratio, frame: Frame, tick: float, key: Key = together, window_ms: float | None = None
) -> dict[Hashable, float]:
    """Value of a ratio at `tick`, by group; while watching has just begun, over as much of its window as there is.

    window_ms: instead of the ratio's own window.
    """
    window = wanted.window_s * 1000.0 if window_ms is None else window_ms
    recent = frame.between(tick - window - silent_ms(frame) - MARGIN_MS, tick)
    return latest.ratio(wanted, recent, key, window, young=True)


def whole(wanted: Ratio, frame: Frame, tick: float, window_ms: float | None = None) -> float:
    """Value of a ratio at `tick` over all series; NaN when there are none."""
    return ratio(wanted, frame, tick, window_ms=window_ms).get((), float("nan"))
