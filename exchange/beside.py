"""Several queries of one range, answered side by side, one slice of it after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from exchange.shared import Shared
from telemetry import far, hours, reader
from telemetry.model import Kind
from telemetry.query import Line, Query
from telemetry.source import Source
from telemetry.summary import HOUR_MS

CELLS = 500_000
"""Samples (series × ticks) answered at once where each becomes a number of the file."""
CELLS_AHEAD = 2_000_000
"""Samples fetched at once, and answered at once as bins."""
SLICES_MS = (60_000, 120_000, 300_000, 600_000, 900_000, 1_200_000, 1_800_000, HOUR_MS)
"""Lengths of a slice: parts of an hour, so that none lies across the end of one."""

Range = tuple[int, int]
"""First and last instant."""


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
    series = max(shared.series(start, end), 1)
    most = (CELLS if width_ms is None else CELLS_AHEAD) * shared.step_ms() // series
    shared.ahead_ms = CELLS_AHEAD * shared.step_ms() // series
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
            totals[place].until(one[1]) if place in totals else _slice(query, shared, one)
            for place, query in enumerate(queries)
        ]


def by_hours(queries: Sequence[Query], source: Source, ranges: Ranges, width_ms: int) -> Iterator[list[list[Line]]]:
    """The same for bins of whole hours, which summaries tell where samples would take too long or are given up.

    A total of counters is asked for at once: each range alone would begin with the members that it knows. So is all
    else where it is no longer than a range. Percentiles of more are those of all that a bin observed: ranges that are
    answered from samples would hold others, of trailing windows.
    """
    short = ranges.end_ms - ranges.start_ms < ranges.length_ms
    whole = {place: reader.read(query, source).lines for place, query in enumerate(queries) if short or _goes_on(query)}
    for start, end in ranges:
        yield [
            [_between(line, start // width_ms * width_ms, end) for line in whole[place]]
            if place in whole
            else _of_hours(replace(query, start_ms=start, end_ms=end), source)
            for place, query in enumerate(queries)
        ]


def _of_hours(query: Query, source: Source) -> list[Line]:
    """The lines of one range of several."""
    if query.metric.kind is not Kind.HISTOGRAM:
        return reader.read(query, source).lines
    known = hours.complete(query, source, hours.sealed(query, source))
    return far.answer(query, known.summaries, known.until_ms)


def _between(line: Line, first_ms: int, end_ms: int) -> Line:
    """The bins that begin in a range."""
    low, high = np.searchsorted(line.t_ms, (first_ms, end_ms + 1)).tolist()
    told = (line.values, line.minimum, line.maximum, line.mean, line.last, line.relation, line.count)
    return Line(line.labels, line.t_ms[low:high], *(None if one is None else one[low:high] for one in told))  # type: ignore[arg-type]


def _slice(query: Query, shared: Shared, one: Range) -> list[Line]:
    """The lines of one range. Samples as they are stored need no reader, which would copy them."""
    stored = query.ratio is None and query.metric.kind is not Kind.HISTOGRAM and not query.total
    if stored and query.width_ms is None:
        return shared.samples(query, *one)
    return next(reader.stream(query, shared, [one]), [])


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
