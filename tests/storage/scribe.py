"""A process that commits tick after tick, says each on its output once it is acknowledged, and waits to be killed.

scribe.py URL TARGETS TICKS STEP_MS: with ticks further apart than a second, hours are sealed and rows deleted beside.
"""

from __future__ import annotations

import sys
import threading

from storage.records import Batch, Event, Row
from storage.store import Store, open_store
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, scribe_values, series

AHEAD_MS = 3 * HOUR_MS
"""How far ticks may be ahead of what is sealed: so that every life of some hours seals some."""


class Upkeep:
    """A thread that seals what is due and deletes what is sealed, again and again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._now_ms = self._done_ms = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._now_ms > self._done_ms)
                now_ms = self._now_ms
            for target, hour in self._store.due(now_ms):
                self._store.seal(target, hour, now_ms)
                self._store.prune(now_ms - HOUR_MS)
            with self._changed:
                self._done_ms = now_ms
                self._changed.notify_all()

    def tick(self, now_ms: int) -> None:
        """Tell the time; waits while sealing is far behind."""
        with self._changed:
            self._now_ms = now_ms
            self._changed.notify_all()
            if self._done_ms:
                self._changed.wait_for(lambda: now_ms - self._done_ms < AHEAD_MS)


def main(url: str, targets: int, ticks: int, step_ms: int) -> None:
    """Go on after the newest commit."""
    store = open_store(url, writer=True, now_ms=NOW)
    layouts = {target: store.layout(f"t{target}", series(f"t{target}", "a", "b", "c")) for target in range(targets)}
    last = store.latest_commit()
    first = 0 if last is None else (last.last_tick - NOW) // step_ms + 1
    upkeep = Upkeep(store) if step_ms > SECOND else None
    for tick in range(first, first + ticks):
        at = NOW + tick * step_ms
        if upkeep is not None:
            upkeep.tick(at)
        rows = [Row(at, f"t{n}", at + n, layouts[n], scribe_values(tick, n)) for n in layouts]
        event = Event(0, at, "t0", "tick", str(tick), {})
        commit = store.commit(Batch(rows=rows, events=[event]), at)
        print(f"{commit.sequence} {tick}", flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:5]))
