"""Ticks at which a collector looked and nobody answered: rows tell nothing of them, absences do. Pure.

While no target answers no row is written, yet rules were read at every tick. Where all that answered last are absent
the ticks between are those of the nominal interval. A collector that was away meanwhile leaves the same trace: it is
taken to have looked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from alerts.given import STATES
from storage.records import Absence
from telemetry.frame import Floats, Frame, Ints

HOLE = 1.5
"""Two ticks further apart than so many intervals have others between them."""


def silences(absences: Sequence[Absence], start_ms: int, end_ms: int) -> list[Absence]:
    """Absences of targets that were asked and did not answer, which overlap start ≤ t ≤ end."""
    return [
        one
        for one in absences
        if one.reason.partition(":")[0] in STATES and one.start_ms <= end_ms and (one.end_ms or end_ms) >= start_ms
    ]


def looked_on(rows: Frame, absent: Sequence[Absence], start_ms: int, end_ms: int, interval_ms: int) -> Ints:
    """The ticks of start ≤ tick ≤ end of which no target has a row: int64[tick].

    rows: something that every target has at every tick, from before `start_ms` on. absent: see `silences`.
    """
    own = rows.ticks[(rows.ticks > start_ms - interval_ms) & (rows.ticks <= end_ms)]
    edges = [start_ms - interval_ms, *own.tolist(), end_ms + interval_ms]
    found = [
        _between(low, high, covering, interval_ms)
        for low, high in pairwise(edges)
        if high - low > HOLE * interval_ms and (covering := _covering(rows, absent, low, high))
    ]
    every = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    return every[(every >= start_ms) & (every <= end_ms)]


def _covering(rows: Frame, absent: Sequence[Absence], low: int, high: int) -> list[Absence]:
    """Who was absent between two ticks; nobody, where one that had answered just before is not known to be."""
    some = [one for one in absent if one.start_ms < high and (one.end_ms is None or one.end_ms > low)]
    lately = (rows.ticks <= low) & (rows.ticks >= low - rows.gap_ms[:, np.newaxis])
    answered = np.flatnonzero((~np.isnan(rows.values) & lately).any(axis=1))
    there = {rows.series[row].target for row in answered.tolist()}
    return some if there <= {one.target for one in some} else []


def _between(low: int, high: int, covering: Sequence[Absence], interval_ms: int) -> Ints:
    """Ticks between two, in step with those at which targets were found to be silent."""
    anchor = min(one.start_ms for one in covering)
    ends = [high if one.end_ms is None else min(high, one.end_ms) for one in covering]
    first = low + interval_ms - (low - anchor) % interval_ms if low >= anchor else anchor
    return np.arange(first, max(ends) - interval_ms // 2, interval_ms, dtype=np.int64)


def with_ticks(frame: Frame, more: Ints) -> Frame:
    """The same with other ticks between its own, at which nothing was read."""
    ticks = np.union1d(frame.ticks, more)
    if len(ticks) == len(frame.ticks):
        return frame
    places = np.searchsorted(ticks, frame.ticks)
    shape = (len(frame.series), len(ticks))

    def spread(values: Floats) -> Floats:
        wide = np.full(shape, np.nan)
        wide[:, places] = values
        return wide

    breaks = np.zeros(shape, dtype=bool)
    breaks[:, places] = frame.breaks
    return Frame(ticks, frame.series, spread(frame.values), spread(frame.at_ms), breaks, frame.gap_ms)
