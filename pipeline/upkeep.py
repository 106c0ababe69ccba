"""Upkeep: what happens more rarely than a tick, as jobs of APScheduler on the collector's own loop."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, EVENT_JOB_MAX_INSTANCES, JobEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from alerts.given import BASELINE_SPEED, CHANNEL_FAILING, STORE_FILL
from alerts.slow import work_out
from pipeline import baseline, fill
from pipeline.alert_evidence import Evidence
from pipeline.config import Keep
from pipeline.keeper import Keeper, Ranges, nothing_pinned
from pipeline.membership import Membership
from pipeline.sampler import Sampler
from pipeline.settle import Settler
from storage.errors import StoreError, StoreGone
from storage.store import Store

CLOCK_EVERY_S = 5
STORE_EVERY_S = 5
SEAL_EVERY_S = 60
FOLD_EVERY_S = 60
PRUNE_EVERY_S = 600
ROOM_EVERY_S = 30
TELL_EVERY_S = 600
RUNS_EVERY_S = 5
SLOW_EVERY_S = 60
BASELINE_EVERY_S = 120
EVIDENCE_EVERY_S = 30
CHANNELS_EVERY_S = 5
PAUSE_S = 0.2
"""Between two targets, so that sealing many never takes a core for long."""
MOST_DAYS = 100
"""Days of targets folded at once: a store of years is through in an hour, and nobody waits for it."""
HOUR_MS = 3_600_000
HOT_MS = 2 * HOUR_MS
"""How long rows stay: longer than any tail reaches back."""

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger(__name__)


class Upkeep:
    """Jobs: the hub's clock against the wall clock, the store's file against its path, sealing of hours, and dropping
    of what is old, or what there is no room for. lost: told why, once the file is gone. kept: stretches that are never
    dropped."""

    def __init__(
        self,
        store: Store,
        sampler: Sampler,
        keep: Keep,
        lost: Callable[[StoreGone], None],
        kept: Callable[[], Ranges] = nothing_pinned,
    ) -> None:
        self._store = store
        self._sampler = sampler
        self._lost = lost
        self._problems: dict[str, str] = {}
        self._said: list[str] = []
        self._keep = keep
        self._keeper = Keeper(store, keep, self._say, kept)
        self._settler = Settler(store)
        self._evidence = Evidence(store)
        self._membership = Membership()
        self._turn = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._slow: set[str] = set()
        self._compared: set[str] = set()
        self._scheduler = AsyncIOScheduler(timezone="UTC", job_defaults={"coalesce": True, "misfire_grace_time": None})
        self._scheduler.add_listener(self._heard, EVENT_JOB_MAX_INSTANCES | EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)

    def start(self) -> None:
        """Begin; needs a running loop."""
        self.every(STORE_EVERY_S, "the look at the store's file", self.check_store)
        self.every(SEAL_EVERY_S, "the sealing of hours", self.seal, at_once=True)
        self.every(FOLD_EVERY_S, "the folding of days", self.fold)
        self.every(PRUNE_EVERY_S, "the dropping of what is old", self.prune)
        self.every(TELL_EVERY_S, "the account of the store's growth", self.tell, at_once=True)
        self.every(ROOM_EVERY_S, "the look for room on the disk", self.make_room)
        self.every(RUNS_EVERY_S, "the working out of runs", self.settle)
        self.every(CHANNELS_EVERY_S, "the look at channels", self.look_at_channels, at_once=True)
        self.every(SLOW_EVERY_S, "the long look of alert rules", self.look_far, at_once=True)
        self.every(BASELINE_EVERY_S, "the comparison with baselines", self.compare)
        self.every(EVIDENCE_EVERY_S, "the keeping of alerts' evidence", self.keep_evidence)
        self._scheduler.start()
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    def every(self, seconds: float, what: str, work: Callable[[], Awaitable[None]], *, at_once: bool = False) -> None:
        """Do it so often, for the first time after one interval or at once. what: its name in a sentence."""
        first = {"next_run_time": datetime.now(UTC)} if at_once else {}
        self._scheduler.add_job(work, "interval", id=what, seconds=seconds, **first)

    def _heard(self, event: JobEvent) -> None:
        """Say in our own words what the scheduler says in its own: that a job takes longer than its interval, once
        until it has ended, and that one failed by a defect."""
        if event.code == EVENT_JOB_MAX_INSTANCES:
            if event.job_id not in self._slow:
                log.warning("%s takes longer than the time between two of them; some are left out", event.job_id)
            self._slow.add(event.job_id)
            return
        self._slow.discard(event.job_id)
        if event.code == EVENT_JOB_ERROR and not isinstance(event.exception, asyncio.CancelledError):  # by `stop`
            log.error("%s failed by a defect and will be tried again", event.job_id, exc_info=event.exception)

    def stop(self) -> None:
        """End; a job under way is not waited for."""
        if self._watching is not None:
            self._watching.cancel()
        self._scheduler.shutdown(wait=False)

    async def _watch(self) -> None:
        """The clock is looked at in monotonic time: the scheduler lives on the very clock that may have been set."""
        while True:
            await asyncio.sleep(CLOCK_EVERY_S)
            await self.check_clock()

    async def check_clock(self) -> None:
        """Keep the hub's clock with the machine's, and say when that was set."""
        monotonic_ms, wall_ms = time.monotonic() * 1000.0, time.time() * 1000.0
        text = self._sampler.clock.check(wall_ms, monotonic_ms)
        if text is not None:
            log.warning("%s", text)
            self._sampler.hub.note_event("cluster", "clock", text, round(self._sampler.clock.at(monotonic_ms)))
            self._begin_again()

    def _begin_again(self) -> None:
        """Count the jobs' intervals from now on: after a clock that was set back they would rest for as long."""
        for job in self._scheduler.get_jobs():
            job.reschedule("interval", seconds=job.trigger.interval.total_seconds())

    async def check_store(self) -> None:
        """End collecting into a file that nobody will ever read."""
        try:
            await asyncio.to_thread(self._store.confirm)
        except StoreGone as error:
            self._lost(error)

    async def seal(self) -> None:
        """Seal the hours that are due, one target after the other; what fails is told once and tried again later."""
        now_ms = self._now_ms()
        due = await self._guarded("due hours", self._store.due, now_ms)
        for target, hour in due or ():
            oldest = self._sampler.writer.oldest_waiting()
            if oldest is not None and oldest < hour + HOUR_MS:
                return
            began = time.perf_counter()
            if await self._guarded(f"{target}, {hour}", self._store.seal, target, hour, now_ms):
                log.debug("sealed the hour %d of %s in %.0f ms", hour, target, (time.perf_counter() - began) * 1000)
            await asyncio.sleep(PAUSE_S)

    async def fold(self) -> None:
        """Put days together whose hours were sealed, the newest first."""
        for target, day in await self._guarded("due days", self._store.days_due, self._now_ms(), MOST_DAYS) or ():
            await self._guarded(f"the day {day} of {target}", self._store.fold, target, day)
            await asyncio.sleep(PAUSE_S)

    async def settle(self) -> None:
        """Work out runs that ended."""
        await self._guarded("runs", self._settler.run, self._now_ms())

    async def look_at_channels(self) -> None:
        """How delivery goes, for the rule about it. With nobody to tell, nothing fails."""
        hub, now_ms = self._sampler.hub, self._now_ms()
        names = [channel.name for channel in hub.teller.channels if channel.enabled]
        found = await self._guarded("channels", self._store.accounts, names, now_ms) if names else {}
        if found is not None:
            for name, one in found.items():
                hub.lookout.givens.tell(CHANNEL_FAILING.name, float(one.failing), name)

    async def keep_evidence(self) -> None:
        """Keep what was around alerts that fired."""
        rules = dict(self._sampler.hub.alarms.rulebook.rules)
        await self._guarded("evidence of alerts", self._evidence.keep, rules, self._now_ms())

    async def look_far(self) -> None:
        """Work out who serves whom, and what rules read over hours and days."""
        hub, now_ms = self._sampler.hub, self._now_ms()
        asked = (self._store, hub.window, hub.deployments(), hub.chronicle.going(), now_ms)
        nodes = await self._guarded("members of deployments", self._membership.look, *asked)
        if nodes is not None:
            hub.lookout.evidence = nodes
        rules, members = list(hub.alarms.rulebook.rules.values()), hub.lookout.members(hub.deployments())
        found = await self._guarded("long windows", work_out, rules, self._store, members, now_ms)
        if found is not None:
            hub.lookout.slow = found

    async def compare(self) -> None:
        """How fast deployments are against their baselines, for the rule about it."""
        givens, going = self._sampler.hub.lookout.givens, self._sampler.hub.chronicle.going()
        for name in self._compared - going.keys():
            givens.tell(BASELINE_SPEED.name, None, name)
        self._compared = set(going)
        for name, run in going.items():
            given = await self._guarded(f"the speed of {name}", baseline.speed, self._store, run, self._now_ms())
            givens.tell(BASELINE_SPEED.name, given, name)

    async def prune(self) -> None:
        """Drop rows that the tails need no longer, samples older than the settings keep, and the oldest summaries."""
        async with self._turn:
            now_ms = self._now_ms()
            await self._guarded("rows", self._store.prune, now_ms - HOT_MS)
            gone = await self._guarded("what is old", self._keeper.by_age, now_ms)
            if gone:
                log.info("gave up samples by their age: %d hours of targets", gone)

    async def tell(self) -> None:
        """Leave word of the settings and of growth, for those who show it."""
        async with self._turn:
            await self._guarded("growth", self._keeper.note, self._now_ms())

    async def make_room(self) -> None:
        """Drop the oldest before its time where the size limit or the disk leaves no room, and say so."""
        if self._turn.locked():
            return
        async with self._turn:
            now_ms = self._now_ms()
            filled = await self._guarded("the store's size", fill.share, self._store, self._keep)
            self._sampler.hub.lookout.givens.tell(STORE_FILL.name, filled)
            if await self._guarded("room", self._keeper.make_room, now_ms):
                await self._guarded("growth", self._keeper.note, now_ms)
            said, self._said = self._said, []
        for text in said:
            self._sampler.hub.note_event("cluster", "store", text, now_ms)

    def _say(self, level: str, text: str) -> None:
        log.log(logging.CRITICAL if level == "critical" else logging.WARNING, "%s", text)
        self._said.append(text)

    def _now_ms(self) -> int:
        """By the hub's clock, which gives rows their ticks: the machine's own may be ahead of it by an hour."""
        return round(self._sampler.clock.at(time.monotonic() * 1000.0))

    async def _guarded(self, what: str, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Do it in a thread. None when it failed, which is told when it was not told last time."""
        try:
            done = await asyncio.to_thread(work, *args, **kwargs)
        except StoreError as error:
            problem = str(error)
        except (ArithmeticError, ValueError, TypeError, LookupError, MemoryError):
            problem = f"a defect\n{traceback.format_exc()}"
        else:
            self._problems.pop(what, None)
            return done
        if self._problems.get(what) != problem:
            log.error("upkeep of %s failed and will be tried again: %s", what, problem)
        self._problems[what] = problem
        return None
