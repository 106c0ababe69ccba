"""Clocks of sealed hours that were read before: whoever draws several metrics, or draws again, reads them once."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from storage.clocks import Reading
from telemetry.frame import Ints

MOST_BYTES = 8_000_000
"""A day of many targets that are read together is a megabyte."""


class Head(NamedTuple):
    """What stands of a clock in an index, and how often hours were deleted before. An hour that is sealed anew has more
    readings, and another that comes in place of a deleted one has a higher number of those: equal heads are heads of
    equal clocks."""

    target: str
    hour: int
    n: int
    first_tick: int
    last_tick: int
    codec: str
    dropped: int


class Remembered:
    """Readings without lags, by their head, those of the hour put longest ago leaving first. For any thread."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._hours: dict[int, dict[str, tuple[Head, Reading]]] = {}
        self._lock = threading.Lock()

    def get(self, head: Head) -> Reading | None:
        """What was put for it, if it is still there."""
        with self._lock:
            known = self._hours.get(head.hour, {}).get(head.target)
        return known[1] if known is not None and known[0] == head else None

    def put(self, found: dict[Head, Reading]) -> None:
        """Keep readings until there is no room."""
        with self._lock:
            for head, reading in found.items():
                mine = self._hours.pop(head.hour, {})
                mine[head.target] = (head, reading)
                self._hours[head.hour] = mine
            while self.nbytes() > self._most:
                del self._hours[next(iter(self._hours))]

    def nbytes(self) -> int:
        """Bytes of all arrays, those that targets share counted once."""
        arrays = {
            id(array): array.nbytes
            for mine in self._hours.values()
            for _, reading in mine.values()
            for array in (reading.ticks, reading.layout)
            if array.strides != (0,)
        }
        return sum(arrays.values())


def shared(reading: Reading, known: dict[int, tuple[Ints, Ints]]) -> Reading:
    """The same, whose layout takes no room where it is one and the same all through. known: of layouts met before, for
    of equal ones the decoder gives the same array."""
    layout = reading.layout
    if id(layout) not in known:
        still = (layout == layout[0]).all()
        known[id(layout)] = (layout, np.broadcast_to(layout[0], len(layout)) if still else layout)
    return reading._replace(layout=known[id(layout)][1])
