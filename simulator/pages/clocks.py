"""Clocks of the pages: simulated seconds → the time that the world outside would read.

With a speed-up everything happens faster, but no clock runs fast: pages tell the time of the one who reads them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Clocks:
    """`epoch_s` is the wall clock at 0 of the simulated clock; `speed` simulated seconds pass in one real one."""

    epoch_s: float
    speed: float

    def wall_s(self, at: float) -> float:
        """Epoch seconds at an instant of the simulated clock."""
        return self.epoch_s + at / self.speed
