"""Summaries: what is kept of every hour of a series, so that months are read without a single sample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from telemetry import catalog
from telemetry.counters import alike, bad_steps, trailing_increase
from telemetry.frame import Floats, Frame, Ints, Sheet, together
from telemetry.model import Kind, Series

HOUR_MS = 3_600_000
RATE_WINDOW_MS = 10_000
"""Window of the rates of a counter whose smallest and largest a summary keeps."""
LEAD_MARGIN_MS = 60_000
"""How far the instants of samples may lie off their ticks."""
FEW = 2
"""A target with more rows that are alike is worked out for itself: they share more than targets at once would save."""


def hour_of(tick_ms: int) -> int:
    """Start of the hour that a tick belongs to."""
    return tick_ms - tick_ms % HOUR_MS


def lead_ms(gap_ms: float) -> int:
    """How long before an hour samples are needed, so that its first rate and its first step are made like all others:
    a window begins at the latest sample before it, which is at most a gap older."""
    return RATE_WINDOW_MS + int(gap_ms) + LEAD_MARGIN_MS


@dataclass(frozen=True)
class Summaries:
    """Hours of several series. Arrays are float64[series, hour], NaN where the series has no known sample in the hour.

    hours: int64[hour], rising; start of each hour in epoch milliseconds, a multiple of HOUR_MS. An hour is the samples
        of start ≤ tick < start + HOUR_MS.
    count: known samples, 0 where there is none.
    first, last: the first and last of them; counters unwrapped.
    minimum, maximum: of a gauge or state its least and largest value; of a counter its least and largest trailing 10 s
        rate (per second) at the samples of the hour, NaN where no such rate is measurable.
    total: Σ of the values of a gauge or state; NaN for a counter.
    gain: what it gained over the steps that end in the hour and cross neither a gap nor a restart: the increase of a
        counter, the integral (value × seconds, trapezoid) of a gauge.
    seconds: length of those steps.
    """

    hours: Ints
    series: tuple[Series, ...]
    count: Floats
    first: Floats
    last: Floats
    minimum: Floats
    maximum: Floats
    total: Floats
    gain: Floats
    seconds: Floats


def summarise(frame: Frame, hours: Sequence[int] | Ints) -> Summaries:
    """Summaries of these hours (starts, rising) of every series of a frame, which begins `lead_ms` before the first.

    A zero that a counter from first use stood at before (see `counters.mark_steps`) is a sample like any other, so that
    last − first is what it gained. A metric that the catalogue does not know is a gauge.
    """
    starts = np.asarray(hours, dtype=np.int64)
    shape = (len(frame.series), len(starts))
    found = Summaries(starts, frame.series, np.zeros(shape), *(np.full(shape, np.nan) for _ in range(7)))
    edges = np.searchsorted(frame.ticks, np.stack((starts, starts + HOUR_MS), axis=1))
    groups = alike(frame)
    counters = {row for row, series in enumerate(frame.series) if _is_counter(series)}
    with np.errstate(invalid="ignore", over="ignore"):  # sums of infinite values are unknown
        even = _even(frame, [row for rows in groups if len(rows) <= FEW for row in rows if row not in counters])
        if even:
            _summarise_even(frame, even, edges, found)
        for rows in groups:
            counted = [row for row in rows if row in counters]
            others = [row for row in rows if row not in counters and row not in even]
            for some, rising in ((counted, True), (others, False)):
                if some:
                    _summarise(frame, some, rising, edges, found)
    return found


def _even(frame: Frame, rows: Sequence[int]) -> set[int]:
    """Those of these rows that have a sample at every tick, and none of whose steps crosses a gap or a restart."""
    mine = together(np.array(rows, dtype=np.intp))
    at_ms = frame.at_ms[mine]
    apart = at_ms[:, 1:] - at_ms[:, :-1]  # `np.diff` takes twice as long
    good = apart.min(axis=1, initial=np.inf) > 0  # what is unknown is neither
    good &= apart.max(axis=1, initial=-np.inf) <= frame.gap_ms[mine]
    good &= ~np.isnan(frame.values[mine].min(axis=1, initial=np.inf))
    good &= ~np.asarray(frame.breaks[mine].any(axis=1))
    return {row for row, fine in zip(rows, good.tolist(), strict=True) if fine and len(frame.ticks)}


def _summarise_even(frame: Frame, even: Collection[int], edges: Ints, found: Summaries) -> None:
    """`_summarise` of even gauges, of many targets at once."""
    rows = together(np.array(sorted(even), dtype=np.intp))
    values, at_s = frame.values[rows], frame.at_ms[rows] / 1000.0
    lengths, gains = np.zeros(values.shape), np.zeros(values.shape)
    np.subtract(at_s[:, 1:], at_s[:, :-1], out=lengths[:, 1:])
    np.add(values[:, 1:], values[:, :-1], out=gains[:, 1:])
    gains[:, 1:] *= lengths[:, 1:]
    gains *= 0.5
    for hour, (low, high) in enumerate(edges.tolist()):
        if low == high:
            continue
        inside = slice(low, high)
        found.count[rows, hour] = high - low
        found.first[rows, hour], found.last[rows, hour] = values[:, low], values[:, high - 1]
        found.minimum[rows, hour] = values[:, inside].min(axis=1)
        found.maximum[rows, hour] = values[:, inside].max(axis=1)
        found.total[rows, hour] = values[:, inside].sum(axis=1)
        found.gain[rows, hour] = gains[:, inside].sum(axis=1)
        found.seconds[rows, hour] = lengths[:, inside].sum(axis=1)


def zeros_before(found: Summaries, frame: Frame) -> Summaries | None:
    """The hour before a fresh one, of the counters that stood at 0 all through it because their first use came with the
    very first sample of this hour; None without any.

    found: of one hour, made from this frame, where `counters.mark_steps` has put those zeros. In its own hour nothing
    else says that such a counter did not begin with its first sample. Readings of the hour are taken to be as many.
    """
    hour = int(found.hours[0])
    before = frame.values[:, : int(np.searchsorted(frame.ticks, hour))]
    zero = (before == 0).any(axis=1) & ~(before > 0).any(axis=1) & (found.first[:, 0] > 0)
    rows = [row for row in np.flatnonzero(zero).tolist() if _is_counter(frame.series[row])]
    return standing([frame.series[row] for row in rows], hour - HOUR_MS, found.count[rows]) if rows else None


def standing(series: Sequence[Series], hour: int, count: Floats) -> Summaries:
    """An hour of counters that stood at 0. count: float64[series, 1], readings."""
    none = np.zeros((len(series), 1))
    return Summaries(
        np.array([hour], dtype=np.int64), tuple(series), count, none, none, none, none, none * np.nan, none, none
    )


def levels(sheet: Sheet, hour: int) -> Summaries:
    """What values alone tell of an hour of gauges and states: `summarise` without gain and seconds, which are NaN."""
    shape = (len(sheet.series), 1)
    found = Summaries(
        np.array([hour], np.int64), sheet.series, np.zeros(shape), *(np.full(shape, np.nan) for _ in range(7))
    )
    low, high = np.searchsorted(sheet.ticks, (hour, hour + HOUR_MS)).tolist()
    values = sheet.values[:, low:high]
    if low == high:
        return found
    with np.errstate(invalid="ignore", over="ignore"):  # sums of infinite values are unknown
        known = ~np.isnan(values.min(axis=1))
        if known.all():
            _level(found, slice(None), values)
            return found
        for row, one in enumerate(values):
            own = one if known[row] else one[~np.isnan(one)]
            if len(own):
                _level(found, slice(row, row + 1), own[np.newaxis])
    return found


def _level(found: Summaries, rows: slice, values: Floats) -> None:
    """Fill in rows that have a number at each of their samples."""
    found.count[rows, 0] = values.shape[1]
    found.first[rows, 0], found.last[rows, 0] = values[:, 0], values[:, -1]
    found.minimum[rows, 0], found.maximum[rows, 0] = values.min(axis=1), values.max(axis=1)
    found.total[rows, 0] = values.sum(axis=1)


def _is_counter(series: Series) -> bool:
    metric = catalog.find(series.metric)
    return metric is not None and metric.kind is Kind.COUNTER


def _summarise(frame: Frame, rows: list[int], counted: bool, edges: Ints, found: Summaries) -> None:
    """Fill in rows of one kind that have the same samples and breaks."""
    row = rows[0]
    known = ~np.isnan(frame.values[row])
    places = np.flatnonzero(known)
    values = np.ascontiguousarray(frame.values[np.ix_(np.array(rows), places)])
    at_s = frame.at_ms[row, places] / 1000.0
    bad = bad_steps(frame.at_ms[row], frame.breaks[row], known, float(frame.gap_ms[row]))
    good = np.diff(bad, prepend=0.0) == 0
    good[:1] = False  # no step leads into the first
    lengths = np.where(good, np.diff(at_s, prepend=at_s[:1]), 0.0)
    levels = _rates(frame.take(rows))[:, places] if counted else values
    gains = np.where(good, _gains(values, lengths, counted), 0.0)
    for hour, (low, high) in enumerate(np.searchsorted(places, edges).tolist()):
        if low == high:
            continue
        inside = slice(low, high)
        found.count[rows, hour] = high - low
        found.first[rows, hour], found.last[rows, hour] = values[:, low], values[:, high - 1]
        found.minimum[rows, hour], found.maximum[rows, hour] = _extremes(levels[:, inside])
        if not counted:
            found.total[rows, hour] = values[:, inside].sum(axis=1)
        found.gain[rows, hour] = gains[:, inside].sum(axis=1)
        found.seconds[rows, hour] = lengths[inside].sum()


def _rates(frame: Frame) -> Floats:
    """Trailing rate per second at each sample."""
    return trailing_increase(frame, RATE_WINDOW_MS) / (RATE_WINDOW_MS / 1000.0)


def _extremes(levels: Floats) -> tuple[Floats, Floats]:
    """Least and largest of each row, NaN where it has no number."""
    none = np.isnan(levels)
    low, high = np.where(none, np.inf, levels).min(axis=1), np.where(none, -np.inf, levels).max(axis=1)
    empty = none.all(axis=1)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def _gains(values: Floats, lengths: Floats, counted: bool) -> Floats:
    """What the step into each sample gains: the increase of a counter, the trapezoid of a gauge."""
    before = np.concatenate((values[:, :1], values[:, :-1]), axis=1)
    return values - before if counted else lengths * (values + before) / 2.0
