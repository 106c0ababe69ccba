"""What happened on the machine: the last events, numbered."""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

KEPT = 100
LONGEST_TEXT = 160


class Event(NamedTuple):
    """One event: its number, epoch seconds, kind, a sentence, labels; `baseline` when it was there before the agent."""

    sequence: int
    time_s: float
    kind: str
    text: str
    labels: dict[str, str]
    baseline: bool


class EventLog:
    """The last events of a machine. Written by one round at a time, read by any thread."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self.sequence = 0

    def add(self, time_s: float, kind: str, text: str, labels: dict[str, str], baseline: bool = False) -> None:
        """Number an event and keep it; the oldest falls out."""
        with self._lock:
            self.sequence += 1
            self._events.append(Event(self.sequence, time_s, kind, text[:LONGEST_TEXT], labels, baseline))

    def after(self, sequence: int) -> list[Event]:
        """The kept events with a higher number, oldest first.

        All of them when no event has had that number yet: whoever asks knows it from an agent that ran before this one.
        """
        with self._lock:
            known = sequence if sequence <= self.sequence else 0
            return [event for event in self._events if event.sequence > known]
