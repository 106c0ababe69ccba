"""Collector: the process that reads every target and is the only writer of samples."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable

from pipeline.absences import AbsenceBook
from pipeline.away import AWAY, while_away
from pipeline.chronicle import chronicle_of
from pipeline.clock import HubClock
from pipeline.config import CollectorConfig
from pipeline.desk import Desk
from pipeline.hub import READ_FACT, Hub
from pipeline.inbox import Inbox
from pipeline.keeper import lived
from pipeline.pulse import Pulse
from pipeline.removed import take_leave
from pipeline.resume import before_left, left_of, prefills_left
from pipeline.resume_alarms import resume_alarms
from pipeline.retention import DAY_MS
from pipeline.sampler import Sampler
from pipeline.targets import Target
from pipeline.upkeep import Upkeep
from pipeline.writer import Writer
from storage.errors import StoreBroken, StoreError, StoreGone, StoreNewer, StoreReadOnly, StoreTaken
from storage.store import Store, open_store
from telemetry.catalog.cluster import CLUSTER_TARGET
from telemetry.counters import NOMINAL_PER_GAP

FOREVER_MS = 2**62


def run(config: CollectorConfig, begun: Callable[[], None] = lambda: None) -> int:
    """Collect until SIGTERM or SIGINT, or until the store's file is gone; the process's exit code.

    A sentence says why it is not 0: 2 where starting again would not help, 1 where it may. begun: called once the store
    is ours.
    """
    try:
        store = open_store(config.store_url, writer=True, now_ms=round(time.time() * 1000))
    except StoreError as error:
        return _refused(error)
    try:
        store.claim()
        begun()
        asyncio.run(_main(config, store))
    except StoreError as error:
        return _refused(error)
    finally:
        store.close()
    return 0


def _refused(error: StoreError) -> int:
    sys.stderr.write(f"{error}\n")
    return 2 if isinstance(error, (StoreNewer, StoreBroken, StoreReadOnly, StoreTaken)) else 1


async def _main(config: CollectorConfig, store: Store) -> None:
    """StoreGone when the store's file is deleted or replaced meanwhile."""
    stop, gone = asyncio.Event(), list[StoreGone]()

    def lost(error: StoreGone) -> None:
        gone.append(error)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    wall_ms, monotonic_ms = time.time() * 1000.0, time.monotonic() * 1000.0
    clock = HubClock.after(newest_tick(store, wall_ms), longest_gap_ms(store), wall_ms, monotonic_ms)
    sampler = build(config, store, clock, time.monotonic)
    upkeep = Upkeep(store, sampler, config.keep, lost, store.pinned)
    upkeep.start()
    try:
        await sampler.run(stop)
    finally:
        upkeep.stop()
    if gone:
        raise gone[0]


def newest_tick(store: Store, wall_ms: float) -> int:
    """The tick behind which a collector goes on; 0 where it goes by the machine's clock alone.

    One that is more than a day ahead counts only where what was recorded before leads up to it: then the machine's
    clock is not set yet. Else it had leapt for a while, and nobody wants to stay in another year.
    """
    newest = max((row.tick for row in store.last_rows().values()), default=0)
    return newest if newest <= wall_ms + DAY_MS or lived(store, newest) else 0


def longest_gap_ms(store: Store) -> float:
    """What is a gap for every target that was read: more than 2.5 of its intervals."""
    return (NOMINAL_PER_GAP + 1) * max((target.interval_ms for target in store.targets()), default=0)


def build(config: CollectorConfig, store: Store, clock: HubClock, monotonic: Callable[[], float]) -> Sampler:
    """A sampler over the configured targets that goes on where the store ends. monotonic: seconds."""
    until = round(clock.at(monotonic() * 1000.0)) + DAY_MS  # what is further ahead is of a clock that had leapt
    last, desk, pulse = store.last_rows(until), Desk(), Pulse(monotonic)
    # Engines first: their answers must not queue behind those of many nodes, since their time decides how often we ask.
    targets = [
        Target(
            one, clock, monotonic, config.interval_s, left_of(store, one.name, last.get(one.name), until), desk, pulse
        )
        for one in (*config.engines, *config.nodes)
    ]
    names = {target.name for target in targets}
    take_leave(store, names, round(clock.at(monotonic() * 1000.0)))
    still_open = [one for one in store.absences(0, FOREVER_MS) if one.end_ms is None and one.target in names]
    away, now_ms = {one.target: one.reason for one in still_open if one.metric is None}, clock.at(monotonic() * 1000.0)
    for target in targets:
        row = last.get(target.name)
        target.before = before_left(store, target.is_node, row, away.get(target.name), round(now_ms))
    hub = Hub(config, targets, AbsenceBook(still_open))
    if (gone := while_away(store.latest_commit(), round(now_ms), longest_gap_ms(store))) is not None:
        hub.note_event(CLUSTER_TARGET, AWAY, gone[0], round(now_ms), gone[1])
    hub.chronicle = chronicle_of(store, round(config.run_silence_s * 1000))
    hub.prefills.totals.update(prefills_left(store, last))
    for fact in store.facts():
        if fact.target in names and fact.end_ms is None:
            hub.remember_fact(fact.target, fact.name, fact.value, fact.start_ms)
    resume_alarms(hub, store, config.alerts, round(now_ms), config.interval_s * 1000)
    for target in targets:
        target.read_up_to = hub.fact(target.name, READ_FACT)
    return Sampler(targets, hub, Writer(store), clock, config.interval_s, monotonic, desk, Inbox(store), pulse)
