"""Hands one message to many clients: encoded once, kept for those who poll, awaited by those who stream."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from dashboard.live.delta import Message, difference, same_shape

KEEP = 120
"""Messages kept for polling clients and interrupted streams: two minutes at the usual interval."""
STREAM_CAP = 48
"""Each stream holds one of the server's 64 threads."""


class StreamsFullError(Exception):
    """Every stream the server can afford is open; the client polls instead."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One published tick: the tick that its encoded difference starts from, and the difference."""

    base: int
    tick: int
    data: bytes


class Hub:
    """The latest message, the last `KEEP` differences, and the clients waiting for the next one. Thread-safe."""

    def __init__(self, keep: int = KEEP, stream_cap: int = STREAM_CAP) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._entries: deque[Entry] = deque(maxlen=keep)
        self._latest: Message | None = None
        self._sequence = 0
        self._stream_cap = stream_cap
        self._streams = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is about to stop."""
        return self._closed

    @property
    def streams(self) -> int:
        """Streams open now."""
        return self._streams

    @property
    def sequence(self) -> int:
        """Number of messages published so far."""
        return self._sequence

    def close(self) -> None:
        """End every stream. Safe in a signal handler: waiting clients notice within their own time-out."""
        self._closed = True

    def publish(self, message: Message) -> None:
        """Make a message the latest one. Ticks rise; after a change of shape everybody must start afresh."""
        latest = self._latest
        entry = None
        if latest is not None and same_shape(latest, message):
            entry = Entry(latest["tick"], message["tick"], orjson.dumps(difference(latest, message)))
        with self._changed:
            if entry is None:
                self._entries.clear()
            else:
                self._entries.append(entry)
            self._latest = message
            self._sequence += 1
            self._changed.notify_all()

    def forget(self) -> None:
        """Nothing that was published is of now: every client starts afresh, and finds no message before a new one."""
        with self._changed:
            self._entries.clear()
            self._latest = None
            self._sequence += 1
            self._changed.notify_all()

    def latest(self) -> tuple[int, Message | None]:
        """Sequence number and whole content of the newest message; None before the first."""
        with self._changed:
            return self._sequence, self._latest

    def after_tick(self, tick: int) -> list[Entry] | None:
        """Differences since the message of this tick, oldest first; None when the way from there is lost."""
        with self._changed:
            if self._latest is not None and tick == self._latest["tick"]:
                return []
            entries = list(self._entries)
            position = next((index for index, entry in enumerate(entries) if entry.base == tick), None)
            return None if position is None else entries[position:]

    def resume(self, tick: int | None) -> tuple[int, Message | None, list[Entry] | None]:
        """What a stream starts from, at one instant: sequence number, whole message, and differences since `tick`."""
        with self._changed:
            return self._sequence, self._latest, None if tick is None else self.after_tick(tick)

    def wait(self, sequence: int, timeout_s: float) -> list[Entry] | None:
        """Differences published after `sequence`, waiting for one at most `timeout_s`; None: start afresh."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._sequence > sequence, timeout_s)
            missed = self._sequence - sequence
            if missed > len(self._entries):
                return None
            return list(self._entries)[len(self._entries) - missed :] if missed > 0 else []

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Take one of the places for streams; StreamsFullError when none is left."""
        with self._changed:
            if self._streams >= self._stream_cap or self._closed:
                raise StreamsFullError
            self._streams += 1
        try:
            yield
        finally:
            with self._changed:
                self._streams -= 1
