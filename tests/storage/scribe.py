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


def upkeep(store: Store, clock: list[int], stop: threading.Event) -> None:
    """Seal what is due and delete what is sealed, again and again."""
    while not stop.is_set():
        now_ms = clock[0]
        for target, hour in store.due(now_ms):
            store.seal(target, hour, now_ms)
            store.prune(now_ms - HOUR_MS)


def main(url: str, targets: int, ticks: int, step_ms: int) -> None:
    """Go on after the newest commit."""
    store = open_store(url, writer=True, now_ms=NOW)
    layouts = {target: store.layout(f"t{target}", series(f"t{target}", "a", "b", "c")) for target in range(targets)}
    last = store.latest_commit()
    first = 0 if last is None else (last.last_tick - NOW) // step_ms + 1
    clock, stop = [NOW + first * step_ms], threading.Event()
    beside = threading.Thread(target=upkeep, args=(store, clock, stop), daemon=True)
    if step_ms > SECOND:
        beside.start()
    for tick in range(first, first + ticks):
        at = clock[0] = NOW + tick * step_ms
        rows = [Row(at, f"t{n}", at + n, layouts[n], scribe_values(tick, n)) for n in layouts]
        event = Event(0, at, "t0", "tick", str(tick), {})
        commit = store.commit(Batch(rows=rows, events=[event]), at)
        print(f"{commit.sequence} {tick}", flush=True)
    stop.set()
    if step_ms > SECOND:
        beside.join()
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:5]))
