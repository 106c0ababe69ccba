"""Samples that several queries need, fetched once for all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.query import Line, Query
from telemetry.source import Source, Through
from telemetry.summary import HOUR_MS, hour_of

PROBE_MS = 10_000
PROBES = 3


class _Labels:
    """The labels of a query's lines, worked out once for each series."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._known: dict[Series, Mapping[str, str] | None] = {}

    def of(self, series: Series) -> Mapping[str, str] | None:
        """Labels of a series' line, None where the query does not want it."""
        if series not in self._known:
            self._known[series] = dict(self._query.group(series)) if self._query.wants(series) else None
        return self._known[series]


class Shared(Through):
    """A source that fetches what any of the queries needs, once for all that ask for the same stretch.

    ahead_ms: so long a stretch is fetched, at most to the end of its hour: a sealed hour is unpacked as a whole, even
    when a minute of it is asked for.
    """

    ahead_ms = 0

    def __init__(self, source: Source, queries: Sequence[Query]) -> None:
        self.source = source
        self._step_ms = source.step_ms()  # asked for by every answer, and each time a question to the store
        self._metrics = sorted({name for query in queries for name in query.stored()})
        self._lead_ms = max(query.lead_ms for query in queries)
        self._behind_ms = int(2 * NOMINAL_PER_GAP * max(query.slowest_ms for query in queries))
        self._end_ms = max(query.end_ms for query in queries)
        wanted = [query.sources() for query in queries]
        every = None in wanted
        self._targets = None if every else sorted({name for one in wanted if one is not None for name in one})
        self._frame: Frame | None = None
        self._range = (0, -1)
        self._rows: dict[str, list[int]] = {}
        self._labels = {id(query): _Labels(query) for query in queries}

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end, on the ticks at which any of their targets was read."""
        found = self._covering(start_ms, end_ms)
        chosen = None if targets is None else frozenset(targets)
        rows = sorted(row for name in metrics for row in self._rows.get(name, ()))
        if chosen is not None:
            rows = [row for row in rows if found.series[row].target in chosen]
        return found.take(rows).between(start_ms, end_ms).watched()

    def samples(self, query: Query, start_ms: int, end_ms: int) -> list[Line]:
        """The stored series that one of our queries wants, on the ticks at which any of all targets was read."""
        frame = self._covering(start_ms, end_ms)
        low, high = np.searchsorted(frame.ticks, (start_ms, end_ms + 1)).tolist()
        ticks = frame.ticks[low:high]
        told, found = self._labels[id(query)], []
        for row in self._rows.get(query.metric.name, ()):
            labels = told.of(frame.series[row])
            if labels is not None:
                found.append(Line(labels, ticks, frame.values[row, low:high]))
        return found

    def _covering(self, start_ms: int, end_ms: int) -> Frame:
        """A frame of everything that holds the range."""
        if self._frame is None or start_ms < self._range[0] or end_ms > self._range[1]:
            ahead = min(start_ms + self.ahead_ms, hour_of(end_ms) + HOUR_MS - 1, self._end_ms)
            self._fetch(start_ms, max(end_ms, ahead))
        assert self._frame is not None
        return self._frame

    def _fetch(self, start_ms: int, end_ms: int) -> None:
        """A little more than is asked for: a counter that is first used right behind the end stood at 0 before it."""
        self._range = (start_ms - self._lead_ms, end_ms)
        self._frame = self.source.frame(self._metrics, self._range[0], end_ms + self._behind_ms, self._targets)
        self._rows = {}
        for row, series in enumerate(self._frame.series):
            self._rows.setdefault(series.metric, []).append(row)

    def step_ms(self) -> int:
        """The shortest nominal interval of a target."""
        return self._step_ms

    def series(self, start_ms: int, end_ms: int) -> int:
        """How many series the range has about: the most that any of a few looks into it sees."""
        span = max(end_ms - start_ms - PROBE_MS, 0)
        looks = sorted({start_ms + span * place // (PROBES - 1) for place in range(PROBES)})
        return max(self._seen(look) for look in looks)

    def _seen(self, look_ms: int) -> int:
        """Series of the hour, where it is sealed; else of a few seconds, since its samples would have to be read."""
        told = self.source.summaries(self._metrics, look_ms, look_ms, self._targets).series
        return len(told or self.source.frame(self._metrics, look_ms, look_ms + PROBE_MS, self._targets).series)
