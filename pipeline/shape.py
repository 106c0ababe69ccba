"""The lines of a page, as counters are unwrapped by them, and which of them fell together."""

from __future__ import annotations

from dataclasses import dataclass

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
