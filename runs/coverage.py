"""How well a target was watched: samples there and expected, gaps, restarts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Frame

Gap = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Coverage:
    """One target over a stretch. expected: ticks by its present interval. gaps: (from, to) in milliseconds.

    restarts: instants at which a counter began anew.
    """

    target: str
    present: int
    expected: int
    gaps: Sequence[Gap]
    restarts: Sequence[int]

    @property
    def gap_s(self) -> float:
        """Seconds of gaps."""
        return sum(end - start for start, end in self.gaps) / 1000.0


def coverage(frame: Frame, targets: Sequence[str], start_ms: int, end_ms: int) -> list[Coverage]:
    """Each target's coverage of start ≤ t ≤ end, from the frame's readings; a target that is not in it has none."""
    rows: dict[str, list[int]] = {target: [] for target in targets}
    for row, series in enumerate(frame.series):
        rows.setdefault(series.target, []).append(row)
    return [_coverage(frame, target, rows[target], start_ms, end_ms) for target in targets]


def _coverage(frame: Frame, target: str, rows: Sequence[int], start_ms: int, end_ms: int) -> Coverage:
    length = end_ms - start_ms
    if not rows:
        return Coverage(target, 0, 0, ((start_ms, end_ms),) if length > 0 else (), ())
    gap_ms = float(frame.gap_ms[rows[0]])
    interval = gap_ms / NOMINAL_PER_GAP
    read = ~np.isnan(frame.at_ms[list(rows)]).all(axis=0)
    ticks = frame.ticks[read].astype(np.float64)
    here = (ticks >= start_ms) & (ticks <= end_ms)
    broken = frame.breaks[list(rows)].any(axis=0) & (frame.ticks > start_ms) & (frame.ticks <= end_ms)
    return Coverage(
        target,
        int(here.sum()),
        int(length // interval) + 1,
        _gaps(ticks, bool(here.any()), gap_ms, start_ms, end_ms),
        tuple(frame.ticks[broken].tolist()),
    )


def _gaps(ticks: Floats, any_here: bool, gap_ms: float, start_ms: float, end_ms: float) -> tuple[Gap, ...]:
    """Stretches between samples that are too long, cut to the range; its edges count as samples."""
    if not any_here:
        return ((float(start_ms), float(end_ms)),) if end_ms > start_ms else ()
    inner = ticks[(ticks > start_ms) & (ticks < end_ms)]
    edges = np.concatenate(([start_ms], inner, [end_ms]))
    apart = np.diff(edges)
    return tuple((float(edges[place]), float(edges[place + 1])) for place in np.flatnonzero(apart > gap_ms).tolist())


def no_window(window_s: float, seconds: float) -> str:
    """Why a stretch of this length has no value over windows of this length, where gaps or its length are why."""
    return f"shorter than {window_s:g} s" if seconds < window_s else f"no window of {window_s:g} s without a gap"


def touched(several: Sequence[Coverage], what: str) -> str:
    """What to say of a number that gaps touch: "2 gaps of the engine, 14 s"; "" where there are none."""
    gaps = [gap for one in several for gap in one.gaps]
    if not gaps:
        return ""
    seconds = sum(end - start for start, end in gaps) / 1000.0
    count = "1 gap" if len(gaps) == 1 else f"{len(gaps)} gaps"
    return f"{count} of {what}, {seconds:.3g} s in all"
