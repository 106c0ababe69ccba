"""Upkeep: what happens more rarely than a tick, as jobs of APScheduler on the collector's own loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from pipeline.sampler import Sampler
from storage.errors import StoreError, StoreGone
from storage.store import Store

CLOCK_EVERY_S = 5
STORE_EVERY_S = 5
PRUNE_EVERY_S = 600
HOUR_MS = 3_600_000

log = logging.getLogger(__name__)


class Upkeep:
    """Jobs: the hub's clock against the wall clock, the store's file against its path, and dropping of samples that
    are old enough. lost: told why, once the file is gone."""

    def __init__(self, store: Store, sampler: Sampler, keep_hours: float, lost: Callable[[StoreGone], None]) -> None:
        self._store = store
        self._sampler = sampler
        self._lost = lost
        self._keep_ms = keep_hours * HOUR_MS
        self._scheduler = AsyncIOScheduler(timezone="UTC", job_defaults={"coalesce": True, "misfire_grace_time": None})

    def start(self) -> None:
        """Begin; needs a running loop."""
        self._scheduler.add_job(self.check_clock, "interval", seconds=CLOCK_EVERY_S)
        self._scheduler.add_job(self.check_store, "interval", seconds=STORE_EVERY_S)
        self._scheduler.add_job(self.prune, "interval", seconds=PRUNE_EVERY_S)
        self._scheduler.start()

    def stop(self) -> None:
        """End; a job under way is not waited for."""
        self._scheduler.shutdown(wait=False)

    async def check_clock(self) -> None:
        """Keep the hub's clock with the machine's, and say when that was set."""
        monotonic_ms, wall_ms = time.monotonic() * 1000.0, time.time() * 1000.0
        text = self._sampler.clock.check(wall_ms, monotonic_ms)
        if text is not None:
            log.warning("%s", text)
            self._sampler.hub.note_event("cluster", "clock", text, round(self._sampler.clock.at(monotonic_ms)))

    async def check_store(self) -> None:
        """End collecting into a file that nobody will ever read."""
        try:
            self._store.confirm()
        except StoreGone as error:
            self._lost(error)

    async def prune(self) -> None:
        """Drop samples older than the settings keep."""
        before = round(time.time() * 1000.0 - self._keep_ms)
        try:
            dropped = await asyncio.to_thread(self._store.prune, before)
        except StoreError as error:
            log.error("cannot drop old samples: %s", error)
            return
        if dropped:
            log.info("dropped %d rows older than %g h", dropped, self._keep_ms / HOUR_MS)
