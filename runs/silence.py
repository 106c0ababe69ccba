"""Times in which an engine of a run gave no answer and nobody knows why: what all do together is not known then.

A page of the present goes on without such an engine after a while. A run does not: its requests are the run's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from runs.detect import LOST_MS
from runs.reader import Absence
from telemetry.frame import Bools, Floats, Frame
from telemetry.phases import Phase

AWAY = {Phase.STOPPED: ("stopped",), Phase.LOADING: ("loading", "restarting")}
"""States of a target that does not answer, as its absence names them, and what they mean: that no request runs."""
EXPLAINED = frozenset(state for states in AWAY.values() for state in states)


def state(absence: Absence) -> str:
    """The state that an absence names."""
    return absence.reason.partition(":")[0]


def last_readings(frame: Frame, until_ms: float) -> dict[str, float]:
    """Instant of the newest reading at or before an instant, by target; those without one are not in it."""
    found: dict[str, float] = {}
    high = int(np.searchsorted(frame.ticks, until_ms, side="right"))
    known = ~np.isnan(frame.values[:, :high])
    rows = np.flatnonzero(np.asarray(known.any(axis=1)))
    newest = frame.ticks[high - 1 - np.argmax(known[rows, ::-1], axis=1)] if len(rows) else rows
    for row, tick in zip(rows.tolist(), newest.tolist(), strict=True):
        target = frame.series[row].target
        found[target] = max(found.get(target, -np.inf), float(tick))
    return found


def silent(frame: Frame, targets: Sequence[str], absences: Iterable[Absence], before: Mapping[str, float]) -> Bools:
    """Whether any of the targets is silent at each tick: bool[tick].

    A target is silent from its first gap on until it answers, is known to be stopped, loading or restarting, or has
    been away for so long that it counts as gone. Before its first reading it is no engine of the run.
    before: last readings that stand before the frame, by target.
    """
    ticks = frame.ticks.astype(np.float64)
    found = np.zeros(len(ticks), dtype=bool)
    known = [one for one in absences if one.metric is None and state(one) in EXPLAINED]
    usual = max(frame.gap_ms.tolist(), default=0.0)
    for target in targets:
        rows = [row for row, series in enumerate(frame.series) if series.target == target]
        gap_ms = float(frame.gap_ms[rows[0]]) if rows else usual
        apart = ticks - _last(frame, rows, before.get(target, -np.inf))
        away = (apart > gap_ms) & (apart <= LOST_MS)
        for one in known:
            if one.target == target:
                away &= ~((ticks >= one.start_ms) & (ticks < (np.inf if one.end_ms is None else one.end_ms)))
        found |= away
    return found


def _last(frame: Frame, rows: Sequence[int], before_ms: float) -> Floats:
    """Instant of the newest reading of a target at each tick, −inf where there is none."""
    read = ~np.isnan(frame.at_ms[list(rows)]).all(axis=0) if rows else np.zeros(len(frame.ticks), dtype=bool)
    return np.asarray(np.maximum.accumulate(np.where(read, frame.ticks, before_ms)))
