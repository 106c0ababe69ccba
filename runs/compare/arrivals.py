"""What limited a run: the requests that arrived, or the engine. Only the latter makes throughput comparable."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from runs.compare.cells import Cells
from telemetry.frame import Bools

NEVER = 0.01
"""Share of the cells in which a queue that is "never empty" may be."""
STEADY = 0.35
"""A closed loop's number in the system changes by less than this share of what independent arrivals would make."""
ENDS = 1.5
"""Mean requests that are left out at either end, where a load builds up or runs out."""
MOST_LEFT_OUT = 0.25
"""Share of the time that is left out at most at either end."""
FEWEST = 5
"""Requests that must have finished before anything is said."""


class Limit(Enum):
    """What a run's throughput was limited by."""

    QUEUE = "queue"
    LOOP = "loop"
    ARRIVALS = "arrivals"
    UNKNOWN = "unknown"


WORDS = {
    Limit.QUEUE: "the queue was never empty",
    Limit.LOOP: "a closed loop: about {:.0f} requests in the system all the time",
    Limit.ARRIVALS: "limited by arrivals",
    Limit.UNKNOWN: "whether arrivals limited it is not known",
}


@dataclass(frozen=True)
class Load:
    """limit: by what. system: mean number of requests in the system, NaN not known. core: bool[cell], the cells that
    say so, without the ends."""

    limit: Limit
    system: float
    core: Bools

    @property
    def words(self) -> str:
        """In words."""
        return WORDS[self.limit].format(self.system)


def load(cells: Cells) -> Load:
    """What limited a run.

    Arrivals that do not wait for answers make the number in the system wander; a closed loop replaces each request
    that leaves, so that it stands still. Changes from reading to reading are compared with those of independent
    arrivals, so that neither long requests nor a sweep over several loads are mistaken.
    """
    core = _core(cells)
    if not core.any():
        return Load(Limit.UNKNOWN, float("nan"), core)
    waiting = np.where(np.isnan(cells.waiting_s[core]), 0.0, cells.waiting_s[core])
    system = float(np.nanmean(cells.running_s[core] + waiting) / cells.width_s)
    queue = cells.queue[core]
    known = queue[~np.isnan(queue)]
    if len(known) and float((known < 1).mean()) <= NEVER:
        return Load(Limit.QUEUE, system, core)
    if not np.nansum(cells.finished[core]) >= FEWEST or not cells.stirred[core].sum() > 0:
        return Load(Limit.UNKNOWN, system, core)
    steady = float(cells.moved[core].sum()) <= STEADY * float(cells.stirred[core].sum())
    return Load(Limit.LOOP if steady else Limit.ARRIVALS, system, core)


def _core(cells: Cells) -> Bools:
    """Known cells from the first to the last with requests, without the ends."""
    known = ~np.isnan(cells.tokens) & ~np.isnan(cells.running_s)
    busy = np.flatnonzero(known & ((cells.running_s > 0) | (cells.tokens > 0)))
    found = np.zeros(len(cells), dtype=bool)
    if not len(busy):
        return found
    length = cells.request_mean_s
    first, last = float(cells.end_ms[busy[0]]), float(cells.end_ms[busy[-1]])
    edge = min(ENDS * 1000.0 * length, MOST_LEFT_OUT * (last - first)) if length > 0 else 0.0
    low, high = first + edge, last - edge
    return np.asarray(known & (cells.end_ms >= low) & (cells.end_ms <= high))
