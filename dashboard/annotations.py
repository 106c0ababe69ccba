"""What people write down of an instant or a stretch of time.

They are the web's own: they live under one preference, so a read and a write of it take turns.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.api.parameters import ParameterError
from storage.store import Store

KEY = "annotations"
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A new annotation: an instant, or a stretch where `end_ms` is not None; epoch milliseconds."""

    start_ms: int
    end_ms: int | None
    text: str


class Annotations:
    """The annotations of a store: [{id, t, end, text}], oldest first. Threads of one process take turns."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = threading.Lock()

    def all(self) -> list[dict[str, Any]]:
        """Every annotation there is, by its start."""
        kept: Mapping[str, Any] = self._store.preference(KEY) or {}
        return sorted(kept.get("items", ()), key=lambda one: (one["t"], one["id"]))

    def between(self, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
        """Those that touch start ≤ t ≤ end."""
        return [one for one in self.all() if one["t"] <= end_ms and (one["end"] or one["t"]) >= start_ms]

    def add(self, asked: Asked) -> int:
        """Keep one; its number, which is never given again. ParameterError when there are MOST already."""
        with self._turn:
            kept = self._store.preference(KEY) or {"last": 0, "items": []}
            if len(kept["items"]) >= MOST:
                raise ParameterError(f"There are {MOST} annotations already; delete some first.", 409)
            number = int(kept["last"]) + 1
            item = {"id": number, "t": asked.start_ms, "end": asked.end_ms, "text": asked.text}
            self._store.set_preference(KEY, {"last": number, "items": [*kept["items"], item]})
        return number

    def remove(self, number: int) -> bool:
        """Forget one; False when there is none of this number."""
        with self._turn:
            kept = self._store.preference(KEY) or {"last": 0, "items": []}
            left = [one for one in kept["items"] if one["id"] != number]
            if len(left) == len(kept["items"]):
                return False
            self._store.set_preference(KEY, {"last": kept["last"], "items": left})
        return True
