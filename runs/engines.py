"""What the samples of the engines amount to in a stretch, added up piece by piece: a long one takes no more memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from runs.activity import Window, merged, parts, windows
from runs.decoding import LATENCY, Decoding
from runs.loads import Extent, Load, Spent
from runs.rates import Rates
from runs.reader import LEAD_MS, Absence, Reader
from runs.rows import names, of
from runs.silence import silent
from runs.slices import READINGS, Piece, pieces, slices
from runs.streams import Streams
from runs.subject import Subject
from runs.watch import Watch
from telemetry.catalog import cluster, engine
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools

SAMPLES = (
    engine.GENERATION_TOKENS,
    LATENCY,
    engine.REQUESTS_RUNNING,
    engine.REQUESTS_WAITING,
    engine.KV_CACHE_USAGE,
    engine.ENGINE_PHASE,
    engine.REPORTED_ACCEPTANCE,
    engine.REPORTED_ACCEPTED_LENGTH,
    cluster.SCRAPE_SECONDS,
)
"""The last is of every reading, whatever the engine offers: it says when there was one."""


@dataclass
class Mean:
    """Of the readings of a gauge, of all engines together. count: how many."""

    total: float = 0.0
    count: int = 0

    def add(self, piece: Piece, name: str) -> None:
        """Those of a metric in a piece."""
        rows = [row for row, series in enumerate(piece.frame.series) if series.metric == name]
        low, high = np.searchsorted(piece.frame.ticks, (piece.low_ms, piece.high_ms + 1))
        values = piece.frame.values[rows, low:high]
        known = values[~np.isnan(values)]
        self.total += float(known.sum())
        self.count += len(known)

    @property
    def value(self) -> float:
        """NaN of none."""
        return self.total / self.count if self.count else float("nan")


def _reported() -> dict[str, Mean]:
    return {metric.name: Mean() for metric in (engine.REPORTED_ACCEPTANCE, engine.REPORTED_ACCEPTED_LENGTH)}


@dataclass
class Engines:
    """All engines of a stretch. interval_s: longest nominal interval of a target, 0 of none.

    running, waiting, cache: while all of them answer; fullest: the cache of those that do.
    reported: what an engine says of its drafts, by metric.
    """

    extent: Extent
    watch: Watch
    rates: Rates
    running: Load = field(default_factory=lambda: Load(engine.REQUESTS_RUNNING, profiled=True))
    waiting: Load = field(default_factory=lambda: Load(engine.REQUESTS_WAITING))
    cache: Load = field(default_factory=lambda: Load(engine.KV_CACHE_USAGE))
    fullest: Load = field(default_factory=lambda: Load(engine.KV_CACHE_USAGE, all_of=False))
    spent: Spent = field(default_factory=Spent)
    streams: Streams = field(default_factory=Streams)
    decoding: Decoding = field(default_factory=Decoding)
    reported: Mapping[str, Mean] = field(default_factory=_reported)
    interval_s: float = 0.0
    _active: list[tuple[float, float, float]] = field(default_factory=list)

    @cached_property
    def windows(self) -> list[Window]:
        """Stretches in which output tokens came; asked for once all pieces are added."""
        return merged(self._active)

    def add(self, piece: Piece, away: Bools) -> None:
        """A piece. away: bool[tick] of its frame, where an engine of the run is silent."""
        frame, extent = piece.frame, self.extent
        self.watch.add(frame, piece.low_ms, piece.high_ms)
        tokens = of(frame, engine.GENERATION_TOKENS)
        begin = extent.start_ms if piece.first else piece.low_ms - 1
        self._active += parts(tokens, begin, piece.high_ms)
        for load in (self.running, self.waiting, self.cache, self.fullest):
            load.add(piece, away, extent)
        self.spent.add(piece, extent)
        self.streams.add(piece, away, extent)
        near = windows(tokens, max(extent.start_ms, piece.low_ms - LEAD_MS), extent.end_ms)
        self.rates.add(piece, away, near)
        self.decoding.add(piece, away, near, extent.start_ms)
        longest = max(frame.gap_ms.tolist(), default=0.0)
        self.interval_s = max(self.interval_s, longest / NOMINAL_PER_GAP / 1000.0)
        for name, mean in self.reported.items():
            mean.add(piece, name)


def load(
    subject: Subject,
    reader: Reader,
    absences: Sequence[Absence],
    before: Mapping[str, float],
    readings: int = READINGS,
) -> Engines:
    """Read the engines of a subject. before: last readings before the start, by target. readings: as of `slices`."""
    start, end, targets = subject.start_ms, subject.end_ms, subject.targets
    found = Engines(Extent(start, end), Watch(start, end), Rates(start))
    own = names((cluster.SCRAPE_SECONDS,))
    cut = slices(start, end, len(targets), readings)
    for piece in pieces(reader, names(SAMPLES), cut, targets, lambda one: subject.owns(one) or one.metric in own):
        away = silent(piece.frame, targets, absences, before)
        found.add(piece, away)
        del piece  # before the next one is read
    return found
