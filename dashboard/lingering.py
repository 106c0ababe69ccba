"""Lingering: connections that were answered and are to end, until their client has closed them too.

To close at once would take away what the client has not read yet, where it has sent more than was read. gunicorn waits
for each in turn, in its main thread: a client that does not close keeps all others waiting for two seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from selectors import EVENT_READ, BaseSelector
from socket import SHUT_WR, socket
from typing import Any

LINGER_S = 2.0
MOST = 100
MOST_BYTES = 64 * 1024
"""What a client may still send before nobody listens."""


@dataclass
class _Ending:
    sock: socket
    end: float
    read: int = 0


class Lingering:
    """Of one poller; all in its thread."""

    def __init__(self, poller: BaseSelector) -> None:
        self._poller = poller
        self._endings: dict[socket, _Ending] = {}

    def __len__(self) -> int:
        return len(self._endings)

    def add(self, sock: socket) -> None:
        """Nothing more is sent; it is closed once its client has closed it, or in a while."""
        try:
            sock.setblocking(False)
            sock.shutdown(SHUT_WR)
        except OSError:
            sock.close()
            return
        one = self._endings[sock] = _Ending(sock, time.monotonic() + LINGER_S)
        self._poller.register(sock, EVENT_READ, partial(self._readable, one))
        while len(self._endings) > MOST:
            self._close(next(iter(self._endings.values())))

    def _readable(self, one: _Ending, _client: Any) -> None:
        if self._endings.get(one.sock) is not one:
            return  # closed since the poller saw it
        try:
            piece = one.sock.recv(MOST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        one.read += len(piece)
        if not piece or one.read > MOST_BYTES:
            self._close(one)

    def sweep(self, *, everything: bool = False) -> None:
        """Close those whose time is over."""
        now = time.monotonic()
        for one in list(self._endings.values()):
            if everything or one.end <= now:
                self._close(one)

    def _close(self, one: _Ending) -> None:
        self._poller.unregister(one.sock)
        del self._endings[one.sock]
        one.sock.close()
