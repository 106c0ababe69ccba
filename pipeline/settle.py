"""Settling: a run that ended gets its numbers, in a thread beside the ticks, a little after its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.digest import SUMMARY, settle
from storage.store import Store

LATE_MS = 15_000
"""How long after a run's end its last samples may still come."""
AGAIN_MS = 600_000
"""After so long a run that could not be settled is tried again."""


@dataclass
class Settler:
    """One store's. do: settles one run."""

    store: Store
    do: Callable[..., bool] = settle
    _tried: dict[tuple[int, int], int] = field(default_factory=dict)

    def run(self, now_ms: int) -> int:
        """Settle what is due; how many runs. What fails is raised, and left alone for a while."""
        done = 0
        for run in self.store.unsettled_runs(SUMMARY):
            key = (run.id, run.revision)
            if (
                run.end_ms is None
                or now_ms - run.end_ms < LATE_MS
                or now_ms - self._tried.get(key, -AGAIN_MS) < AGAIN_MS
            ):
                continue
            self._tried[key] = now_ms
            done += self.do(self.store, run)
            self._tried.pop(key)
        return done
