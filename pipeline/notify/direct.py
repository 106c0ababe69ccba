"""Direct: messages that cannot wait in the store, since they say that nobody writes to it; in memory until sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock, Thread

from alerts.notices import Retry, Word, superseded
from alerts.rule import Rule
from pipeline.notify.compose import Context, Message, message
from pipeline.notify.destination import SCHEMES, Destination
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.watch import Due

log = logging.getLogger(__name__)


@dataclass
class _Queue:
    """What waits for one channel, the oldest first."""

    waiting: list[Due] = field(default_factory=list)
    attempts: int = 0
    next_s: float = 0.0
    thread: Thread | None = None

    @property
    def flying(self) -> int:
        """How many of them are being sent just now."""
        return int(self.thread is not None and self.thread.is_alive() and bool(self.waiting))


@dataclass
class Direct:
    """deliver: sends a message once; UndeliveredError where it was not taken. web: address of the web page."""

    deliver: Callable[[Destination, Message], str]
    web: str = ""
    retry: Retry = field(default_factory=Retry)
    _queues: dict[str, _Queue] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def add(self, dues: Iterable[Due]) -> None:
        """Put messages in. What a later one says anew is dropped from those that wait; that something is over which
        nobody heard of is not told."""
        for due in dues:
            with self._lock:
                queue = self._queues.setdefault(due.destination.channel.name, _Queue())
                words, flying = due.outgoing.words or (), queue.flying
                unheard = {number for one in queue.waiting[flying:] for number, _ in one.outgoing.words or ()}
                left = [_with(one, superseded(one.outgoing.words or (), words)) for one in queue.waiting[flying:]]
                fresh = _with(due, tuple(one for one in words if one[1] is not Word.RESOLVED or one[0] not in unheard))
                queue.waiting[flying:] = [one for one in (*left, fresh) if one.outgoing.words]

    def step(self, rules: Mapping[str, Rule], now_s: float) -> None:
        """Begin to send what is due, each channel in a thread of its own."""
        for queue in self._queues.values():
            free = queue.thread is None or not queue.thread.is_alive()
            if free and queue.waiting and queue.next_s <= now_s:
                queue.thread = Thread(target=self._send, args=(queue, rules, now_s), name="notify-direct", daemon=True)
                queue.thread.start()

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait for what is under way."""
        for queue in self._queues.values():
            if queue.thread is not None:
                queue.thread.join(timeout_s)

    def _send(self, queue: _Queue, rules: Mapping[str, Rule], now_s: float) -> None:
        with self._lock:
            due = queue.waiting[0]
        most = SCHEMES[due.destination.scheme].most
        made = message(due.outgoing, due.alerts, Context(self.web, rules), most)
        try:
            if made is not None:
                self.deliver(due.destination, made)
        except UndeliveredError as error:
            queue.attempts += 1
            queue.next_s = now_s + self.retry.after(queue.attempts) / 1000
            log.error("channel %s is not told that the collector is silent: %s", due.destination.channel.name, error)
            return
        queue.attempts, queue.next_s = 0, 0.0
        with self._lock:
            queue.waiting = [one for one in queue.waiting if one is not due]


def _with(due: Due, words: tuple[tuple[int, Word], ...]) -> Due:
    """The same with these words; itself where they are the same."""
    return due if words == due.outgoing.words else replace(due, outgoing=replace(due.outgoing, words=words))
