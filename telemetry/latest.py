"""The newest value of ratios, as `ratios.evaluate` would give it, without the work for all the ticks before."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from telemetry import ratios
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Frame
from telemetry.model import Ratio


def ratio(wanted: Ratio, frame: Frame, key: ratios.Key, window_ms: float | None = None) -> dict[Hashable, float]:
    """Value of a ratio at the last tick of the frame, by group; the frame begins a window and SILENT_MS before it.

    Of counters that were read regularly all is known from two places in each row; anything else (a gap, a restart, a
    missing sample, a gauge) goes the long way through `ratios.evaluate`.
    """
    window = wanted.window_s * 1000.0 if window_ms is None else window_ms
    increases = regular_increase(frame, window) if not wanted.denominator and window > 0 else None
    if increases is None:
        found = ratios.evaluate(wanted, frame, key, window_ms)
        return {group: float(values[-1]) if len(values) else float("nan") for group, values in found.items()}
    names = {metric.name for metric in wanted.numerator}
    sums: dict[Hashable, float] = {}
    offered: dict[tuple[Hashable, str], set[str]] = {}
    for series, gained in zip(frame.series, increases.tolist(), strict=True):
        if series.metric in names:
            group = key(series)
            sums[group] = sums.get(group, 0.0) + gained
            offered.setdefault((group, series.target), set()).add(series.metric)
    for (group, _), metrics in offered.items():
        if metrics != names:  # a target that has one of the terms without the others
            sums[group] = float("nan")
    return {group: gained / (window / 1000.0) * wanted.scale + wanted.offset for group, gained in sums.items()}


def regular_increase(frame: Frame, window_ms: float) -> Floats | None:
    """Increase of each counter over the window that ends at the last tick: float64[series].

    None unless every series has every sample of the window and one before it, without gap or restart, and the window
    is not shorter than the nominal interval: then `counters.trailing_increase` must judge.
    """
    if not len(frame.series) or len(frame.ticks) < 2:
        return None
    start = frame.at_ms[:, -1] - window_ms
    left = np.sum(frame.at_ms <= start[:, np.newaxis], axis=1) - 1
    if np.isnan(start).any() or (left < 0).any() or (window_ms < frame.gap_ms / NOMINAL_PER_GAP).any():
        return None
    low = int(np.min(left))
    if not _regular(frame, low):
        return None
    return _interpolated(frame.at_ms[:, low:], frame.values[:, low:], start, left - low)


def _regular(frame: Frame, low: int) -> bool:
    """Whether every row has a sample at every tick from column `low` on, with neither gap nor restart between them.

    Nothing may be missing before that either: a place in a row is counted from its beginning.
    """
    apart = np.diff(frame.at_ms[:, low:], axis=1)
    usual = (apart > 0) & (apart <= frame.gap_ms[:, np.newaxis])
    whole = not np.isnan(frame.values[:, low:]).any() and not np.isnan(frame.at_ms[:, :low]).any()
    return bool(usual.all() and whole and not frame.breaks[:, low + 1 :].any())


def _interpolated(at_ms: Floats, values: Floats, start: Floats, left: np.typing.NDArray[np.intp]) -> Floats:
    rows = np.arange(len(left))
    right = np.minimum(left + 1, values.shape[1] - 1)
    width = np.maximum(at_ms[rows, right] - at_ms[rows, left], 1e-9)
    share = (start - at_ms[rows, left]) / width
    return np.asarray(values[:, -1] - values[rows, left] - (values[rows, right] - values[rows, left]) * share)
