"""What an answer would be made of, judged before anything of it is read: refused when it is too much."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from telemetry import far
from telemetry.frame import Frame, Sheet
from telemetry.query import Query
from telemetry.source import Through
from telemetry.summary import HOUR_MS, Summaries

MOST_CELLS = 4_000_000
"""Samples (series × ticks) that are read at once: 16 nodes over 3 days, or everything over an hour."""
MOST_HOURS = 1_000_000
"""Summaries (series × hours) that one answer may be made of: 57 series over two years."""
MOST_UNSEALED = 12
"""Hours that are not sealed yet and worked out from their rows for one answer."""
LARGE_CELLS = 50_000
"""Answers of more samples are worked out one after the other: side by side they take as many times the memory, and the
threads, each of which needs the interpreter every few microseconds, get in each other's way. Four of 250,000 samples at
once took 281 ms on two cores, one after the other 160."""
PROBE_MS = 60_000


@dataclass(frozen=True)
class Pace:
    """Series of the last minute, milliseconds from one of their samples to the next, and the newest tick.

    oldest_ms: before it nothing is stored. Times without a collector in between are counted as if there had been one.
    """

    series: int
    step_ms: float
    newest_ms: int
    oldest_ms: int

    def samples(self, start_ms: int, end_ms: int) -> int:
        """About how many samples the range holds."""
        return self.series * int(self._stored_ms(start_ms, end_ms) / self.step_ms + 1)

    def hours(self, start_ms: int, end_ms: int) -> int:
        """About how many summaries of hours the range holds."""
        return self.series * (self._stored_ms(start_ms, end_ms) // HOUR_MS + 1)

    def _stored_ms(self, start_ms: int, end_ms: int) -> int:
        """How much of the range lies where something is stored."""
        return max(min(end_ms, self.newest_ms) - max(start_ms, self.oldest_ms), 0)


def pace(sources: Sources, metrics: Collection[str], targets: Collection[str] | None) -> Pace:
    """What these metrics bring."""
    recent = sources.recent
    newest = recent.latest_tick
    if newest is None:
        return Pace(0, 1.0, 0, 0)
    probe = recent.frame(metrics, start_ms=newest - PROBE_MS, end_ms=newest, targets=targets)
    ticks = len(probe.ticks)
    step = (int(probe.ticks[-1]) - int(probe.ticks[0])) / (ticks - 1) if ticks > 1 else sources.step_ms()
    extent = sources.extent()
    return Pace(len(probe.series), step, newest, newest if extent is None else extent[0])


@dataclass(frozen=True)
class Guarded(Through):
    """A source for one query that refuses, with a ParameterError, to read what would be too much."""

    source: Sources
    pace: Pace

    @classmethod
    def of(cls, sources: Sources, query: Query) -> Guarded:
        """The source of a query."""
        return cls(sources, pace(sources, far.stored(query), query.sources()))

    def turn(self, query: Query) -> AbstractContextManager[object]:
        """What to hold while the answer is worked out."""
        large = self.pace.samples(query.start_ms, query.end_ms) > LARGE_CELLS
        return self.source.large if large else nullcontext()

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples with start ≤ tick ≤ end. What is silent now counts when it has been read."""
        self._afford(self.pace.samples(start_ms, end_ms), start_ms, end_ms)
        frame = self.source.frame(metrics, start_ms, end_ms, targets)
        self._afford(frame.values.size, start_ms, end_ms)
        return frame

    def sheets(
        self, metrics: Collection[str], ranges: Sequence[tuple[int, int]], targets: Collection[str] | None = None
    ) -> Iterator[tuple[int, int, Sheet]]:
        """(start, end, values) of each of the ranges, which follow each other; of gauges and states."""
        if ranges:
            first, last = ranges[0][0], ranges[-1][1]
            self._afford(self.pace.samples(first, last), first, last)
        for start, end, sheet in self.source.sheets(metrics, ranges, targets):
            self._afford(sheet.values.size, start, end)
            yield start, end, sheet

    def _afford(self, count: int, start_ms: int, end_ms: int) -> None:
        if count <= MOST_CELLS:
            return
        minutes = (end_ms - start_ms) * MOST_CELLS // count // 60_000
        raise ParameterError(
            f"This would be made of {count:,} samples, expected at most {MOST_CELLS:,}; "
            f"ask for at most {minutes:,} minutes, or name a node, an engine or a deployment."
        )

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range."""
        count = self.pace.hours(start_ms, end_ms)
        if count > MOST_HOURS:
            days = MOST_HOURS // self.pace.series // 24
            raise ParameterError(
                f"This would be made of {count:,} hours of {self.pace.series:,} series, expected at most "
                f"{MOST_HOURS:,}; ask for at most {days:,} days, or name a node, an engine or a deployment."
            )
        return super().summaries(metrics, start_ms, end_ms, targets)

    def unsealed(self, start_ms: int, end_ms: int) -> list[int]:
        """Hours of the range whose rows no summary tells yet, or not all of them. Refused where there are many: reading
        the rows of each takes a while, and they are about to be sealed."""
        found = self.source.unsealed(start_ms, end_ms, MOST_UNSEALED + 1)
        if len(found) > MOST_UNSEALED:
            raise ParameterError(
                f"More than {MOST_UNSEALED} hours of this range are not sealed yet; the collector is about to do it: "
                "ask for a shorter range, or later.",
                503,
            )
        return found
