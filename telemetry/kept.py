"""Bins of sealed hours that were worked out before: a range that shares hours with one before is drawn at once."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Mapping
from typing import Protocol

from telemetry.bins import Binned, Bins
from telemetry.query import Query
from telemetry.summary import HOUR_MS

MOST_BYTES = 32_000_000
PER_LINE = 600
"""Bytes of a line beside its numbers, about."""


class Keeper(Protocol):
    """Keeps bins of hours whose samples stand."""

    def states(self, start_ms: int, end_ms: int, targets: Collection[str] | None) -> Mapping[int, Hashable]:
        """Of each hour that overlaps the range, and whose samples all are sealed, what changes when its samples do."""

    def get(self, key: Hashable) -> Binned | None:
        """What was put under this key, if it is still there."""

    def put(self, key: Hashable, piece: Binned) -> None:
        """Keep it for a while."""


class Kept:
    """Bins by key, those asked for longest ago leaving first. Any thread may call it."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._pieces: dict[Hashable, Binned] = {}
        self._lock = threading.Lock()
        self.nbytes = 0

    def get(self, key: Hashable) -> Binned | None:
        """What was put under this key, if it is still there."""
        with self._lock:
            found = self._pieces.pop(key, None)
            if found is not None:
                self._pieces[key] = found
            return found

    def put(self, key: Hashable, piece: Binned) -> None:
        """Keep it until there is no room."""
        with self._lock:
            old = self._pieces.pop(key, None)
            self._pieces[key] = piece
            self.nbytes += _size(piece) - (0 if old is None else _size(old))
            while self.nbytes > self._most and self._pieces:
                self.nbytes -= _size(self._pieces.pop(next(iter(self._pieces))))


def _size(piece: Binned) -> int:
    return piece.nbytes + PER_LINE * (1 + len(piece.labels))


def keys(query: Query, bins: Bins, states: Mapping[int, Hashable]) -> dict[int, Hashable]:
    """Of each whole hour of the range that can be kept, what its bins follow from: question, bins, the states of the
    hour and, where the question looks back, of the one before."""
    back = -(-query.lead_ms // HOUR_MS)
    asked = (
        query.metric.name,
        query.targets,
        tuple(sorted(query.labels.items())),
        query.total,
        query.quantile,
        query.slowest_ms,
        query.rate,
        bins,
    )
    first = -(-query.start_ms // HOUR_MS) * HOUR_MS
    found: dict[int, Hashable] = {}
    for hour in range(first, query.end_ms + 2 - HOUR_MS, HOUR_MS):
        needed = [hour - place * HOUR_MS for place in range(back + 1)]
        if all(one in states for one in needed):
            found[hour] = (asked, hour, tuple(states[one] for one in needed))
    return found
