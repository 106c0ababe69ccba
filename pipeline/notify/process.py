"""Process that delivers notices, and tells a heartbeat channel that the collector commits."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from alerts.rule import Rule
from pipeline.notify.destination import Heartbeat, NotifyConfig
from pipeline.notify.direct import Direct
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.rules import Rules
from pipeline.notify.sender import Sender
from pipeline.notify.transport import Transport
from pipeline.notify.watch import Look, Watch
from storage.errors import StoreError, StoreGone, StoreNewer, StoreNotReady
from storage.store import Store, open_store

EVERY_S = 1.0
TIDY_EVERY_S = 3600.0
GRACE_S = 3.0

log = logging.getLogger(__name__)


class Heart:
    """Beats as long as the collector commits. beat: tells it, and raises UndeliveredError. now: seconds."""

    def __init__(self, every_s: float, store: Store, beat: Callable[[], str]) -> None:
        self._every_s, self._store, self._beat = every_s, store, beat
        self._seen: int | None = None
        self._next_s = 0.0
        self._problem = ""

    def step(self, now_s: float) -> bool:
        """Tell it when it is time and something was committed since; whether it was told and heard.

        What was committed before the first look says nothing of now.
        """
        if self._seen is not None and now_s < self._next_s:
            return False
        latest = self._store.latest_commit()
        number = latest.sequence if latest is not None else 0
        if self._seen is None or number <= self._seen:
            self._seen = number if self._seen is None else self._seen
            return False
        self._seen, self._next_s = number, now_s + self._every_s
        return self._told()

    def _told(self) -> bool:
        try:
            self._beat()
        except UndeliveredError as error:
            if str(error) != self._problem:
                log.error("the heartbeat channel does not take our word: %s", error)
            self._problem = str(error)
            return False
        self._problem = ""
        return True


def run(config: NotifyConfig) -> int:
    """Deliver until SIGTERM or SIGINT; the process's exit status. 2 where starting again would not help."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        store = _opened(config.store_url, stop)
        if store is not None:
            try:
                _deliver(config, store, stop)
            finally:
                store.close()
    except StoreError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, StoreNewer) else 1
    return 0


def _opened(url: str, stop: threading.Event) -> Store | None:
    """The store, once the collector has made it; None when we are stopped before."""
    while not stop.is_set():
        try:
            return open_store(url, writer=False, now_ms=_now_ms())
        except StoreNotReady:
            stop.wait(EVERY_S)
    return None


def _deliver(config: NotifyConfig, store: Store, stop: threading.Event) -> None:
    rules, transport = Rules(config.alerts, store), Transport()
    sender = Sender(store, config.destinations, transport.deliver, rules, config.web)
    beat = _beating(config.heartbeat, store, transport)
    jobs: list[tuple[float, Callable[[], object]]] = [
        (EVERY_S, lambda: sender.step(_now_ms())),
        (EVERY_S, beat),
        (EVERY_S, _watching(config, store, rules, transport)),
        (TIDY_EVERY_S, lambda: sender.tidy(_now_ms())),
    ]
    at_it = Jobs(jobs, time.monotonic)
    while not stop.is_set():
        at_it.step()
        stop.wait(EVERY_S)
    sender.finish(GRACE_S)


def _watching(
    config: NotifyConfig, store: Store, rules: Callable[[], Mapping[str, Rule]], transport: Transport
) -> Callable[[], object]:
    """A job that tells that the collector is silent. While the store cannot be read, what was read last holds."""
    watch, direct = Watch(config.destinations), Direct(transport.deliver, config.web)
    last = [Look(None, EVERY_S, {})]

    def step() -> None:
        try:
            latest = store.latest_commit()
            interval_ms = min((target.interval_ms for target in store.targets()), default=1000)
            sequence = latest.sequence if latest is not None else 0
            last[0] = Look(sequence, interval_ms / 1000, rules(), store.silences(_now_ms()))
        except StoreGone:
            raise
        except StoreError:
            last[0] = replace(last[0], sequence=None)
        direct.add(watch.look(last[0], time.monotonic(), _now_ms()))
        direct.step(last[0].rules, time.monotonic())

    return step if config.destinations else lambda: None


class Jobs:
    """What is done every so many seconds, and what was wrong with the store at each the last time. clock: seconds."""

    def __init__(self, jobs: Sequence[tuple[float, Callable[[], object]]], clock: Callable[[], float]) -> None:
        self._jobs, self._clock = jobs, clock
        self._due = [0.0] * len(jobs)
        self._problems = [""] * len(jobs)

    def step(self) -> None:
        """Do what is due. StoreGone."""
        for place, (every_s, job) in enumerate(self._jobs):
            if self._clock() >= self._due[place]:
                self._problems[place] = _tried(job, self._problems[place])
                self._due[place] = self._clock() + every_s


def _tried(job: Callable[[], object], problem: str) -> str:
    """Do it; what is wrong with the store then, told when it is new. StoreGone ends us."""
    try:
        job()
    except StoreGone:
        raise
    except StoreError as error:
        if str(error) != problem:
            log.warning("messages wait: %s", error)
        return str(error)
    return ""


def _beating(found: Heartbeat | None, store: Store, transport: Transport) -> Callable[[], object]:
    """A job that beats in a thread of its own: messages must not wait for whoever listens to the heart."""
    if found is None:
        return lambda: None
    heart = Heart(found.every_s, store, lambda: transport.heartbeat(found.url, private=found.private))
    under_way: list[threading.Thread] = []

    def step() -> None:
        if not any(thread.is_alive() for thread in under_way):
            under_way[:] = [threading.Thread(target=_beat, args=(heart,), name="heartbeat", daemon=True)]
            under_way[0].start()

    return step


def _beat(heart: Heart) -> None:
    try:
        heart.step(time.monotonic())
    except StoreError as error:
        log.debug("no heartbeat: %s", error)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
