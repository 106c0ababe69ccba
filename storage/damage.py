"""Damage: what of sealed hours cannot be read any more. It costs itself, and says so; all else is answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from storage.clocks import Place
from storage.errors import StoreBroken
from storage.records import Absence
from telemetry.summary import HOUR_MS

MOST = 1_000
"""So many places are remembered; more are as good as a damaged file."""

log = logging.getLogger(__name__)

Broken = Callable[[Place, StoreBroken], None]
"""Told of what is damaged: returns, and it is unknown from then on, or raises."""


def refused(_place: Place, error: StoreBroken) -> None:
    """For whoever must not go on without it."""
    raise error


class Damage:
    """Everything that one process has met. Each place is told once to the log, and is an absence with its reason."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str | None, int], str] = {}
        self._told: set[str] = set()

    def note(self, place: Place, error: StoreBroken) -> None:
        """A clock or a chunk cannot be read: unknown."""
        text = str(error)
        with self._lock:
            if text in self._told or len(self._told) >= MOST:
                return
            self._told.add(text)
            if isinstance(place.whose, str):
                target, metric = place.whose, None
            else:
                target, metric = place.whose.target, place.whose.metric
            self._found[target, metric, place.hour] = text
        log.error("%s; what it held is unknown", text)

    def before(self, hour: int) -> Broken:
        """For sealing: what stands before an hour may be unknown; of the hour itself nothing may be lost."""
        return lambda place, error: self.note(place, error) if place.hour < hour else refused(place, error)

    def absences(self, start: int, end: int, target: str | None = None) -> list[Absence]:
        """What is unknown for it in start ≤ t ≤ end."""
        with self._lock:
            found = list(self._found.items())
        return [
            Absence(name, metric, hour, hour + HOUR_MS, text)
            for (name, metric, hour), text in found
            if hour <= end and hour + HOUR_MS >= start and target in (None, name)
        ]
