"""Summaries that the web process read before: a view of months that is asked for again reads none of them anew."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable

from storage.edition import Edition
from storage.store import Store
from telemetry.frame import Floats, Ints
from telemetry.grid import MEASURES
from telemetry.summary import Summaries, hour_of

MOST_BYTES = 12_000_000
"""A year of a metric of 16 nodes is 9 MB, a month 0.8."""


class Shelf:
    """Answers of `Store.summaries`, as long as no sealed hour changes; those put longest ago leave first. For any
    thread."""

    def __init__(self, store: Store, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._most = most_bytes
        self._edition = Edition()
        self._known: dict[Hashable, Summaries] = {}
        self._lock = threading.Lock()

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range. Shared with others: nobody writes into it."""
        key = (frozenset(metrics), None if targets is None else frozenset(targets), hour_of(start_ms), hour_of(end_ms))
        now = self._store.edition()
        with self._lock:
            known = self._known.pop(key, None) if now == self._edition else None
            if known is not None:
                self._known[key] = known
                return known
        found = self._store.summaries(metrics, None if targets is None else list(targets), start_ms, end_ms)
        for array in arrays(found):
            array.flags.writeable = False
        with self._lock:
            if now != self._edition:
                self._edition, self._known = now, {}
            self._known[key] = found
            while self.nbytes() > self._most:
                del self._known[next(iter(self._known))]
        return found

    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for one in self._known.values() for array in arrays(one))


def arrays(found: Summaries) -> list[Floats | Ints]:
    """All of them."""
    return [found.hours, *(getattr(found, name) for name in MEASURES)]
