"""A process that commits tick after tick, says each on its output once it is acknowledged, and waits to be killed.

scribe.py URL TARGETS TICKS PRUNE_EVERY
"""

from __future__ import annotations

import sys

from storage.records import Batch, Event, Row
from storage.store import open_store
from tests.storage.worlds import NOW, SECOND, scribe_values, series


def main(url: str, targets: int, ticks: int, prune_every: int) -> None:
    """Go on after the newest commit."""
    store = open_store(url, writer=True, now_ms=NOW)
    layouts = {target: store.layout(f"t{target}", series(f"t{target}", "a", "b", "c")) for target in range(targets)}
    last = store.latest_commit()
    first = 0 if last is None else (last.last_tick - NOW) // SECOND + 1
    for tick in range(first, first + ticks):
        at = NOW + tick * SECOND
        rows = [Row(at, f"t{n}", at + n, layouts[n], scribe_values(tick, n)) for n in layouts]
        event = Event(0, at, "t0", "tick", str(tick), {})
        commit = store.commit(Batch(rows=rows, events=[event]), at)
        print(f"{commit.sequence} {tick}", flush=True)
        if prune_every and tick % prune_every == 0:
            store.prune(at - 50 * SECOND)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument) for argument in sys.argv[2:5]))
