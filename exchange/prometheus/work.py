"""The import itself: which hours, oldest first, each as one whole, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from exchange.prometheus.client import SLICE_MS, Samples, Source, quoted, selector
from exchange.prometheus.fit import Ends, Fit, fitted
from exchange.prometheus.hours import MakeUnwrapper, Merged, Reader, merged
from exchange.prometheus.names import NAME, pattern
from exchange.prometheus.pages import Pages
from exchange.prometheus.scrapes import Found, Namer, Refusal, Scrape, find, nothing_refused
from storage.imports import Before, ImportedHour, Imports
from telemetry.summary import HOUR_MS

SETTLED_MS = 300_000
"""So long after its end an hour is imported: the source may still be writing it."""
IMPORTED, HELD, OLDER, EMPTY, AHEAD = "imported", "held", "older", "empty", "ahead"
SOURCE_FACT = "imported_from"
AT_ONCE = 20
"""Names that one question counts."""


@dataclass(frozen=True)
class Range:
    """Whole hours: start ≤ hour < end, multiples of an hour in epoch milliseconds."""

    start: int
    end: int

    def hours(self) -> range:
        """Starts of its hours."""
        return range(self.start, self.end, HOUR_MS)


@dataclass(frozen=True)
class Outcome:
    """What became of a target's hour: one of IMPORTED, HELD (something is there), OLDER (something later has come while
    it was imported), EMPTY (the source has nothing); AHEAD: it was only looked at so far. samples: numbers written."""

    target: str
    hour: int
    what: str
    samples: int = 0


def whole_hours(start_ms: int, end_ms: int, now_ms: int) -> Range:
    """The whole hours inside start ≤ t < end that are over and settled."""
    end = min(end_ms, now_ms - SETTLED_MS)
    return Range(-(-start_ms // HOUR_MS) * HOUR_MS, max(end - end % HOUR_MS, -(-start_ms // HOUR_MS) * HOUR_MS))


def discover(source: Source, wanted: Range, target_of: Namer, refusal: Refusal = nothing_refused) -> Found:
    """What the source has in the range, by its index."""
    series = source.series(f"{{{NAME}=~{quoted(pattern())}}}", wanted.start, wanted.end)
    return find((labels for labels in series if NAME in labels), target_of, refusal)


def counted(source: Source, scrape: Scrape, wanted: Range) -> dict[int, int]:
    """Hour → samples that the source has of a scrape, hours without any left out.

    Name by name: a count over time has no name, so two of them at once would be two equal series. A sample at the very
    edge of two hours belongs to the later one.
    """
    found: Counter[int] = Counter()
    everything = sorted(scrape.names)
    for first in range(0, len(everything), AT_ONCE):
        names = everything[first : first + AT_ONCE]
        terms = (f"(sum(count_over_time({_selector(scrape, [name])}[1h] offset 1ms)) or vector(0))" for name in names)
        for samples in source.stepped(" + ".join(terms), wanted.start + HOUR_MS, wanted.end, HOUR_MS // 1000):
            known = np.isfinite(samples.values)
            for at, count in zip(samples.t_ms[known].tolist(), samples.values[known].tolist(), strict=True):
                found[at - HOUR_MS] += round(count)
    return {hour: count for hour, count in sorted(found.items()) if count}


def run(
    source: Source, imports: Imports, scrapes: Sequence[Scrape], wanted: Range, unwrapper: MakeUnwrapper
) -> Iterator[Outcome]:
    """Import everything, target after target and hour after hour. May be stopped anywhere, and run again.

    SourceError, StoreError: what is written until then stays, and running it again goes on there.
    """
    for target in sorted({scrape.target for scrape in scrapes}):
        own = [scrape for scrape in scrapes if scrape.target == target]
        yield from _Target(source, imports, target, own, unwrapper).run(wanted)


class _Target:
    def __init__(
        self, source: Source, imports: Imports, target: str, scrapes: Sequence[Scrape], unwrapper: MakeUnwrapper
    ) -> None:
        self._source, self._imports, self._target = source, imports, target
        self._scrapes, self._unwrapper = scrapes, unwrapper

    def run(self, wanted: Range) -> Iterator[Outcome]:
        held = self._imports.held(self._target, wanted.start, wanted.end)
        for is_held, hours in groupby(wanted.hours(), held.__contains__):
            if is_held:
                yield from (Outcome(self._target, hour, HELD) for hour in hours)
            else:
                yield from self._stretch(list(hours))

    def _stretch(self, hours: Sequence[int]) -> Iterator[Outcome]:
        """Hours without anything, one after the other. Where something follows, they are read twice: only then is it
        known from where their counters must begin to end where those that follow do."""
        following = self._imports.first_after(self._target, hours[-1])
        before = self._imports.before(self._target, hours[0])
        fit = Fit()
        if following is not None:
            ends, readers = Ends(), self._begin(hours[0], before)
            for hour in hours:
                ends.see(merged([reader.hour(hour) for reader in readers]))
                yield Outcome(self._target, hour, AHEAD)
            fit = fitted(ends, before.counters, self._imports.after(self._target, following))
        readers = self._begin(hours[0], before)
        for hour in hours:
            if following is None and self._imports.first_after(self._target, hour) is not None:
                yield Outcome(self._target, hour, OLDER)
                continue
            yield self._hour(hour, readers, fit)

    def _hour(self, hour: int, readers: Sequence[Reader], fit: Fit) -> Outcome:
        found = fit.of(merged([reader.hour(hour) for reader in readers]))
        if not len(found.ticks) or not found.series:
            return Outcome(self._target, hour, EMPTY)
        if not self._imports.write(self._imported(hour, found, readers)):
            return Outcome(self._target, hour, HELD)
        return Outcome(self._target, hour, IMPORTED, int((found.values == found.values).sum()))

    def _begin(self, hour: int, before: Before) -> list[Reader]:
        """Readers that go on from what stands before this hour."""
        readers = [self._reader(scrape, before) for scrape in self._scrapes]
        if before.tick is not None and before.tick >= hour - SLICE_MS:
            for reader in readers:
                reader.prime(hour, before.tick)
        return readers

    def _reader(self, scrape: Scrape, before: Before) -> Reader:
        pages = Pages(self._target, scrape.kind, scrape.families, scrape.chips)
        return Reader(scrape, self._ask, self._unwrapper(self._target, before.counters), pages)

    def _ask(self, scrape: Scrape, start: int, end: int) -> Sequence[Samples]:
        return [one for one in self._source.raw(_selector(scrape, scrape.names), start, end) if NAME in one.labels]

    def _imported(self, hour: int, found: Merged, readers: Sequence[Reader]) -> ImportedHour:
        facts = {name: value for reader in readers for name, value in reader.facts.items()}
        return ImportedHour(
            self._target,
            hour,
            found.ticks,
            found.series,
            found.values,
            found.offsets,
            max(reader.interval_ms for reader in readers),
            {**facts, SOURCE_FACT: self._source.name},
        )


def _selector(scrape: Scrape, names: Collection[str]) -> str:
    return selector(names, **scrape.place.labels())
