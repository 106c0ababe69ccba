"""Decode per request: tokens and requests over time, both of the same time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from runs.loads import Extent, line, seconds
from runs.rows import Place, of, place
from runs.slices import Piece
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.frame import Bools, Floats, Frame

SIDES = (engine.GENERATION_TOKENS, engine.REQUESTS_RUNNING)


@dataclass
class Telling:
    """Which engines count output tokens, and which tell how many requests run: a quotient is of those that do both."""

    counted: set[Place] = field(default_factory=set)
    told: set[Place] = field(default_factory=set)

    def add(self, frame: Frame) -> None:
        """Engines of a frame."""
        for places, metric in zip((self.counted, self.told), SIDES, strict=True):
            places |= {place(one) for one in of(frame, metric).series}

    @property
    def untold(self) -> bool:
        """Whether an engine counts output tokens and does not tell how many requests run."""
        return bool(self.counted - self.told)


@dataclass
class Streams:
    """tokens: that came; request_s: requests running × seconds. Of the time alone in which both are known."""

    tokens: float = 0.0
    request_s: float = 0.0
    telling: Telling = field(default_factory=Telling)

    def add(self, piece: Piece, silent: Bools, extent: Extent) -> None:
        """Step by step from reading to reading: a step over a gap or a restart, or in which an engine of the run is
        silent, counts on neither side. A step that the start cuts counts with its part."""
        self.telling.add(piece.frame)
        tokens, running = (of(piece.frame, metric) for metric in SIDES)
        gained, usable = together(tokens)
        load, lasted = (both[:-1] for both in (line(running, SIDES[1], silent), seconds(running, extent)))
        came = gained * lasted * 1000.0 / np.diff(tokens.ticks)
        usable = usable & ~np.isnan(load) & piece.steps_own
        self.tokens += float(came[usable].sum())
        self.request_s += float((load * lasted)[usable].sum())

    @property
    def mean(self) -> float:
        """Tokens per second of one request; NaN where one side is not known."""
        return self.tokens / self.request_s if self.request_s > 0 and not self.telling.untold else float("nan")


def together(frame: Frame) -> tuple[Floats, Bools]:
    """(gained, known), each [tick − 1]: what all counters gain from each tick to the next, and whether that is known of
    all that are read at the time; over a gap or a restart of one of them it is not."""
    gained = steps(frame)
    known = ~np.isnan(gained)
    held = ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(np.float64), ~np.isnan(frame.at_ms))
    counted = ~np.isnan(held)[:, :-1]
    usable = np.asarray(known.any(axis=0)) & ~np.asarray((counted & ~known).any(axis=0))
    return np.where(known, gained, 0.0).sum(axis=0), usable


def steps(frame: Frame) -> Floats:
    """What counters gain from each tick to the next: float64[series, tick − 1]; NaN over a gap or a restart, and before
    the first and after the last sample. Between samples of one that is read more rarely they rise evenly."""
    found = np.full((len(frame.series), max(len(frame.ticks) - 1, 0)), np.nan)
    ticks = frame.ticks.astype(np.float64)
    for row, values in enumerate(frame.values):
        places = np.flatnonzero(~np.isnan(values))
        if len(places) < 2:
            continue
        ends = np.arange(1, len(ticks))
        after = np.searchsorted(places, ends)
        inside = (after > 0) & (after < len(places))
        right = places[np.minimum(after, len(places) - 1)]
        left = places[np.maximum(after - 1, 0)]
        restarts = np.cumsum(frame.breaks[row])
        whole = inside & (ticks[right] - ticks[left] <= frame.gap_ms[row]) & (restarts[right] == restarts[left])
        found[row] = np.where(whole, np.diff(np.interp(ticks, ticks[places], values[places])), np.nan)
    return found
