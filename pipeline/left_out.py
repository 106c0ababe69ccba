"""Ticks that the collector itself left out: how many, and why, as an event that says so to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LEFT_OUT = "left out"
"""Kind of the event; its label TICKS says how many."""
TICKS = "ticks"
TOGETHER_MS = 60_000
"""Ticks left out within a minute of the last event are told together: a hub that is too slow leaves out many."""
OWN_WORK = "its own work took that long"
STOOD_STILL = "it stood still: stopped, or without processor time"


def reason(processor_s: float, passed_s: float) -> str:
    """Why a tick came late: this process worked for at least half of the time that passed, or stood still."""
    return OWN_WORK if processor_s >= passed_s / 2.0 else STOOD_STILL


@dataclass
class LeftOut:
    """Counts ticks left out, and says when they are to be told. Instants are epoch milliseconds."""

    waiting: int = 0
    why: str = ""
    told_ms: float = float("-inf")

    def add(self, ticks: int, why: str) -> None:
        """Some ticks were left out; of several reasons the last is told."""
        if ticks > 0:
            self.waiting, self.why = self.waiting + ticks, why

    def due(self, now_ms: int) -> tuple[str, Mapping[str, str]] | None:
        """Text and labels of an event that is to be told now; None while there is none."""
        if not self.waiting or now_ms - self.told_ms < TOGETHER_MS:
            return None
        count, self.waiting, self.told_ms = self.waiting, 0, now_ms
        return f"the collector left out {count} {'tick' if count == 1 else 'ticks'}: {self.why}", {TICKS: str(count)}
