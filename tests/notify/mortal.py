"""A collector or a sender that is made to be killed: `python -m tests.notify.mortal collector|sender STORE START URL`.

The collector fires and ends one alert after the other, and goes on where its store ends.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from alerts.notices import Channel, Retry
from pipeline.notify.destination import Destination
from pipeline.notify.sender import Sender
from pipeline.notify.transport import Transport
from storage.errors import StoreError
from storage.store import open_store
from tests.notify.stage import RULES, Watch

CHANNEL = Channel("ops", gather_ms=0, per_hour=100_000)


def collector(path: str, start_ms: int, url: str) -> None:
    watch = Watch(Path(path), [Destination(CHANNEL, url)], start_ms)
    last = watch.store.alert_numbers()[0]
    firing = [one for one in watch.store.alerts() if one.firing]
    watch.alerts = {one.id: one for one in firing}
    watch.second = 2 * last - len(firing)
    print("ready", flush=True)
    while True:
        watch.second += 1
        number = (watch.second + 1) // 2
        if watch.second % 2:
            watch.decide(watch.fire(number, f"spark-{number}"))
        else:
            watch.decide(watch.end(watch.alerts[number]))
        time.sleep(0.02)


def sender(path: str, url: str) -> None:
    store = open_store(path, writer=False, now_ms=0)
    destinations = [Destination(CHANNEL, url)]
    found = Sender(store, destinations, Transport().deliver, lambda: RULES, retry=Retry(first_ms=100))
    print("ready", flush=True)
    while True:
        try:
            found.step(time.time_ns() // 1_000_000)
        except StoreError:
            continue  # busy: in a moment it is not
        found.finish()
        time.sleep(0.01)


if __name__ == "__main__":
    role, where, start, target = sys.argv[1:]
    if role == "collector":
        collector(where, int(start), target)
    else:
        sender(where, target)
