"""Readings with windows longer than samples at hand: out of the two ends of a counter or gauge, or of all between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from alerts import needs, stretches
from alerts.begins import value_at
from alerts.expression import Reading
from alerts.places import Key, Members, Place
from alerts.rule import Rule
from alerts.stretches import folded
from telemetry.counters import window_ends
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.summary import Summaries

Slow = dict[tuple[Reading, str], dict[Key, float]]
BETWEEN = frozenset(("increase", "rate", "change"))
"""What is worked out of two samples; all else out of what lies between (`alerts.stretches`)."""
NEAR_MS = 150_000
"""How far around the start of a window a gauge is looked for: to where a gap begins in what is read most rarely."""


class History(Protocol):
    """Where the past comes from: a store."""

    def ends(self, wanted: list[str], targets: None, start_ms: int, end_ms: int) -> Frame:
        """For each series the samples between which it changed from start to end."""

    def frame(self, wanted: list[str], targets: None, start_ms: int, end_ms: int) -> Frame:
        """The samples from start to end."""

    def summaries(self, wanted: list[str], targets: None, start_ms: int, end_ms: int) -> Summaries:
        """Summaries of the sealed hours that overlap the range."""


def wanted(rules: Iterable[Rule]) -> dict[tuple[Reading, str], Place]:
    """The slow readings of rules that are on, each for the place of its rule."""
    return {(reading, rule.place.name): rule.place for rule, reading in needs.readings(rules) if needs.is_slow(reading)}


def work_out(rules: Iterable[Rule], history: History, members: Members, now_ms: int) -> Slow:
    """Every slow reading of rules at an instant, for each group of its place that has one."""
    places = wanted(rules)
    ends = _ends((reading for reading, _ in places), history, now_ms)
    begins = _begins((reading for reading, _ in places), history, now_ms)
    found: Slow = {}
    for (reading, name), place in places.items():
        if reading.how in BETWEEN:
            window_ms = needs.window_ms(reading)
            series = _between(reading, ends[window_ms], begins.get(window_ms, {}), now_ms - window_ms, now_ms)
            found[reading, name] = folded(reading, series, place, members)
        else:
            found[reading, name] = stretches.values(reading, history, place, members, now_ms)
    return found


def _ends(readings: Iterable[Reading], history: History, now_ms: int) -> dict[int, Frame]:
    """By window, the ends of all that is read between two samples: asked for at once, as of one it takes as long."""
    names: dict[int, set[str]] = {}
    for reading in readings:
        if reading.how in BETWEEN:
            names.setdefault(needs.window_ms(reading), set()).update(needs.stored(reading))
    return {
        window_ms: history.ends(sorted(some), None, now_ms - window_ms, now_ms) for window_ms, some in names.items()
    }


def _begins(readings: Iterable[Reading], history: History, now_ms: int) -> dict[int, dict[Series, float]]:
    """By window, what gauges were where it began; only of those that were watched then."""
    names: dict[int, set[str]] = {}
    for reading in readings:
        if reading.how == "change":
            names.setdefault(needs.window_ms(reading), set()).update(needs.stored(reading))
    found: dict[int, dict[Series, float]] = {}
    for window_ms, some in names.items():
        start_ms = now_ms - window_ms
        frame = history.frame(sorted(some), None, start_ms - NEAR_MS, start_ms + NEAR_MS)
        values = value_at(frame, np.array([[float(start_ms)]]), window_ms)[:, 0]
        found[window_ms] = {one: float(value) for one, value in zip(frame.series, values, strict=True)}
    return found


def _between(
    reading: Reading, every: Frame, begins: Mapping[Series, float], start_ms: int, now_ms: int
) -> dict[Series, float]:
    """begins: of gauges, see `_begins`."""
    names = needs.stored(reading)
    frame = every.select(lambda series: series.metric in names)
    found: dict[Series, float] = {}
    for row, (series, ends) in enumerate(zip(frame.series, window_ends(frame, start_ms, now_ms), strict=True)):
        if ends is None:
            continue
        first, last = float(frame.values[row, ends[0]]), float(frame.values[row, ends[1]])
        if reading.how == "change":
            first = begins.get(series, np.nan)
        if first == first:
            found[series] = (last - first) / reading.window_s if reading.how == "rate" else last - first
    return found
