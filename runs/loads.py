"""Gauges of a deployment's engines over a stretch, and the time in each phase: added up piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from runs.rows import of
from runs.slices import Piece
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.grid import largest
from telemetry.model import Fold, Metric
from telemetry.phases import Phase

ORDER = (
    Phase.DECODING,
    Phase.PREFILLING,
    Phase.STALLED,
    Phase.LOADING,
    Phase.ASLEEP,
    Phase.IDLE,
    Phase.STOPPED,
    Phase.UNKNOWN,
)
"""Of several engines the deployment does what stands first."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Of a stretch: start ≤ t ≤ end, epoch milliseconds."""

    start_ms: int
    end_ms: int


@dataclass
class Load:
    """A gauge over all engines, each reading until the next one. told: whether any reading told it.

    all_of: whether it is known only while none of the engines is silent; else those that answer stand for all.
    profiled: whether the time at each of its values is kept. most: the largest reading, NaN where there is none.
    """

    metric: Metric
    all_of: bool = True
    profiled: bool = False
    told: bool = False
    most: float = float("nan")
    known_s: float = 0.0
    _sum: float = 0.0
    _seconds: dict[float, float] = field(default_factory=dict)

    def add(self, piece: Piece, silent: Bools, extent: Extent) -> None:
        """silent: bool[tick] of the piece's frame."""
        frame = of(piece.frame, self.metric)
        whole = line(frame, self.metric, silent if self.all_of else np.zeros_like(silent))[piece.own]
        spent = seconds(frame, extent)[piece.own]
        here = ~np.isnan(whole) & ((spent > 0) | (frame.ticks[piece.own] == extent.end_ms))
        values, lasted = whole[here], spent[here]
        self.told |= bool((~np.isnan(frame.values[:, piece.own])).any())
        self.most = float(np.fmax(self.most, largest(values))) if len(values) else self.most
        self.known_s += float(lasted.sum())
        self._sum += float((values * lasted).sum())
        if self.profiled:
            self._note(values, lasted)

    def _note(self, values: Floats, lasted: Floats) -> None:
        numbers, place = np.unique(values, return_inverse=True)
        spent = np.bincount(place, weights=lasted, minlength=len(numbers))
        for number, length in zip(numbers.tolist(), spent.tolist(), strict=True):
            self._seconds[number] = self._seconds.get(number, 0.0) + length

    @property
    def mean(self) -> float:
        """Over the time in which it is known; NaN of none."""
        return self._sum / self.known_s if self.known_s > 0 else float("nan")

    def profile(self) -> list[tuple[float, float]]:
        """(value, seconds at it), rising; what lasted no time is left out."""
        return sorted((value, length) for value, length in self._seconds.items() if length > 0)


@dataclass
class Spent:
    """Seconds in each phase, in `ORDER`; total_s: in any of them, unknown included."""

    by_phase: Floats = field(default_factory=lambda: np.zeros(len(ORDER)))

    def add(self, piece: Piece, extent: Extent) -> None:
        """A piece."""
        frame = of(piece.frame, engine.ENGINE_PHASE)
        lasted = seconds(frame, extent)[piece.own]
        self.by_phase += np.bincount(busiest(frame)[piece.own], weights=lasted, minlength=len(ORDER))

    @property
    def total_s(self) -> float:
        """In all of them."""
        return float(self.by_phase.sum())


def line(frame: Frame, metric: Metric, silent: Bools) -> Floats:
    """A gauge over all engines at each tick, folded as the catalogue says: float64[tick], NaN unknown.

    frame: the metric's rows. silent: bool[tick]; where an engine is, what all do together is not known.
    """
    ticks = frame.ticks.astype(np.float64)
    held = ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms))
    if metric.across is Fold.SUM:
        values = ratios.total(held, ticks, ~np.isnan(frame.values))
    else:
        values = largest(held, 0) if len(held) else np.full(len(ticks), np.nan)
    return np.where(silent, np.nan, values)


def seconds(frame: Frame, extent: Extent) -> Floats:
    """How long each tick of a frame counts: until the next one or the end; over a gap for one interval."""
    ticks = frame.ticks.astype(np.float64)
    gap_ms = max(frame.gap_ms.tolist(), default=0.0)
    until = np.append(ticks[1:], extent.end_ms)[: len(ticks)]
    length = until - ticks
    until = np.where(length > gap_ms, ticks + gap_ms / NOMINAL_PER_GAP, until)
    lasted = np.minimum(until, extent.end_ms) - np.maximum(ticks, extent.start_ms)
    return np.asarray(np.maximum(lasted, 0.0) / 1000.0)


def busiest(frame: Frame) -> Ints:
    """Place in `ORDER` of what the deployment does at each tick: the first of what its engines do.

    frame: the phases of its engines.
    """
    ticks = frame.ticks.astype(np.float64)
    held = ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms))
    rank = np.full(len(Phase) + 1, len(ORDER) - 1)
    rank[[phase.value for phase in ORDER]] = np.arange(len(ORDER))
    codes = np.where(np.isnan(held), Phase.UNKNOWN.value, held).astype(np.int64)
    return rank[codes].min(axis=0) if len(held) else np.full(len(ticks), len(ORDER) - 1)
