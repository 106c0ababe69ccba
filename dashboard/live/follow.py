"""Follows the store: four looks a second, one message per new tick."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dashboard.background import Background
from dashboard.live.alarms import Alarms
from dashboard.live.earlier import earlier
from dashboard.live.factors import stretch
from dashboard.live.gpus import Gpus
from dashboard.live.hub import Hub
from dashboard.live.message import Builder
from dashboard.live.scene import Models, Scene, gather
from dashboard.sources import Sources
from pipeline.tail import Tail
from storage.errors import StoreBroken, StoreError
from storage.store import Store
from telemetry.roofline import Weights

EVERY_S = 0.25
MOST_AT_ONCE = 10
"""Of ticks that arrive together (after a stall of the collector) the newest become messages; history holds the rest."""

log = logging.getLogger(__name__)


@dataclass
class Work:
    """What following costs: messages made, seconds spent, and the last problem (None while all is well)."""

    messages: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    failures: int = 0
    problem: str | None = None


class Follower(Background):
    """Feeds the hub from the store. `step` is one look; `start` makes looks in a thread of its own.

    figures: what the model of each deployment weighs.
    """

    def __init__(
        self,
        store: Store,
        tail: Tail,
        hub: Hub,
        clock: Callable[[], int],
        figures: Mapping[str, Weights] | None = None,
    ) -> None:
        super().__init__("follow")
        self._store, self._tail, self._hub, self._clock = store, tail, hub, clock
        self._builder = Builder(figures or {})
        self._models, self._gpus = Models(), Gpus() if figures else None
        self._alarms = Alarms()
        self._told: int | None = None
        self.work = Work()

    def step(self) -> int:
        """One look at the store; number of messages published."""
        ticks = self._tail.follow()
        if self._told is not None and self._told > (self._tail.latest_tick or 0):  # of a clock that had leapt
            self._told = None
        if self._told is None:
            ticks = ticks[-1:]
        fresh = [tick for tick in ticks if self._told is None or tick > self._told][-MOST_AT_ONCE:]
        for tick in fresh:
            self._publish(tick)
        return len(fresh)

    def _publish(self, tick: int) -> None:
        began, busy = time.perf_counter(), time.thread_time()
        latency = self._builder.wants_latency(tick)
        now = self._clock()
        gpus = self._gpus.at(self._store, now) if self._gpus else None
        scene = gather(
            self._store,
            self._tail,
            tick,
            now,
            models=self._models,
            alarms=self._alarms,
            gpus=gpus,
            latency=latency,
        )
        self._look_back(scene)
        self._hub.publish(self._builder.message(scene))
        self._told = tick
        self.work.messages += 1
        self.work.seconds += time.perf_counter() - began
        self.work.cpu_seconds += time.thread_time() - busy

    def _look_back(self, scene: Scene) -> None:
        """Read one earlier stretch, where one is wanted that speeds can be compared with.

        What cannot be read of hours ago takes nothing from what is told of now: it is tried again later, or left out
        where it is damaged.
        """
        end = self._builder.baselines.wanted(scene)
        if end is None:
            return
        try:
            found = stretch(earlier(scene, end, Sources(self._store, self._tail, self._clock)))
        except StoreError as error:
            log.debug("an earlier stretch of decoding cannot be read: %s", error)
            if not isinstance(error, StoreBroken):
                return
            found = None
        self._builder.baselines.remember(end, found)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
                self.work.problem = None
            except StoreError as error:
                self._failed(str(error))
            except Exception as error:
                # One tick that cannot be told must not end the live data for good.
                log.exception("a message could not be made")
                self._failed(f"a message could not be made: {error}")
            self._stop.wait(EVERY_S)

    def _failed(self, problem: str) -> None:
        if problem != self.work.problem:
            log.error("live data: %s", problem)
        self.work.problem = problem
        self.work.failures += 1
