"""Decode speed of a stretch in trailing windows: median and largest, added up piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from runs.activity import Window, within
from runs.rows import of
from runs.slices import Piece
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.catalog.ratios import DECODE_TPS
from telemetry.frame import Bools, Floats
from telemetry.grid import largest

PEAK_S, PEAK_SHORT_S = 10.0, 1.0
MOST = 1_000_000
"""Values whose median is exact: eleven days and a half of one engine at one reading a second."""
STEP = 1e-4
"""Of more values each is taken for the middle of a step of this width, as a share of itself."""


@dataclass
class Median:
    """Of values that are not negative, as many as there may be. count: how many. most: that are kept one by one."""

    most: int = MOST
    count: int = 0
    _values: list[Floats] = field(default_factory=list)
    _zeros: int = 0
    _steps: dict[int, int] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether each value is still known; else it is good to half a `STEP`."""
        return self.count <= self.most

    def add(self, values: Floats) -> None:
        """More of them, in any order."""
        self.count += len(values)
        self._values.append(values)
        if not self.exact:
            self._count(np.concatenate(self._values))
            self._values = []

    def _count(self, values: Floats) -> None:
        positive = values[values > 0]
        self._zeros += len(values) - len(positive)
        steps, counts = np.unique(np.floor(np.log(positive) / STEP), return_counts=True)
        for step, count in zip(steps.astype(np.int64).tolist(), counts.tolist(), strict=True):
            self._steps[step] = self._steps.get(step, 0) + count

    @property
    def value(self) -> float:
        """The middle one, of an even number the mean of the middle two; NaN of none."""
        if not self.count:
            return float("nan")
        if self.exact:
            return float(np.median(np.concatenate(self._values)))
        return (self._at((self.count - 1) // 2) + self._at(self.count // 2)) / 2.0

    def _at(self, place: int) -> float:
        """The value at a place of their order."""
        if place < self._zeros:
            return 0.0
        steps = sorted(self._steps)
        upto = self._zeros + np.cumsum([self._steps[step] for step in steps])
        step = steps[int(np.searchsorted(upto, place, side="right"))]
        return float(np.exp((step + 0.5) * STEP))


@dataclass
class Rates:
    """median: of the 10 s means while tokens came; peak, peak_short: the largest means of 10 s and 1 s, NaN where
    no window can be measured."""

    start_ms: int
    median: Median = field(default_factory=Median)
    peak: float = float("nan")
    peak_short: float = float("nan")
    _first_ms: float | None = None

    def add(self, piece: Piece, silent: Bools, active: Sequence[Window]) -> None:
        """silent: bool[tick] of the piece's frame. active: windows in which tokens came, as far as they lie in it."""
        ticks = piece.frame.ticks
        if self._first_ms is None:
            before = ticks[ticks <= self.start_ms]
            self._first_ms = float(before[-1]) if len(before) else float(self.start_ms)
        long, short = (self._line(piece, silent, window_s)[piece.own] for window_s in (PEAK_S, PEAK_SHORT_S))
        self.peak, self.peak_short = (
            float(np.fmax(most, largest(own[~np.isnan(own)]))) if not np.isnan(own).all() else most
            for most, own in ((self.peak, long), (self.peak_short, short))
        )
        busy = within(ticks[piece.own].astype(np.float64), active) & ~np.isnan(long)
        self.median.add(long[busy])

    def _line(self, piece: Piece, silent: Bools, window_s: float) -> Floats:
        """Decode over trailing windows that lie in the stretch, at each tick of the frame; NaN where none is."""
        tokens = of(piece.frame, engine.GENERATION_TOKENS)
        found = ratios.evaluate(DECODE_TPS, tokens, lambda _: (), window_s * 1000.0)
        line = np.where(silent, np.nan, found.get((), np.full(len(tokens.ticks), np.nan)))
        first = self.start_ms if self._first_ms is None else self._first_ms
        return np.where(tokens.ticks - window_s * 1000.0 >= first, line, np.nan)
