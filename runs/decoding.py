"""Decoding: output tokens, and the seconds in which they came, of the time of which both are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runs.activity import Window, within
from runs.rows import of
from runs.slices import Piece
from runs.streams import together
from telemetry.catalog import engine
from telemetry.frame import Bools, Frame
from telemetry.model import part

LATENCY = part(engine.ITL, "sum")


@dataclass
class Decoding:
    """tokens: that came; seconds: in which they came; latency_s: inter-token latencies of the same time.
    early_s: of the seconds those before the stretch, for it counts from the last reading at or before its start.

    A step from reading to reading over a gap or a restart is in none of them, and neither is what others did meanwhile:
    how fast tokens came then nobody knows.
    """

    tokens: float = 0.0
    seconds: float = 0.0
    latency_s: float = 0.0
    early_s: float = 0.0

    def add(self, piece: Piece, silent: Bools, active: Sequence[Window], start_ms: float) -> None:
        """silent: bool[tick] of the piece's frame. active: windows in which tokens came, as far as they lie in it.
        start_ms: of the stretch."""
        self._count(piece.frame, active, piece.steps_own & ~silent[:-1], start_ms)

    @classmethod
    def over(cls, frame: Frame, active: Sequence[Window]) -> Decoding:
        """Of a whole frame."""
        found = cls()
        found._count(frame, active, np.ones(max(len(frame.ticks) - 1, 0), dtype=bool), -np.inf)
        return found

    def _count(self, frame: Frame, active: Sequence[Window], own: Bools, start_ms: float) -> None:
        """own: bool[tick − 1]."""
        gained, usable = together(of(frame, engine.GENERATION_TOKENS))
        ticks = frame.ticks.astype(np.float64)
        usable = usable & own & within((ticks[:-1] + ticks[1:]) / 2.0, active)
        self.tokens += float(gained[usable].sum())
        self.seconds += float(np.diff(ticks)[usable].sum()) / 1000.0
        self.early_s += float(np.clip(start_ms - ticks[:-1], 0.0, np.diff(ticks))[usable].sum()) / 1000.0
        self.latency_s += float(together(of(frame, LATENCY))[0][usable].sum())

    @property
    def mean(self) -> float:
        """Tokens per second; NaN where no time is known in which tokens came."""
        return self.tokens / self.seconds if self.seconds > 0 else float("nan")
