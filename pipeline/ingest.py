"""From a page to a row: counters unwrapped line by line, then lines folded into stored series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from collectors.scrape.page import Layout, Page
from storage.records import Offset
from telemetry import catalog
from telemetry.counters import Step, judge
from telemetry.frame import Bools, Floats
from telemetry.model import Kind, Series

STARTED_TOLERANCE_S = 2.0
"""Start times that differ by less are one start, written with a different rounding."""


@dataclass(slots=True)
class Shape:
    """State of one layout's lines: float64[n_raw] each.

    raw: last number of each counter, NaN before its first. offset: what is added to it.
    gone: float64[series]; what lines that left the page had counted, so that a sum never falls.
    """

    layout: Layout
    counters: Bools
    raw: Floats
    offset: Floats
    gone: Floats


@dataclass(frozen=True)
class Reading:
    """values: float64[series] of the page's layout, counters unwrapped. offsets: steps that are no plain progress."""

    values: Floats
    offsets: tuple[Offset, ...]
    restarted: bool


class Ingest:
    """One target's counters across pages, layouts, restarts of the target and of the collector.

    resumed: last stored (value, offset) of each counter, as an earlier collector left them in the store.
    started_s: start of the target's process, as far as an earlier collector knew it.
    """

    def __init__(
        self,
        target: str,
        resumed: Mapping[Series, tuple[float, float]] | None = None,
        started_s: float | None = None,
    ) -> None:
        self._target = target
        self._known: dict[str, tuple[float, float]] = {}
        self._home: dict[str, Series] = {}
        self._resumed = dict(resumed or {})
        self._started_s = started_s
        self._pages = 0
        self._shape: Shape | None = None

    def take(self, page: Page, tick: int) -> Reading:
        """Unwrap and fold one page; `tick` is when it was asked for."""
        restarted = self._restarted(page.started_s)
        if self._shape is None or self._shape.layout is not page.layout:
            self._shape = self._learn(page)
        shape = self._shape
        steps = self._advance(shape, page.raw, restarted)
        values = page.layout.fold(np.where(shape.counters, page.raw + shape.offset, page.raw)) + shape.gone
        self._pages += 1
        return Reading(values, tuple(self._offsets(shape, steps, tick)), restarted)

    def _restarted(self, started_s: float | None) -> bool:
        before = self._started_s
        if started_s is not None:
            self._started_s = started_s
        return before is not None and started_s is not None and started_s - before > STARTED_TOLERANCE_S

    def _advance(self, shape: Shape, raw: Floats, restarted: bool) -> dict[int, Step]:
        """Bring the offsets up to date; what each stored series went through that was no plain progress."""
        known = shape.counters & ~np.isnan(raw)
        odd = known if restarted else known & ~(raw >= shape.raw)
        steps = {}
        for line in np.flatnonzero(odd).tolist():
            steps[int(shape.layout.source[line])] = self._step(shape, line, float(raw[line]), restarted)
        shape.raw = np.where(known, raw, shape.raw)
        return steps

    def _step(self, shape: Shape, line: int, raw: float, restarted: bool) -> Step:
        metric = catalog.stored(shape.layout.series[shape.layout.source[line]].metric)
        last = None if np.isnan(shape.raw[line]) else float(shape.raw[line])
        before = 0.0 if last is None else last + float(shape.offset[line])
        from_zero = self._pages > 0 and metric.at_first_use
        gained, step = judge(last, raw, bits=metric.bits, restarted=restarted, from_zero=from_zero)
        shape.offset[line] = before + gained - raw
        return step

    def _offsets(self, shape: Shape, steps: Mapping[int, Step], tick: int) -> list[Offset]:
        if not steps:
            return []
        sums = np.bincount(shape.layout.source, shape.offset, len(shape.layout.series)) + shape.gone
        series = shape.layout.series
        return [
            Offset(self._target, series[place].metric, series[place].labels, tick, float(sums[place]), step.value)
            for place, step in steps.items()
        ]

    def _learn(self, page: Page) -> Shape:
        self._remember()
        layout = page.layout
        counter = np.array([catalog.stored(series.metric).kind is Kind.COUNTER for series in layout.series], dtype=bool)
        counters = counter[layout.source]
        state = [self._known.get(line, (np.nan, 0.0)) for line in layout.lines]
        raw, offset = (np.array(column, dtype=np.float64) for column in zip(*state, strict=True)) if state else ((), ())
        shape = Shape(layout, counters, np.asarray(raw), np.asarray(offset), self._gone(layout))
        for line, (place, counts) in enumerate(zip(layout.source.tolist(), counters.tolist(), strict=True)):
            if counts:
                self._home[layout.lines[line]] = layout.series[place]
        self._resume(shape, page.raw)
        return shape

    def _remember(self) -> None:
        if self._shape is not None:
            pairs = zip(self._shape.raw.tolist(), self._shape.offset.tolist(), strict=True)
            self._known.update(zip(self._shape.layout.lines, pairs, strict=True))

    def _gone(self, layout: Layout) -> Floats:
        present = set(layout.lines)
        places = {series: place for place, series in enumerate(layout.series)}
        gone = np.zeros(len(layout.series))
        for line, series in self._home.items():
            raw, offset = self._known.get(line, (np.nan, 0.0))
            if line not in present and series in places and not np.isnan(raw):
                gone[places[series]] += raw + offset
        return gone

    def _resume(self, shape: Shape, raw: Floats) -> None:
        """Go on where an earlier collector stopped. It knew only sums: a series' first line stands for its change."""
        if not self._resumed:
            return
        for place, series in enumerate(shape.layout.series):
            known = self._resumed.get(series)
            lines = np.flatnonzero(shape.layout.source == place)
            if known is None or np.isnan(raw[lines]).any() or not shape.counters[lines[0]]:
                continue
            del self._resumed[series]
            value, offset = known
            others = float(raw[lines[1:]].sum())
            shape.raw[lines[1:]], shape.offset[lines[1:]] = raw[lines[1:]], 0.0
            shape.raw[lines[0]] = value - offset - others
            shape.offset[lines[0]] = offset
