"""Worker: everything one target needs between two ticks: its connection, its page reader, its counters, its clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from collectors.scrape.page import Layout, Page
from pipeline.clock import NodeClock
from pipeline.config import TargetConfig, TargetKind
from pipeline.ingest import Ingest
from pipeline.resume import Left
from storage.records import Offset
from telemetry.catalog import cluster, host
from telemetry.frame import Floats
from telemetry.model import Metric, Series

EXTRA: dict[TargetKind, tuple[Metric, ...]] = {
    TargetKind.NODE: (cluster.SCRAPE_SECONDS, cluster.SCRAPE_BYTES, cluster.CLOCK_SKEW),
    TargetKind.ENGINE: (cluster.SCRAPE_SECONDS, cluster.SCRAPE_BYTES),
}
"""What the collector measures of each scrape, stored beside the page's own series."""


LONGEST_UPTIME_S = 1e10
"""A monotonic reading beyond this is no clock; the arrival counts then, as where there is none."""


@dataclass(frozen=True)
class Arrival:
    """A page as it came: hub-clock instants of sending and arrival, and its size."""

    tick: int
    page: Page
    sent_ms: float
    arrived_ms: float
    size: int


@dataclass(frozen=True)
class Sample:
    """A page as it is stored: float64[series], counters unwrapped, with the instant at which it was true.

    missing: metrics without a number, or with one that is none, and why, where the page itself says so.
    nonsense: how many numbers of the page could not be.
    """

    tick: int
    target: str
    at_ms: float
    series: tuple[Series, ...]
    values: Floats
    places: Mapping[str, list[int]]
    offsets: tuple[Offset, ...]
    layout: Layout
    restarted: bool
    started_s: float | None
    missing: Mapping[str, str]
    nonsense: int

    def value(self, metric: Metric) -> float:
        """Value of a metric that has one series per target; NaN when the page does not have it."""
        return self.total(metric)

    def total(self, metric: Metric) -> float:
        """Sum over the series of a metric; NaN when the page has none, or one is unknown."""
        places = self.places.get(metric.name)
        return float(self.values[places].sum()) if places else float("nan")


class Reader:
    """Turns the pages of one target into samples."""

    def __init__(self, config: TargetConfig, left: Left) -> None:
        self._config = config
        self._ingest = Ingest(config.name, left.counters, left.started_s, left.tick)
        self._node_clock = NodeClock()
        self._layout: Layout | None = None
        self._series: tuple[Series, ...] = ()
        self._places: dict[str, list[int]] = {}
        self._unknown = b""
        self._seen: set[str] = set()
        self._missing: tuple[str, ...] = ()

    def sample(self, arrival: Arrival) -> Sample:
        """The sample that a page makes."""
        layout = arrival.page.layout
        reading = self._ingest.take(arrival.page, arrival.tick, arrival.sent_ms, arrival.arrived_ms)
        if layout is not self._layout:
            self._layout = layout
            extra = [Series(self._config.name, metric.name) for metric in EXTRA[self._config.kind]]
            self._series, self._unknown = (*layout.series, *extra), b""
            self._places = {}
            for place, series in enumerate(self._series):
                self._places.setdefault(series.metric, []).append(place)
        self._missing = self._what_is_missing(layout, reading.values)
        at_ms, skew = self._instant(reading.values, arrival)
        took = [(arrival.arrived_ms - arrival.sent_ms) / 1000.0, float(arrival.size), skew]
        values = np.concatenate((reading.values, took[: len(self._series) - len(layout.series)]))
        return Sample(
            arrival.tick,
            self._config.name,
            at_ms,
            self._series,
            values,
            self._places,
            reading.offsets,
            layout,
            reading.restarted,
            arrival.page.started_s,
            dict.fromkeys(self._missing, "") | dict(reading.why),
            reading.nonsense,
        )

    def _instant(self, values: Floats, arrival: Arrival) -> tuple[float, float]:
        """When the page was true, in the whole milliseconds that the store keeps, and the node's clock skew."""
        if self._config.kind is TargetKind.ENGINE:
            return float(round(arrival.arrived_ms)), np.nan
        monotonic, wall = (self._value(values, metric) for metric in (host.AGENT_MONOTONIC, host.AGENT_TIME))
        middle = (arrival.sent_ms + arrival.arrived_ms) / 2.0
        usable = 0 <= monotonic <= LONGEST_UPTIME_S
        at_ms = self._node_clock.at(monotonic, arrival.arrived_ms) if usable else arrival.arrived_ms
        return float(round(at_ms)), wall - middle / 1000.0

    def _value(self, values: Floats, metric: Metric) -> float:
        places = self._places.get(metric.name)
        return float(values[places[0]]) if places else float("nan")

    def _what_is_missing(self, layout: Layout, values: Floats) -> tuple[str, ...]:
        """Metrics that this target has shown before and now has no number for."""
        unknown = np.isnan(values).tobytes()
        if unknown == self._unknown:
            return self._missing
        self._unknown = unknown
        shown = {series.metric for series, value in zip(layout.series, values, strict=True) if not np.isnan(value)}
        self._seen |= shown
        return tuple(sorted(self._seen - shown))
