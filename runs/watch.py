"""How well targets were watched over a stretch, added up slice by slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from runs.coverage import Coverage, Gap
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame

RECENT = 2
"""So many steps before one show at which interval a target was read by then, where that was shorter than the nominal
one: an interval that follows what a page costs changes during a run, and its frame knows the longest alone."""


@dataclass
class _Seen:
    """One target so far. expected: readings between the first and the last; steps_ms: the last steps between them."""

    gap_ms: float
    present: int = 0
    expected: int = 0
    steps_ms: list[float] = field(default_factory=list)
    first_ms: float | None = None
    last_ms: float | None = None
    gaps: list[Gap] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)


@dataclass
class Watch:
    """Targets of a stretch. Slices follow each other. before: last readings that stand before the start, by target."""

    start_ms: int
    end_ms: int
    before: dict[str, float] = field(default_factory=dict)
    _targets: dict[str, _Seen] = field(default_factory=dict)

    def add(self, frame: Frame, start_ms: int, end_ms: int) -> None:
        """Readings of start ≤ tick ≤ end."""
        low, high = np.searchsorted(frame.ticks, (start_ms, end_ms + 1))
        part = slice(int(low), int(high))
        rows: dict[str, list[int]] = {}
        for row, series in enumerate(frame.series):
            rows.setdefault(series.target, []).append(row)
        ticks = frame.ticks[part]
        some = np.asarray(frame.breaks[:, part].any(axis=1))
        for target, mine in rows.items():
            if target not in self._targets:
                self._before(frame, target, mine)
            seen = self._targets.setdefault(target, _Seen(float(frame.gap_ms[mine[0]])))
            _look(seen, ticks[_read(frame, mine, part)].astype(np.float64))
            for row in [one for one in mine if some[one]]:
                broken = ticks[frame.breaks[row, part] & (ticks > self.start_ms)]
                seen.restarts = sorted({*seen.restarts, *broken.tolist()})

    def _before(self, frame: Frame, target: str, rows: Sequence[int]) -> None:
        low = int(np.searchsorted(frame.ticks, self.start_ms))
        read = frame.ticks[:low][_read(frame, rows, slice(0, low))]
        if len(read):
            self.before[target] = float(read[-1])

    def coverage(self, target: str) -> Coverage:
        """Of one target; of one that was never read, a gap."""
        seen = self._targets.get(target)
        length = self.end_ms - self.start_ms
        whole = ((float(self.start_ms), float(self.end_ms)),) if length > 0 else ()
        if seen is None:
            return Coverage(target, 0, 0, whole, ())
        return Coverage(target, seen.present, self._expected(seen), self._gaps(seen), tuple(seen.restarts))

    def _expected(self, seen: _Seen) -> int:
        """Readings that there should be: those that came, and what is missing between them and at the edges."""
        interval = seen.gap_ms / NOMINAL_PER_GAP
        if seen.first_ms is None or seen.last_ms is None:
            return int((self.end_ms - self.start_ms) // interval) + 1
        now = min([interval, *seen.steps_ms])
        return (
            int((seen.first_ms - self.start_ms) // interval) + seen.expected + int((self.end_ms - seen.last_ms) // now)
        )

    def _gaps(self, seen: _Seen) -> tuple[Gap, ...]:
        start, end = float(self.start_ms), float(self.end_ms)
        if seen.first_ms is None or seen.last_ms is None:
            return ((start, end),) if end > start else ()
        edges = ((start, seen.first_ms), (seen.last_ms, end))
        before, after = ([edge] if edge[1] - edge[0] > seen.gap_ms else [] for edge in edges)
        return (*before, *seen.gaps, *after)


def _read(frame: Frame, rows: Sequence[int], part: slice) -> Bools:
    """Ticks at which any of the rows was read: mostly the first of them knows all."""
    read = np.zeros(frame.at_ms[:, part].shape[1], dtype=bool)
    for row in rows:
        read |= ~np.isnan(frame.at_ms[row, part])
        if read.all():
            break
    return read


def _due(seen: _Seen, steps: Floats) -> int:
    """Readings that were due in steps from reading to reading, by the interval at each: at least one in each."""
    known = [np.inf] * (RECENT - len(seen.steps_ms)) + seen.steps_ms
    line = np.concatenate((known, steps))
    seen.steps_ms = [one for one in line[-RECENT:].tolist() if one < np.inf]
    interval = np.full(len(steps), seen.gap_ms / NOMINAL_PER_GAP)
    if len(steps) and line.min() < interval[0]:
        for back in range(RECENT + 1):
            np.minimum(interval, line[back : back + len(steps)], out=interval)
    return int(np.maximum(np.floor(steps / interval + 0.5), 1.0).sum())


def _look(seen: _Seen, ticks: Floats) -> None:
    """Readings that follow those before."""
    if not len(ticks):
        return
    line = ticks if seen.last_ms is None else np.concatenate(([seen.last_ms], ticks))
    for place in np.flatnonzero(np.diff(line) > seen.gap_ms).tolist():
        seen.gaps.append((float(line[place]), float(line[place + 1])))
    seen.expected += _due(seen, np.diff(line)) + (seen.last_ms is None)
    seen.present += len(ticks)
    seen.first_ms = float(line[0]) if seen.first_ms is None else seen.first_ms
    seen.last_ms = float(line[-1])
