"""Several queries of one range, read side by side: samples that several of them need are fetched once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from telemetry import reader
from telemetry.frame import Frame
from telemetry.model import Kind
from telemetry.query import Line, Query
from telemetry.reader import Source
from telemetry.summary import HOUR_MS, Summaries

CELLS = 500_000
"""Samples (series × ticks) read at once."""
SLICES_MS = (60_000, 120_000, 300_000, 600_000, 900_000, 1_200_000, 1_800_000, HOUR_MS)
"""Lengths of a slice: parts of an hour, so that none lies across the end of one."""
PROBE_MS = 10_000
PROBES = 3

Range = tuple[int, int]
"""First and last instant."""


class Shared:
    """A source that fetches what any of the queries needs, once for all that ask for the same stretch."""

    def __init__(self, source: Source, queries: Sequence[Query]) -> None:
        self._source = source
        self._metrics = sorted({name for query in queries for name in query.stored()})
        self._lead_ms = max(query.lead_ms for query in queries)
        wanted = [query.sources() for query in queries]
        every = None in wanted
        self._targets = None if every else sorted({name for one in wanted if one is not None for name in one})
        self._frame: Frame | None = None
        self._range = (0, -1)
        self._rows: dict[str, list[int]] = {}

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end, on the ticks at which any of their targets was read."""
        if self._frame is None or start_ms < self._range[0] or end_ms > self._range[1]:
            self._fetch(start_ms, end_ms)
        assert self._frame is not None
        chosen = None if targets is None else frozenset(targets)
        rows = sorted(row for name in metrics for row in self._rows.get(name, ()))
        if chosen is not None:
            rows = [row for row in rows if self._frame.series[row].target in chosen]
        return _read(self._frame.take(rows).between(start_ms, end_ms))

    def _fetch(self, start_ms: int, end_ms: int) -> None:
        self._range = (start_ms - self._lead_ms, end_ms)
        self._frame = self._source.frame(self._metrics, *self._range, self._targets)
        self._rows = {}
        for row, series in enumerate(self._frame.series):
            self._rows.setdefault(series.metric, []).append(row)

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range."""
        return self._source.summaries(metrics, start_ms, end_ms, targets)

    def unsealed(self, start_ms: int, end_ms: int) -> list[int]:
        """Hours of the range whose rows no summary tells yet, or not all of them."""
        return self._source.unsealed(start_ms, end_ms)

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        """Whether samples of the range were given up."""
        return self._source.forgotten(start_ms, end_ms)

    def step_ms(self) -> int:
        """The shortest nominal interval of a target."""
        return self._source.step_ms()

    def series(self, start_ms: int, end_ms: int) -> int:
        """How many series the range has about: the most that any of a few looks into it sees."""
        span = max(end_ms - start_ms - PROBE_MS, 0)
        looks = sorted({start_ms + span * place // (PROBES - 1) for place in range(PROBES)})
        frames = (self._source.frame(self._metrics, look, look + PROBE_MS, self._targets) for look in looks)
        return max(len(frame.series) for frame in frames)


def _read(frame: Frame) -> Frame:
    """The ticks at which any target was read."""
    read = ~np.isnan(frame.at_ms).all(axis=0)
    if read.all():
        return frame
    kept = frame.values[:, read], frame.at_ms[:, read], frame.breaks[:, read]
    return Frame(frame.ticks[read], frame.series, kept[0], kept[1], kept[2], frame.gap_ms)


@dataclass(frozen=True)
class Ranges(Sequence[Range]):
    """The closed ranges of `length_ms`, beginning at its multiples, that make up start ≤ t ≤ end; computed when asked
    for, because a year has half a million of the shortest."""

    start_ms: int
    end_ms: int
    length_ms: int

    def __len__(self) -> int:
        return max(self.end_ms // self.length_ms - self.start_ms // self.length_ms + 1, 0)

    @overload
    def __getitem__(self, place: int) -> Range: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Range]: ...

    def __getitem__(self, place: int | slice) -> Range | Sequence[Range]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        first = (self.start_ms // self.length_ms + place % len(self)) * self.length_ms
        return max(first, self.start_ms), min(first + self.length_ms - 1, self.end_ms)


def bounds(queries: Sequence[Query], shared: Shared, width_ms: int | None) -> Ranges:
    """The slices of the range, oldest first; a bin of `width_ms` lies in one of them."""
    start, end = queries[0].start_ms, queries[0].end_ms
    most = CELLS * shared.step_ms() // max(shared.series(start, end), 1)
    length = max((one for one in SLICES_MS if one <= most), default=SLICES_MS[0])
    return Ranges(start, end, length if width_ms is None else max(length // width_ms, 1) * width_ms)


def beside(queries: Sequence[Query], source: Source, shared: Shared, ranges: Ranges) -> Iterator[list[list[Line]]]:
    """For each range the lines of each query; none of a query that has no sample in it.

    Totals of counters go on from range to range, since they remember every member; everything else is read one range
    at a time, so that all queries are at the same one.
    """
    totals = {
        place: _Stream(reader.stream(query, source, ranges)) for place, query in enumerate(queries) if _goes_on(query)
    }
    for one in ranges:
        yield [
            totals[place].until(one[1]) if place in totals else next(reader.stream(query, shared, [one]), [])
            for place, query in enumerate(queries)
        ]


def _goes_on(query: Query) -> bool:
    return query.total and query.metric.kind is Kind.COUNTER and not query.rate


class _Stream:
    """Slices of one query, of which those without samples are left out."""

    def __init__(self, slices: Iterator[list[Line]]) -> None:
        self._slices = slices
        self._next: list[Line] | None = None
        self._begun = False

    def until(self, end_ms: int) -> list[Line]:
        """The lines of the slice that ends here."""
        if not self._begun:
            self._begun, self._next = True, next(self._slices, None)
        if not self._next or int(self._next[0].t_ms[0]) > end_ms:
            return []
        found, self._next = self._next, next(self._slices, None)
        return found
