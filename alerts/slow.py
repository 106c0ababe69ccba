"""Readings with windows longer than samples at hand: out of the two ends of a counter or gauge, or of hours' means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import numpy as np

from alerts import needs
from alerts.begins import value_at
from alerts.expression import Reading
from alerts.places import Key, Members, Place, group_of
from alerts.rule import Rule
from telemetry import far
from telemetry.counters import window_ends
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame
from telemetry.model import Fold, Kind, Metric, Series
from telemetry.query import Query
from telemetry.summary import HOUR_MS, Summaries

Slow = dict[tuple[Reading, str], dict[Key, float]]
BETWEEN = frozenset(("increase", "rate", "change"))
"""What is worked out of two samples; all else out of hours."""
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
        window_ms = needs.window_ms(reading)
        start_ms, frame = now_ms - window_ms, ends.get(window_ms)
        if frame is not None and reading.how in BETWEEN:
            series = _between(reading, frame, begins.get(window_ms, {}), start_ms, now_ms)
        else:
            series = _of_hours(reading, history, start_ms, now_ms)
        found[reading, name] = _folded(reading, series, place, members)
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


FOLDS: Mapping[str, Callable[[Floats], float]] = {
    "usual": lambda values: float(np.median(values)),
    "mean": lambda values: float(np.mean(values)),
    "min": lambda values: float(np.min(values)),
    "max": lambda values: float(np.max(values)),
}
SIDE: Mapping[str, str] = {"min": "minimum", "max": "maximum"}
"""What of an hour counts, where it is not its mean."""


def _of_hours(reading: Reading, history: History, start_ms: int, now_ms: int) -> dict[Series, float]:
    """Of the whole hours that are sealed; a series without any has no value."""
    query = Query(reading.metric, start_ms, now_ms, width_ms=HOUR_MS)
    summaries = history.summaries(far.stored(query), None, far.start_ms(query), now_ms)
    found: dict[Series, float] = {}
    for line in far.answer(query, summaries):
        values = getattr(line, SIDE.get(reading.how, "mean"))
        values = line.values if values is None else values
        known = values[~np.isnan(values)] if values is not None else np.zeros(0)
        if len(known):
            labels = {name: text for name, text in line.labels.items() if name != "target"}
            series = Series(line.labels.get("target", ""), reading.metric.name, tuple(sorted(labels.items())))
            found[series] = FOLDS[reading.how](known)
    return found


def _folded(reading: Reading, found: Mapping[Series, float], place: Place, members: Members) -> dict[Key, float]:
    groups: dict[Key, list[float]] = {}
    texts = dict(reading.labels)
    for series, value in found.items():
        if all(series.label(name) in allowed for name, allowed in texts.items()):
            group = group_of(series, place, reading.metric, members)
            if group is not None:
                groups.setdefault(group, []).append(value)
    how = _across(reading)
    return {group: _one(values, how) for group, values in groups.items()}


def _one(values: list[float], how: Fold) -> float:
    return values[0] if len(values) == 1 else float(fold(np.array(values).reshape(-1, 1), how)[0])


def _across(reading: Reading) -> Fold:
    if isinstance(reading.metric, Metric) and reading.metric.kind is not Kind.HISTOGRAM:
        return reading.metric.across
    return Fold.MEAN
