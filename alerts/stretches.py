"""Readings over stretches longer than samples at hand: means, the least, the largest, and what is usual.

Of up to two hours all samples are read, a slice at a time; of longer ones, and for what is usual, the whole hours that
are sealed. Quotients are those of the sums of a group, over its members and over time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from alerts import needs
from alerts.expression import Reading
from alerts.grouping import Grouping, grouped
from alerts.places import Key, Members, Place, group_of
from telemetry import far, latest, ratios
from telemetry.fleet import fold
from telemetry.frame import Frame
from telemetry.grid import MEASURES
from telemetry.model import Fold, Metric, Ratio, Series
from telemetry.query import Line, Query
from telemetry.summary import HOUR_MS, Summaries

SAMPLES_MS = 2 * HOUR_MS
"""Up to so long a window is read sample by sample."""
SLICE_MS = HOUR_MS // 2
"""So much of it at a time."""
LATE_MS = 150_000
"""The newest sample is no older, where it says what is so now: where a gap begins in what is read most rarely."""
SIDE: Mapping[str, str] = {"min": "minimum", "max": "maximum"}
"""What of an hour counts, where it is not its mean."""


class History(Protocol):
    """Where the past comes from: a store."""

    def frame(self, wanted: list[str], targets: None, start_ms: int, end_ms: int) -> Frame:
        """The samples from start to end."""

    def summaries(self, wanted: list[str], targets: None, start_ms: int, end_ms: int) -> Summaries:
        """Summaries of the sealed hours that overlap the range."""


def values(reading: Reading, history: History, place: Place, members: Members, now_ms: int) -> dict[Key, float]:
    """A reading of a gauge, a state or a quotient over the window that ends now, for each group that has one."""
    metric = reading.metric
    short = reading.how != "usual" and needs.window_ms(reading) <= SAMPLES_MS
    if isinstance(metric, Ratio):
        return (_quotients if short else _quotients_of_hours)(reading, metric, history, place, members, now_ms)
    found = (_of_samples if short else _of_hours)(reading, metric, history, now_ms)
    return folded(reading, found, place, members)


def _of_samples(reading: Reading, metric: Metric, history: History, now_ms: int) -> dict[Series, float]:
    """Of the samples of start < tick ≤ now; a series without any has no value."""
    told: dict[Series, list[tuple[float, int]]] = {}
    for low in range(now_ms - needs.window_ms(reading) + 1, now_ms + 1, SLICE_MS):
        frame = history.frame([metric.name], None, low, min(low + SLICE_MS - 1, now_ms))
        for series, row in zip(frame.series, frame.values, strict=True):
            known = row[~np.isnan(row)]
            if len(known):
                one = {"min": np.min, "max": np.max}.get(reading.how, np.sum)(known)
                told.setdefault(series, []).append((float(one), len(known)))
    return {series: _one_of(reading, parts) for series, parts in told.items()}


def _one_of(reading: Reading, parts: list[tuple[float, int]]) -> float:
    """Of slices, as (least, largest or sum, number of samples)."""
    own = [value for value, _ in parts]
    if reading.how in SIDE:
        return (min if reading.how == "min" else max)(own)
    return sum(own) / sum(count for _, count in parts)


def _of_hours(reading: Reading, metric: Metric, history: History, now_ms: int) -> dict[Series, float]:
    """Of the whole hours that are sealed; a series without any has no value."""
    query = _query(reading, now_ms)
    found: dict[Series, float] = {}
    for line in far.answer(query, history.summaries(far.stored(query), None, far.start_ms(query), now_ms)):
        value = _of_line(reading, line)
        if value is not None:
            labels = {name: text for name, text in line.labels.items() if name != "target"}
            found[Series(line.labels["target"], metric.name, tuple(sorted(labels.items())))] = value
    return found


def _quotients(
    reading: Reading, ratio: Ratio, history: History, place: Place, members: Members, now_ms: int
) -> dict[Key, float]:
    """Σ ∕ Σ of the window that ends with the newest sample."""
    window_ms = needs.window_ms(reading)
    frame = history.frame(sorted(needs.stored(reading)), None, now_ms - window_ms - 2 * LATE_MS, now_ms)
    if not len(frame.ticks) or now_ms - frame.ticks[-1] > LATE_MS:
        return {}
    grouping = grouped(frame.series, reading, place, members)
    part = frame.take(grouping.rows.tolist())
    own = dict(zip(grouping.series, _keys(grouping), strict=True))
    found = latest.ratio(ratio, part, own.__getitem__, float(window_ms))
    return {key: found[key] for key in grouping.keys if found.get(key, np.nan) == found.get(key)}


def _quotients_of_hours(
    reading: Reading, ratio: Ratio, history: History, place: Place, members: Members, now_ms: int
) -> dict[Key, float]:
    """Σ ∕ Σ of the whole hours that are sealed, or of each of them for what is usual."""
    query = replace(_query(reading, now_ms), total=True)
    every = history.summaries(sorted(ratios.stored_names(ratio)), None, far.start_ms(query), now_ms)
    grouping = grouped(every.series, reading, place, members)
    found: dict[Key, float] = {}
    for number, key in enumerate(grouping.keys):
        rows = grouping.rows[grouping.group == number]
        measures = {name: getattr(every, name)[rows] for name in MEASURES}
        mine = Summaries(every.hours, tuple(every.series[row] for row in rows.tolist()), **measures)
        for value in (_of_line(reading, line) for line in far.answer(query, mine)):
            if value is not None:
                found[key] = value
    return found


def _keys(grouping: Grouping) -> list[Key]:
    return [grouping.keys[number] for number in grouping.group.tolist()]


def _query(reading: Reading, now_ms: int) -> Query:
    """Hour by hour for what is usual, else all hours as one."""
    start_ms = now_ms - needs.window_ms(reading)
    if reading.how == "usual":
        return Query(reading.metric, start_ms, now_ms, width_ms=HOUR_MS)
    return Query(reading.metric, start_ms, now_ms, points=1)


def _of_line(reading: Reading, line: Line) -> float | None:
    """The median of its bins, of which there is one but for what is usual; None where nothing is known."""
    bins = getattr(line, SIDE.get(reading.how, "mean"))
    known = bins[~np.isnan(bins)]
    return float(np.median(known)) if len(known) else None


def folded(reading: Reading, found: Mapping[Series, float], place: Place, members: Members) -> dict[Key, float]:
    """Values of series by group, as the catalogue folds them."""
    groups: dict[Key, list[float]] = {}
    texts = dict(reading.labels)
    for series, value in found.items():
        if all(series.label(name) in allowed for name, allowed in texts.items()):
            group = group_of(series, place, reading.metric, members)
            if group is not None:
                groups.setdefault(group, []).append(value)
    assert isinstance(reading.metric, Metric), "of quotients the sums are folded"
    how = reading.metric.across
    return {group: _one(several, how) for group, several in groups.items()}


def _one(several: list[float], how: Fold) -> float:
    return several[0] if len(several) == 1 else float(fold(np.array(several).reshape(-1, 1), how)[0])
