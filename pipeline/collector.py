"""Collector: the process that reads every target and is the only writer of samples."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Mapping

import numpy as np

from pipeline.absences import AbsenceBook
from pipeline.clock import HubClock
from pipeline.config import CollectorConfig, TargetConfig
from pipeline.hub import READ_FACT, STARTED_FACT, Hub
from pipeline.sampler import Sampler
from pipeline.targets import Target
from pipeline.upkeep import Upkeep
from pipeline.worker import resumed_counters
from pipeline.writer import Writer
from storage.errors import StoreError
from storage.records import Row
from storage.store import Store, open_store
from telemetry.catalog import cluster
from telemetry.model import Series

FOREVER_MS = 2**62

log = logging.getLogger(__name__)


def run(config: CollectorConfig) -> int:
    """Collect until SIGTERM or SIGINT; the process's exit code."""
    try:
        store = open_store(config.store_url, writer=True, now_ms=round(time.time() * 1000))
    except StoreError as error:
        log.error("%s", error)
        return 1
    try:
        store.claim()
        asyncio.run(_main(config, store))
    except StoreError as error:
        log.error("%s", error)
        return 1
    finally:
        store.close()
    return 0


async def _main(config: CollectorConfig, store: Store) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    clock = HubClock(time.time() * 1000.0, time.monotonic() * 1000.0)
    sampler = build(config, store, clock, time.monotonic)
    upkeep = Upkeep(store, sampler, config.keep_hours)
    upkeep.start()
    try:
        await sampler.run(stop)
    finally:
        upkeep.stop()


def build(config: CollectorConfig, store: Store, clock: HubClock, monotonic: Callable[[], float]) -> Sampler:
    """A sampler over the configured targets that goes on where the store ends. monotonic: seconds."""
    last = store.last_rows()
    # Engines first: their answers must not queue behind those of many nodes, since their time decides how often we ask.
    targets = [
        _target(one, config.interval_s, clock, monotonic, store, last.get(one.name))
        for one in (*config.engines, *config.nodes)
    ]
    names = {target.name for target in targets}
    still_open = [one for one in store.absences(0, FOREVER_MS) if one.end_ms is None and one.target in names]
    hub = Hub(config, store, targets, AbsenceBook(still_open))
    hub.prefills.totals.update(_prefills(store, last))
    for fact in store.facts():
        if fact.target in names and fact.end_ms is None:
            hub.remember_fact(fact.target, fact.name, fact.value)
    for target in targets:
        target.read_up_to = hub.fact(target.name, READ_FACT)
    return Sampler(targets, hub, Writer(store), clock, config.interval_s, monotonic)


def _target(
    one: TargetConfig,
    interval_s: float,
    clock: HubClock,
    monotonic: Callable[[], float],
    store: Store,
    row: Row | None,
) -> Target:
    if row is None:
        return Target(one, clock, monotonic, interval_s, {})
    series, values = store.series_of(row.layout), np.asarray(row.values, dtype=np.float64)
    resumed = resumed_counters(series, values, store.last_offsets(one.name))
    started = [float(fact.value) for fact in store.facts(one.name, name=STARTED_FACT) if fact.end_ms is None]
    started_s = started[0] if started else None
    return Target(one, clock, monotonic, interval_s, resumed, started_s)


def _prefills(store: Store, last: Mapping[str, Row]) -> dict[str, tuple[float, float]]:
    """Running totals of prefills by deployment, as the last rows hold them."""
    found = {}
    for target, row in last.items():
        if target.startswith(cluster.DEPLOYMENT_PREFIX):
            values = dict(zip(store.series_of(row.layout), row.values, strict=True))
            totals = [
                float(values[Series(target, one.name)]) for one in (cluster.PREFILL_TOKENS, cluster.PREFILL_SECONDS)
            ]
            found[target.removeprefix(cluster.DEPLOYMENT_PREFIX)] = (totals[0], totals[1])
    return found
