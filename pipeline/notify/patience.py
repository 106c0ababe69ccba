"""Patience: how long an attempt may take in all. What takes longer has failed, and is left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from pipeline.notify.errors import UndeliveredError


@dataclass
class _Turn:
    """One channel's: who is at it, and the thread of the attempt before."""

    lock: Lock = field(default_factory=Lock)
    thread: Thread | None = None


@dataclass
class Patience:
    """Makes attempts, each channel's one after the other, in threads that can be left behind: one a channel at most.

    A limit for single reads is none for the whole: a receiver that sends a byte every few seconds keeps it for ever.
    """

    _turns: dict[str, _Turn] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def attempt(self, channel: str, work: Callable[[], str], deadline_s: float) -> str:
        """What the work returns or raises; UndeliveredError where that is not known in time, or the last still hangs.

        What is left behind may yet be delivered: a message that is sent again has the same id.
        """
        with self._lock:
            turn = self._turns.setdefault(channel, _Turn())
        with turn.lock:
            if turn.thread is not None and turn.thread.is_alive():
                raise UndeliveredError("an attempt before hangs still: the receiver neither answers nor hangs up")
            came: SimpleQueue[str | BaseException] = SimpleQueue()
            turn.thread = Thread(target=_into, args=(came, work), name=f"notify-{channel}-attempt", daemon=True)
            turn.thread.start()
            try:
                found = came.get(timeout=deadline_s)
            except Empty:
                raise UndeliveredError(f"no answer within {deadline_s:g} s") from None
            turn.thread.join()
        if isinstance(found, BaseException):
            raise found
        return found


def _into(came: SimpleQueue[str | BaseException], work: Callable[[], str]) -> None:
    try:
        came.put(work())
    except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
        came.put(error)
