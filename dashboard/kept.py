"""What the web process keeps of sealed hours, so that panning, and going back, asks the store for little."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from storage.store import Store
from telemetry.kept import Kept
from telemetry.summary import HOUR_MS, hour_of

MOST_BYTES = 16_000_000
"""Some six views of a day of 16 nodes, four charts each."""


class KeptHours(Kept):
    """Bins of hours whose samples stand as long as the store says the same of them."""

    def __init__(self, store: Store) -> None:
        super().__init__(MOST_BYTES)
        self._store = store

    def states(self, start_ms: int, end_ms: int, targets: Collection[str] | None) -> Mapping[int, Hashable]:
        """Of each hour that overlaps the range, and is sealed for all, what changes when its samples do, or how often
        targets are read, by which gaps are told."""
        intervals = tuple(target.interval_ms for target in self._store.targets())
        found = self._store.states(start_ms, end_ms, targets)
        unsealed = set(self._store.unsealed_hours(start_ms, end_ms))
        hours = range(hour_of(start_ms), end_ms + 1, HOUR_MS)
        return {hour: (intervals, found.get(hour)) for hour in hours if hour not in unsealed}
