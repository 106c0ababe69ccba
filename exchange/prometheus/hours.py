"""One hour of one target: the pages of all its scrapes, counters unwrapped, on one axis of real times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from collectors.scrape.page import Page
from exchange.prometheus.client import SLICE_MS, Samples
from exchange.prometheus.pages import Pages
from exchange.prometheus.scrapes import Scrape
from storage.records import Offset
from telemetry.frame import Floats, Ints
from telemetry.model import Series
from telemetry.summary import HOUR_MS

Counters = Mapping[Series, tuple[float, float]]
"""Last stored (value, offset) of each counter."""
DEFAULT_INTERVAL_MS = 15_000
"""Where an hour does not tell: of a single sample."""


class Unwrapped(Protocol):
    """What the product's ingest makes of a page."""

    @property
    def values(self) -> Floats:
        """float64[series] of the page's layout."""

    @property
    def offsets(self) -> Sequence[Offset]:
        """Steps of its counters that are no plain progress."""


class Unwrapper(Protocol):
    """The product's ingest of one target, which lives above this package: counters are judged in one place only."""

    def take(self, page: Page, tick: int) -> Unwrapped:
        """Unwrap and fold one page."""


MakeUnwrapper = Callable[[str, Counters], Unwrapper]
Ask = Callable[[Scrape, int, int], Sequence[Samples]]
"""(scrape, start, end) → samples of start ≤ t < end."""


@dataclass
class Reader:
    """Reads one scrape, hour after hour. interval_ms: between its last samples. facts: what its pages said last."""

    scrape: Scrape
    ask: Ask
    unwrapper: Unwrapper
    pages: Pages
    interval_ms: int = DEFAULT_INTERVAL_MS
    facts: dict[str, str] = field(default_factory=dict)

    def hour(self, hour: int) -> Part:
        """What it had on its pages in this hour."""
        part = Part()
        for start in range(hour, hour + HOUR_MS, SLICE_MS):
            for tick, page in self.pages.of(self.ask(self.scrape, start, start + SLICE_MS)):
                read = self.unwrapper.take(page, tick)
                part.add(tick, page.layout.series, read.values, read.offsets)
                self.facts |= page.layout.facts
        if len(part.ticks) > 1:
            self.interval_ms = max(1, round(float(np.median(np.diff(part.ticks)))))
        return part

    def prime(self, hour: int, tick: int) -> None:
        """Learn again what the page of a tick just before this hour said, if the source still has it."""
        last = list(self.pages.of(self.ask(self.scrape, hour - SLICE_MS, hour)))[-1:]
        for at, page in last:
            if at == tick:
                self.unwrapper.take(page, at)


@dataclass
class Part:
    """Pages of one scrape, by the series that they had."""

    ticks: list[int] = field(default_factory=list)
    offsets: list[Offset] = field(default_factory=list)
    runs: dict[tuple[Series, ...], tuple[list[int], list[Floats]]] = field(default_factory=dict)

    def add(self, tick: int, series: tuple[Series, ...], values: Floats, offsets: Iterable[Offset]) -> None:
        """One page."""
        ticks, rows = self.runs.setdefault(series, ([], []))
        ticks.append(tick)
        rows.append(values)
        self.ticks.append(tick)
        self.offsets += offsets


@dataclass(frozen=True)
class Merged:
    """Everything of a target's hour: int64[tick], series, float64[series, tick], offsets."""

    ticks: Ints
    series: tuple[Series, ...]
    values: Floats
    offsets: tuple[Offset, ...]


def merged(parts: Sequence[Part]) -> Merged:
    """Parts on one axis; series sorted, those without a single number left out."""
    ticks = np.unique(np.array([tick for part in parts for tick in part.ticks], dtype=np.int64))
    everything = sorted({one for part in parts for series in part.runs for one in series}, key=_identity)
    row_of = {one: row for row, one in enumerate(everything)}
    values = np.full((len(everything), len(ticks)), np.nan)
    for part in parts:
        for series, (own, rows) in part.runs.items():
            if series:
                place = np.ix_(np.array([row_of[one] for one in series]), np.searchsorted(ticks, own))
                values[place] = np.array(rows).T
    known = ~np.isnan(values).all(axis=1)
    kept = tuple(one for one, is_known in zip(everything, known.tolist(), strict=True) if is_known)
    offsets = tuple(offset for part in parts for offset in part.offsets)
    return Merged(ticks, kept, values[known], offsets)


def _identity(series: Series) -> tuple[str, tuple[tuple[str, str], ...]]:
    return series.metric, series.labels
