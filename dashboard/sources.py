"""Where answers come from: the store, the tail in front of it, and the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from dashboard.kept import KeptHours
from dashboard.shelf import Shelf
from pipeline.tail import SPAN_MS, Tail
from storage.records import Row
from storage.store import Store
from telemetry import ratios
from telemetry.catalog import cluster
from telemetry.frame import Frame, Sheet
from telemetry.model import Series
from telemetry.seam import behind, joined
from telemetry.summary import HOUR_MS, Summaries

DEFAULT_STEP_MS = 1000
AHEAD_MS = 86_400_000
Wanted = Collection[str] | Callable[[Series], bool]
"""Names of metrics, or a test of a series."""


class Recent(Protocol):
    """The last while of every target: a tail, or the store in its place."""

    def targets(self) -> list[str]:
        """Names of the targets that have rows."""

    def frame(
        self, metrics: Collection[str], *, start_ms: float, end_ms: float, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end."""


@dataclass(frozen=True)
class FromStore:
    """What the tail will hold, read from the store: slower, and right while the tail is still being loaded."""

    store: Store

    def _rows(self) -> list[Row]:
        """The newest rows, of all that was read lately."""
        commit = self.store.latest_commit()
        return [] if commit is None else self.store.rows(start=commit.last_tick - ratios.SILENT_MS)

    @property
    def latest_tick(self) -> int | None:
        """Tick of the newest row, None of an empty store."""
        return max((row.tick for row in self._rows()), default=None)

    def targets(self) -> list[str]:
        """Names of the targets that have rows, as far as they were read lately."""
        return sorted({row.target for row in self._rows()})

    def frame(
        self, metrics: Collection[str], *, start_ms: float, end_ms: float, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end."""
        return self.store.frame(metrics, None if targets is None else list(targets), int(start_ms), int(end_ms))


@dataclass(frozen=True)
class Sources:
    """The store and its tail. clock: epoch milliseconds. large: held by whoever works out a large answer."""

    store: Store
    tail: Tail
    clock: Callable[[], int]
    large: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @cached_property
    def kept(self) -> KeptHours:
        """What is kept of sealed hours, for all who ask."""
        return KeptHours(self.store)

    @cached_property
    def shelf(self) -> Shelf:
        """What is kept of summaries, for all who ask."""
        return Shelf(self.store)

    def now_ms(self) -> int:
        """The instant, epoch milliseconds: of the newest tick where the collector's clock is up to a day ahead of ours,
        which was set back. Times are the collector's, and so is what is asked for up to “now”."""
        now, newest = self.clock(), self.tail.latest_tick or 0
        return newest if now < newest <= now + AHEAD_MS else now

    @property
    def loading(self) -> bool:
        """Whether the tail does not yet hold what the store does."""
        return not self.tail.loaded and self.store.latest_commit() is not None

    @property
    def recent(self) -> Tail | FromStore:
        """The tail; the store until the tail is loaded."""
        return self.tail if self.tail.loaded else FromStore(self.store)

    def frame(self, metrics: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """History of start ≤ tick ≤ end, of these metrics or of series that pass a test, on the ticks at which a target
        of theirs was read: from the tail as far as that reaches back, before that from the store.

        They meet at a whole hour: the store has sealed it when the tail lets go of it, so that no row is read.
        """
        return self._frame(metrics, start_ms, end_ms, targets).watched()

    def _frame(self, metrics: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None) -> Frame:
        """The same on all ticks that are there: the tail's are of all targets."""
        seam = self.seam()
        wanted = None if targets is None else list(targets)
        if seam is None or end_ms < seam[1]:
            return self.store.frame(metrics, wanted, start_ms, end_ms)
        if start_ms > seam[0]:
            return self._newest(metrics, start_ms, end_ms, targets)
        if callable(metrics):
            before = self.store.frame(metrics, wanted, start_ms, seam[1] - 1)
            return joined(before, self._newest(metrics, seam[1], end_ms, targets))
        chosen = self.tail.choose(metrics, start_ms=seam[1], end_ms=end_ms, targets=targets)
        before = self.store.frame(metrics, wanted, start_ms, seam[1] - 1, len(chosen.ticks))
        return joined(before, self.tail.fill(chosen, behind(before, chosen.ticks, chosen.series)))

    def _newest(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None) -> Frame:
        """Of the tail."""
        if not callable(wanted):
            return self.tail.frame(wanted, start_ms=start_ms, end_ms=end_ms, targets=targets)
        metrics = self.tail.metrics(wanted)
        return self.tail.frame(metrics, start_ms=start_ms, end_ms=end_ms, targets=targets).select(wanted)

    def sheets(
        self, metrics: Collection[str], ranges: Sequence[tuple[int, int]], targets: Collection[str] | None = None
    ) -> Iterator[tuple[int, int, Sheet]]:
        """(start, end, values of `frame`) of each of the ranges, which follow each other, cut at the seam; of gauges
        and states."""
        seam = self.seam()
        meets = ranges[-1][1] + 1 if seam is None else seam[1]
        stored = [(start, min(end, meets - 1)) for start, end in ranges if start < meets]
        wanted = None if targets is None else list(targets)
        sheets = self.store.sheets(metrics, wanted, stored) if stored else iter(())
        for (start, end), sheet in zip(stored, sheets, strict=True):
            yield start, end, sheet
        for start, end in ranges:
            if end >= meets:
                begin = max(start, meets)
                yield begin, end, self.tail.sheet(metrics, start_ms=begin, end_ms=end, targets=targets)

    def seam(self) -> tuple[int, int] | None:
        """(from when on the tail holds everything, the first whole hour of that); None while it is not loaded."""
        latest = self.tail.latest_tick
        if not self.tail.loaded or latest is None:
            return None
        oldest = latest - SPAN_MS
        return oldest, oldest - oldest % HOUR_MS + HOUR_MS

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range."""
        return self.shelf.summaries(metrics, start_ms, end_ms, targets)

    def one_state(self) -> AbstractContextManager[None]:
        """Around a few short questions."""
        return self.store.one_state()

    def unsealed(self, start_ms: int, end_ms: int, most: int | None = None) -> list[int]:
        """Hours of the range, rising, whose rows no summary tells yet, or not all of them; of more than `most` the
        oldest."""
        return self.store.unsealed_hours(start_ms, end_ms, most)

    def extent(self) -> tuple[int, int] | None:
        """(first, last) instant outside of which nothing is stored; None where nothing is."""
        return self.store.extent()

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        """Whether samples of the range were given up, so that only summaries tell of them."""
        return self.store.forgotten(start_ms, end_ms)

    def step_ms(self) -> int:
        """The nominal interval: the shortest that any target is read with."""
        return min(self.store.steps_ms(), default=DEFAULT_STEP_MS)

    def slowest_ms(self) -> int:
        """The longest nominal interval that any target is read with."""
        return max(self.store.steps_ms(), default=DEFAULT_STEP_MS)

    def deployments(self) -> list[str]:
        """Names of the deployments seen lately."""
        prefix = cluster.DEPLOYMENT_PREFIX
        return [name.removeprefix(prefix) for name in self.recent.targets() if name.startswith(prefix)]
