"""Writer: what a tick produced becomes one commit; what cannot be committed waits in memory, rows up to ten minutes.

What else a tick found (restarts of counters, facts, runs, alerts) waits for longer: later rows are told by it, and a
restart that is forgotten would be counted again by the collector that begins next.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from storage.errors import StoreError
from storage.records import Batch, Commit, Event, Row
from storage.store import Store
from telemetry.catalog import cluster
from telemetry.frame import Floats
from telemetry.model import Series

KEEP_MS = 600_000
MERGE_AT_MOST = 30
"""Ticks that are written in one transaction when some have waited: none may take longer than 50 ms."""
MOST_EVENTS = 5_000
"""So many events of ticks that are lost are kept, the newest."""
LATEST: Mapping[str, Callable[[Any], object]] = {
    "targets": lambda one: one.name,
    "runs": lambda one: one.id,
    "detectors": lambda one: one.deployment,
    "alerts": lambda one: one.id,
    "standings": lambda one: one.rule,
    "silences": lambda one: one.id,
    "memories": lambda one: one.channel,
}
"""What each tick tells anew, by its key: of many ticks the last one's counts."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Draft:
    """A row whose layout the store has not been asked for: that writes, and is the writer's business."""

    tick: int
    target: str
    at_ms: int
    series: tuple[Series, ...]
    values: Floats


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that one tick writes. at_ms: when it was ready. batch: all but the rows."""

    at_ms: int
    drafts: tuple[Draft, ...]
    batch: Batch


@dataclass
class Writer:
    """Owns the store's write side. Not thread-safe: one call at a time."""

    store: Store
    waiting: deque[Work] = field(default_factory=deque)
    problem: str | None = None
    dropped: int = 0
    commits: int = 0
    since_ms: int = 0
    _dropped_before: int = 0

    def write(self, works: Iterable[Work], now_ms: int) -> Commit | None:
        """Commit these after whatever waited before them. None while some wait; never raises for what they hold."""
        self.waiting.extend(works)
        commit, size = None, MERGE_AT_MOST
        over = self._over(now_ms)
        while self.waiting:
            group = [self.waiting[place] for place in range(min(size, len(self.waiting)))]
            try:
                commit = self.store.commit(self._batch(group, over), now_ms)
                self.commits += 1
                over = ()
            except StoreError as error:
                self._keep(str(error), now_ms)
                return None
            except (ArithmeticError, ValueError, TypeError, LookupError):
                if len(group) > 1:
                    size = 1  # one of them cannot be written: the others must not wait for it
                    continue
                log.exception("what a tick found cannot be stored; it is left out")
                self.dropped += 1
            for _ in group:
                self.waiting.popleft()
        if self.problem is not None:
            log.warning("the store takes commits again")
        self.problem = None
        return commit

    def oldest_waiting(self) -> int | None:
        """Tick of the oldest row that waits to be written, None when none does. May be asked from any thread."""
        try:
            return min((draft.tick for draft in self.waiting[0].drafts), default=None)
        except IndexError:
            return None

    def _over(self, now_ms: int) -> tuple[Event, ...]:
        """What is told with the first commit that succeeds after some that did not."""
        if self.problem is None:
            return ()
        waited, lost = len(self.waiting), self.dropped - self._dropped_before
        text = (
            f"the store could not be written for {(now_ms - self.since_ms) / 1000:.0f} s ({self.problem}): "
            f"{waited} ticks waited in memory, {lost} were lost"
        )
        return (Event(0, now_ms, cluster.CLUSTER_TARGET, "store", text, {}),)

    def _batch(self, group: list[Work], over: tuple[Event, ...]) -> Batch:
        rows = [
            Row(one.tick, one.target, one.at_ms, self.store.layout(one.target, one.series), one.values)
            for work in group
            for one in work.drafts
        ]
        merged = merge([work.batch for work in group])
        return replace(merged, rows=rows, events=[*merged.events, *over])

    def _keep(self, problem: str, now_ms: int) -> None:
        if self.problem is None:
            self.since_ms, self._dropped_before = self.waiting[0].at_ms, self.dropped
        if problem != self.problem:
            log.error("cannot commit, ticks wait in memory: %s", problem)
        self.problem = problem
        lost: list[Batch] = []
        while self.waiting and now_ms - self.waiting[0].at_ms > KEEP_MS:
            if self.dropped == self._dropped_before:
                log.critical("ticks are lost: the store could not be written for %d minutes", KEEP_MS // 60_000)
            lost.append(self.waiting.popleft().batch)
            self.dropped += 1
        if lost:
            next_one = self.waiting.popleft() if self.waiting else Work(now_ms, (), Batch())
            self.waiting.appendleft(replace(next_one, batch=_latest(merge([*lost, next_one.batch]))))


def merge(batches: list[Batch]) -> Batch:
    """Several batches as one, in order."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        **{one.name: [item for batch in batches for item in getattr(batch, one.name)] for one in fields(Batch)}
    )


def _latest(batch: Batch) -> Batch:
    """The same without what it says anew itself, and with the newest events."""
    told = {name: list({key(one): one for one in getattr(batch, name)}.values()) for name, key in LATEST.items()}
    return replace(batch, events=batch.events[-MOST_EVENTS:], **told)
