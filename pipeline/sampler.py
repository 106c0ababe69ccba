"""Sampler: the tick. A monotonic loop that asks every due target at once and commits what came as one batch."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from alerts.given import COMMIT_AGE
from pipeline.clock import HubClock
from pipeline.desk import Desk
from pipeline.hub import Hub
from pipeline.inbox import Inbox
from pipeline.left_out import LEFT_OUT, LeftOut, reason
from pipeline.pulse import Pulse
from pipeline.targets import Target
from pipeline.worker import Sample
from pipeline.writer import Work, Writer
from telemetry.catalog import cluster

WAIT_SHARE = 0.8
"""Share of the interval that a tick waits for its answers; later ones are written with the next tick."""

log = logging.getLogger(__name__)


@dataclass
class Sampler:
    """Owns the loop. monotonic: seconds; processor: seconds that this process has worked (both replaced in tests)."""

    targets: list[Target]
    hub: Hub
    writer: Writer
    clock: HubClock
    interval_s: float
    monotonic: Callable[[], float]
    desk: Desk
    inbox: Inbox
    pulse: Pulse
    arrived: list[Sample] = field(default_factory=list)
    last_tick: int = 0
    processor: Callable[[], float] = time.process_time
    left_out: LeftOut = field(default_factory=LeftOut)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _ready: list[Work] = field(default_factory=list)
    _writing: asyncio.Task[None] | None = None
    _commits: int = 0
    _committed_s: float = field(default_factory=time.monotonic)
    _disk: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "store"))

    async def run(self, stop: asyncio.Event) -> None:
        """Tick until `stop` is set. A tick that the machine slept through is skipped, never made up for."""
        beating = asyncio.get_running_loop().create_task(self.pulse.run())
        due_s = self.monotonic() + self.interval_s
        worked_s = self.processor()
        while not await _set_within(stop, due_s - self.monotonic()):
            late = int((self.monotonic() - due_s) / self.interval_s)
            self._leave_out(late, self.processor() - worked_s, self.monotonic() - due_s + self.interval_s)
            due_s += late * self.interval_s
            worked_s = self.processor()
            await self.tick(due_s)
            due_s += self.interval_s
        beating.cancel()
        await self.finish()

    def _leave_out(self, ticks: int, processor_s: float, passed_s: float) -> None:
        """Count ticks that were left out since the last one, and tell of them as an event."""
        self.hub.lookout.givens.skipped(ticks)
        self.left_out.add(ticks, reason(processor_s, passed_s))
        now_ms = round(self.clock.at(self.monotonic() * 1000.0))
        told = self.left_out.due(now_ms)
        if told is not None:
            self.hub.note_event(cluster.CLUSTER_TARGET, LEFT_OUT, told[0], now_ms, told[1])

    async def tick(self, due_s: float) -> None:
        """One tick: ask whoever is due, wait for the answers within reason, commit."""
        tick = self.last_tick = max(round(self.clock.at(due_s * 1000.0)), self.last_tick + 1)
        asked = [self._start(target, tick, due_s) for target in self.targets if self._due(target, due_s)]
        if asked:
            await asyncio.wait(asked, timeout=self.interval_s * WAIT_SHARE)
        self.commit(tick)

    def commit(self, tick: int) -> None:
        """Hand over what has arrived to be written. The next tick does not wait for a store that is slow."""
        samples, self.arrived = self.arrived, []
        now_ms = round(self.clock.at(self.monotonic() * 1000.0))
        self.hub.lookout.givens.tell(COMMIT_AGE.name, self._commit_age_s())
        self._ready.append(self.hub.work(samples, tick, now_ms, self.inbox.take(), self.inbox.take_alerts()))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write())

    def _commit_age_s(self) -> float:
        """For how long ticks wait while none is written, by the machine's own clock: the disk knows no other."""
        now_s = time.monotonic()
        waits = self._ready or self.writer.waiting or (self._writing is not None and not self._writing.done())
        if not waits or self.writer.commits != self._commits:
            self._commits, self._committed_s = self.writer.commits, now_s
        return now_s - self._committed_s

    async def _write(self) -> None:
        while self._ready:
            works, self._ready = self._ready, []
            await asyncio.get_running_loop().run_in_executor(self._disk, self._commit, works)

    def _commit(self, works: list[Work]) -> None:
        """In the thread that owns the store: write, then look for what people ask, which the next tick does."""
        self.writer.write(works, works[-1].at_ms)
        self.inbox.fetch()

    async def written(self) -> None:
        """Wait until what was handed over is written."""
        if self._writing is not None:
            await self._writing

    async def finish(self) -> None:
        """Let what is under way end, write it, and close every connection."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=1.0)
        for task in list(self._tasks):
            task.cancel()
        if self.arrived:
            self.commit(self.last_tick + 1)
        await self.written()
        for target in self.targets:
            await target.close()
        self._disk.shutdown()
        self.desk.close()

    def _due(self, target: Target, due_s: float) -> bool:
        if not target.politeness.due(due_s):
            return False
        if target.busy:
            target.health.late += 1
        return not target.busy

    def _start(self, target: Target, tick: int, due_s: float) -> asyncio.Task[None]:
        target.busy = True
        task = asyncio.get_running_loop().create_task(self._ask(target, tick, due_s))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A defect in reading one target must neither stop the others nor go unseen."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("reading a target failed", exc_info=error)

    async def _ask(self, target: Target, tick: int, due_s: float) -> None:
        try:
            sample = await target.poll(tick, due_s)
            if sample is None:
                return
            self.arrived.append(sample)
            if target.is_node:
                await self._ask_state(target, sample)
            else:
                await self._ask_facts(target, sample)
        finally:
            target.busy = False

    async def _ask_state(self, target: Target, sample: Sample) -> None:
        fresh = await target.read_state(sample.at_ms, sample)
        if fresh is not None:
            self.hub.learn_state(target, fresh, round(sample.at_ms))

    async def _ask_facts(self, target: Target, sample: Sample) -> None:
        facts = await target.read_facts()
        if facts is not None:
            now_ms = round(self.clock.at(self.monotonic() * 1000.0))
            self.hub.learn_facts(target.name, facts, now_ms)
            if target.facts.complete:
                self.hub.end_facts(target.name, {*facts, *sample.layout.facts}, now_ms)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event is set before so many seconds have passed."""
    if event.is_set():
        return True
    try:
        async with asyncio.timeout(max(seconds, 0.0)):
            await event.wait()
    except TimeoutError:
        return False
    return True
