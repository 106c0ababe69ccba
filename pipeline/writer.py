"""Writer: what a tick produced becomes one commit; what cannot be committed waits in memory, up to ten minutes."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field, fields

from storage.errors import StoreBusy, StoreError, StoreFull
from storage.records import Batch, Commit
from storage.store import Store

KEEP_MS = 600_000
MERGE_AT_MOST = 30
"""Ticks that are written in one transaction when some have waited: none may take longer than 50 ms."""

log = logging.getLogger(__name__)


@dataclass
class Writer:
    """Owns the store's write side. Not thread-safe: one commit at a time."""

    store: Store
    waiting: deque[tuple[int, Batch]] = field(default_factory=deque)
    problem: str | None = None
    dropped: int = 0

    def write(self, batch: Batch, now_ms: int) -> Commit | None:
        """Commit this batch after whatever waited before it. None while it waits itself; never raises StoreError."""
        self.waiting.append((now_ms, batch))
        commit = None
        while self.waiting:
            group = [self.waiting[place] for place in range(min(MERGE_AT_MOST, len(self.waiting)))]
            try:
                commit = self.store.commit(merge([one for _, one in group]), now_ms)
            except (StoreBusy, StoreFull, StoreError) as error:
                self._keep(str(error), now_ms)
                return None
            for _ in group:
                self.waiting.popleft()
        if self.problem is not None:
            log.warning("the store takes commits again")
        self.problem = None
        return commit

    def _keep(self, problem: str, now_ms: int) -> None:
        if problem != self.problem:
            log.error("cannot commit, ticks wait in memory: %s", problem)
        self.problem = problem
        while self.waiting and now_ms - self.waiting[0][0] > KEEP_MS:
            self.waiting.popleft()
            self.dropped += 1


def merge(batches: list[Batch]) -> Batch:
    """Several batches as one, in order."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        **{one.name: [item for batch in batches for item in getattr(batch, one.name)] for one in fields(Batch)}
    )
