"""Where answers come from: the store, the tail in front of it, and the clock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pipeline.tail import SPAN_MS, Tail
from storage.store import Store
from telemetry.catalog import cluster
from telemetry.frame import Frame

DEFAULT_STEP_MS = 1000


@dataclass(frozen=True)
class Sources:
    """The store and its tail. clock: epoch milliseconds."""

    store: Store
    tail: Tail
    clock: Callable[[], int]

    def now_ms(self) -> int:
        """The instant, epoch milliseconds."""
        return self.clock()

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Sequence[str] | None = None
    ) -> Frame:
        """History of start ≤ tick ≤ end: from the tail where it reaches back far enough, else from the store."""
        latest = self.tail.latest_tick
        if latest is not None and start_ms > latest - SPAN_MS:
            return self.tail.frame(metrics, start_ms=start_ms, end_ms=end_ms, targets=targets)
        return self.store.frame(metrics, targets, start_ms, end_ms)

    def step_ms(self) -> int:
        """The nominal interval: the shortest that any target is read with."""
        return min((target.interval_ms for target in self.store.targets()), default=DEFAULT_STEP_MS)

    def slowest_ms(self) -> int:
        """The longest nominal interval that any target is read with."""
        return max((target.interval_ms for target in self.store.targets()), default=DEFAULT_STEP_MS)

    def deployments(self) -> list[str]:
        """Names of the deployments seen in the tail."""
        prefix = cluster.DEPLOYMENT_PREFIX
        return [name.removeprefix(prefix) for name in self.tail.targets() if name.startswith(prefix)]
