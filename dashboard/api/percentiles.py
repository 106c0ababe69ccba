"""Percentiles of now, for `/api/v1/latest`: over the same window, and by the same rules, as the pages have them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from dashboard.live import current
from dashboard.sources import Sources
from telemetry.catalog import engine
from telemetry.counters import increase
from telemetry.frame import Frame
from telemetry.histograms import WINDOW_MAX_MS, Estimate, bucket_increases, estimate, window_start
from telemetry.model import PARTS, Metric, Series, part

Place = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of one histogram by place (target, labels), over the window of `window_ms` that ends now."""

    window_ms: int = 0
    found: dict[Place, Estimate] = field(default_factory=dict)


def percentiles(sources: Sources, tick: int, histograms: Iterable[Metric], q: float) -> dict[str, Percentiles]:
    """{histogram's name: its percentiles at a tick}. The window is one for all: that of every engine's TTFT count."""
    wanted = list(histograms)
    if not wanted:
        return {}
    counts = part(engine.TTFT, "count").name
    names = {part(histogram, name).name for histogram in wanted for name in PARTS} | {counts}
    engines = [target.name for target in sources.store.targets() if target.kind == "engine"]
    frame = sources.frame(names, tick - WINDOW_MAX_MS, tick, engines)
    start = window_start(frame.select(lambda series: series.metric == counts), tick)
    return {histogram.name: _of(histogram, frame, start, tick, q) for histogram in wanted}


def _of(histogram: Metric, frame: Frame, start: float, tick: int, q: float) -> Percentiles:
    names = {part(histogram, name).name for name in PARTS}
    mine = frame.select(lambda series: series.metric in names)
    if not len(mine.ticks):
        return Percentiles()
    places = dict.fromkeys(_place(series) for series in mine.series)
    found = {place: _estimate(histogram, mine, place, (start, tick), q) for place in places}
    return Percentiles(round(tick - max(start, float(mine.ticks[0]))), found)


def _place(series: Series) -> Place:
    return series.target, tuple(pair for pair in series.labels if pair[0] != "le")


def _estimate(histogram: Metric, frame: Frame, place: Place, window: tuple[float, float], q: float) -> Estimate:
    """A histogram that its engine does not tell any more has no percentile of now."""
    here = frame.select(lambda series: _place(series) == place)
    buckets, total, count = (_part(here, histogram, name) for name in PARTS)
    if not count.series or math.isnan(current.newest(count, window[1])[0]):
        return Estimate(None, "=", "percentile", math.nan)
    return estimate(bucket_increases(buckets, *window), _gained(total, window), _gained(count, window), q)


def _part(frame: Frame, histogram: Metric, name: str) -> Frame:
    wanted = part(histogram, name).name
    return frame.select(lambda series: series.metric == wanted)


def _gained(frame: Frame, window: tuple[float, float]) -> float:
    return float(increase(frame, *window)[0]) if frame.series else math.nan
