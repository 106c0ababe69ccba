"""The lines of a page, as counters are unwrapped by them, and which of them fell together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from collectors.scrape.page import Layout
from pipeline.ladders import Ladders
from pipeline.ranges import Ranges
from telemetry import catalog
from telemetry.frame import Bools, Floats
from telemetry.model import Scope

TELLING = 3
"""So many counters that go on show that their process does."""
Owner = tuple[str | None, str | None]
"""Engine and model."""


@dataclass(slots=True)
class Shape:
    """State of one layout's lines: arrays of n_raw, unless said otherwise.

    raw: last number of each counter, NaN before its first. offset: what is added to it.
    gone: float64[series]; what lines that left the page had counted, so that a sum never falls.
    reborn: the process has started since the line's last number. from_zero: the page before, by lacking the line,
    said that it stood at 0. waiting: part of a series that goes on where an earlier collector stopped, but not yet.
    asked_ms: when the page of the line's last number was asked for, NaN before its first.
    limits: what its number can be, and how fast it can grow. ladders: its histograms.
    steady: no counter's process began anew since its last number.
    """

    layout: Layout
    counters: Bools
    raw: Floats
    offset: Floats
    gone: Floats
    reborn: Bools
    from_zero: Bools
    waiting: Bools
    asked_ms: Floats
    limits: Ranges
    ladders: Ladders
    steady: bool = False
    soon: Floats = field(init=False)
    """What a counter can have grown by at least, however short the time; infinite for what is none."""

    def __post_init__(self) -> None:
        self.soon = np.where(self.counters, self.limits.most(np.zeros(len(self.counters))), np.inf)

    def settle(self) -> None:
        """Find out whether the next page may be looked at as a whole. What has no number yet, or waits for one to go on
        from, has NaN before, from which nothing goes on."""
        self.steady = not (self.reborn & self.counters).any()

    def goes_on(self, raw: Floats) -> bool:
        """Whether these numbers of the next page are plain progress of every counter, and what can be of all others.

        Looked at as a whole; False is no verdict, but asks for a look at each line. raw: NaN is unknown.
        """
        if not self.steady:
            return False
        gained = raw - np.where(self.counters, self.raw, self.limits.low)
        fits = (gained >= 0.0) & (gained <= self.soon) & (raw <= self.limits.high)
        if not fits.all() and not (fits | (np.isnan(raw) & ~self.counters)).all():
            return False
        return self.ladders.hold(raw)

    def go_on(self, raw: Floats, asked_ms: float) -> Floats:
        """Take over the numbers of a page that goes on; float64[series]: what they make of each, unwrapped."""
        self.raw = np.where(self.counters, raw, self.raw)
        self.asked_ms = np.where(self.counters, asked_ms, self.asked_ms)
        return self.layout.fold(raw + self.offset) + self.gone


class Falls:
    """Of each engine of a page, how many of its counters fell and how many went on; counted when it is asked."""

    def __init__(self, shape: Shape, raw: Floats, known: Bools) -> None:
        self._shape = shape
        self._seen = known & (shape.raw > 0)
        self._fell = self._seen & (raw < shape.raw)
        self._owners: dict[Owner, tuple[int, int]] | None = None

    def none(self) -> bool:
        """Whether all counters went on, and there are enough of them to tell: then nothing started anew."""
        return int(self._seen.sum()) >= TELLING and not self._fell.any()

    def alone(self, line: int) -> bool:
        """Whether most other counters of this line's engine went on: then it did not start anew."""
        if self._owners is None:
            self._owners = self._count()
        owner = _owner(self._shape, line)
        fell, all_of = self._owners.get(owner, (0, 0)) if owner is not None else (0, 0)
        return all_of - fell > fell

    def _count(self) -> dict[Owner, tuple[int, int]]:
        counted: dict[Owner, tuple[int, int]] = {}
        for line in np.flatnonzero(self._seen).tolist():
            owner = _owner(self._shape, line)
            if owner is not None:
                fell, all_of = counted.get(owner, (0, 0))
                counted[owner] = fell + bool(self._fell[line]), all_of + 1
        return counted


def _owner(shape: Shape, line: int) -> Owner | None:
    """(engine, model) of a line; None on a node, whose counters each have a source of their own."""
    series = shape.layout.series[shape.layout.source[line]]
    if catalog.stored(series.metric).scope is not Scope.ENGINE:
        return None
    return series.label("engine"), series.label("model")
