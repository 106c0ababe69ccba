"""Tail: the window that follows a store by commit sequence; what the web process draws from."""

from __future__ import annotations

import numpy as np

from pipeline.retention import DAY_MS
from pipeline.window import Window
from storage.errors import StoreAway, StoreBusy
from storage.records import Commit, Row
from storage.store import Store

SPAN_MS = 75 * 60_000
LOAD_SLICE_MS = 300_000


class Tail(Window):
    """The last 75 minutes of a store, kept up to date by `follow`."""

    def __init__(self, store: Store, span_ms: int = SPAN_MS) -> None:
        super().__init__(span_ms)
        self._store = store
        self._sequence = -1
        self._loaded = False

    @property
    def loaded(self) -> bool:
        """Whether the whole span is in it; before that, `latest_tick` is only as far as loading has come."""
        return self._loaded

    def follow(self) -> list[int]:
        """Take in what was committed since the last call; the ticks that came, oldest first.

        The first call loads the whole span in slices, so that no read transaction is long. After a failure the next
        one begins anew. Later ones take in again what they could not read while the store was busy or away; what is
        damaged is passed over. When the collector's clock, which had leapt ahead, is right again, all is loaded anew
        without the rows of that other time.
        """
        if self._sequence < 0:
            return self._load()
        commits = self._store.commits_after(self._sequence)
        if not commits:
            return []
        if _leapt(self.latest_tick, commits[-1]):
            self._sequence, self._loaded = -1, False
            self.clear()
            return self._load()
        first = min(commit.first_tick for commit in commits)
        last = max(commit.last_tick for commit in commits)
        before, self._sequence = self._sequence, commits[-1].sequence
        try:
            return self._take(first, last)
        except (StoreAway, StoreBusy):
            self._sequence = before
            raise

    def _load(self) -> list[int]:
        latest = self._store.latest_commit()
        if latest is None:
            return []
        newest = max((row.tick for row in self._store.last_rows().values()), default=latest.last_tick)
        newest = latest.last_tick if _leapt(newest, latest) else newest
        ticks: list[int] = []
        for start in range(newest - self._span_ms, newest + 1, LOAD_SLICE_MS):
            ticks += self._take(start, min(start + LOAD_SLICE_MS - 1, newest))
        self._sequence, self._loaded = latest.sequence, True
        return ticks

    def _take(self, first: int, last: int) -> list[int]:
        if first > last:
            return []
        known = self._store.targets()
        self.set_intervals({target.name: target.interval_ms for target in known})
        oldest = (self.latest_tick or last) - self._span_ms
        self.set_stretches(self._store.intervals(min(first, oldest), last, [target.name for target in known]))
        rows = self._store.rows(start=first, end=last)
        steps = [(offset.series, offset.tick, offset.reason) for offset in self._store.offsets(first, last)]
        self.add_steps(steps)  # before the rows: other threads read meanwhile, and no rate may cross a restart
        for row in rows:
            self._add_row(row)
        self.trim()
        return sorted({row.tick for row in rows})

    def _add_row(self, row: Row) -> None:
        series = self._store.series_of(row.layout)
        self.add(row.target, row.tick, float(row.at_ms), series, np.asarray(row.values, dtype=np.float64))


def _leapt(newest: int | None, commit: Commit) -> bool:
    """Whether rows stand more than a day ahead of those that come now: a collector follows no such clock for good, see
    `pipeline.collector.newest_tick`."""
    return newest is not None and commit.first_tick <= commit.last_tick < newest - DAY_MS > commit.at_ms
