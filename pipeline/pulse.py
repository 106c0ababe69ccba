"""Pulse: whether this process was running all along. One that was stopped, or whose machine slept, does not know when
an answer came that lay ready when it went on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

BEAT_S = 0.25
TOLERANCE_S = 0.5
"""A beat that comes later than this is a pause: an instant that is wrong by less moves no 10 s rate by a tenth."""
SETTLE_S = 0.25
"""So long after a pause answers that lay ready are still being taken in."""


class Pulse:
    """Notices pauses of the event loop. monotonic: seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._beat_s: float | None = None
        self._resumed_s = float("-inf")

    async def run(self) -> None:
        """Beat until cancelled."""
        self._beat_s = self._monotonic()
        while True:
            await asyncio.sleep(BEAT_S)
            self.beat()

    def beat(self) -> None:
        """One beat."""
        if self._paused():
            self._resumed_s = self._monotonic()
        self._beat_s = self._monotonic()

    def hid(self, sent_s: float) -> bool:
        """Whether an answer that is here now, to a question of then, may have come in a pause."""
        if self._paused():
            return True
        return sent_s < self._resumed_s and self._monotonic() - self._resumed_s < SETTLE_S

    def _paused(self) -> bool:
        """Whether the beat that is due has been missed for so long that this is the first moment after a pause."""
        return self._beat_s is not None and self._monotonic() - self._beat_s > BEAT_S + TOLERANCE_S
