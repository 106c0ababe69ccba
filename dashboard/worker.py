"""The gunicorn worker: gives a request a thread once it is whole, and ends live streams before it stops."""

from __future__ import annotations

import errno
import logging
import struct
import time
from dataclasses import dataclass
from functools import partial
from selectors import EVENT_READ
from socket import SO_SNDTIMEO, SOL_SOCKET
from typing import Any

from gunicorn import util
from gunicorn.workers.gthread import ThreadWorker

from dashboard.arenas import keep_few
from dashboard.lingering import Lingering
from dashboard.reception import Reception, State
from dashboard.security import BODY_CAP_BYTES

RECEIVE_S = 10.0
"""A request must have been received whole within this time, and a new connection must have begun one."""
MOST_WAITING = 400
"""Connections whose request is not whole, at most; the one that waits longest goes first."""
MOST_WAITING_BYTES = 32 << 20
"""What those have sent, at most; the one with most of it goes first."""
MOST_KEPT = 400
"""Connections that are kept for a further request; with those that wait and the threads fewer than gunicorn takes."""
PIECE_BYTES = 64 * 1024
SEND_S = 20.0
"""A client that takes nothing of its answer for so long is left: its answer holds a thread."""

log = logging.getLogger(__name__)


@dataclass
class _Waiting:
    """A connection, what came of its request, and when it must be whole; monotonic seconds."""

    conn: Any
    reception: Reception
    end: float


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's threaded worker, which by itself gives a thread to whoever connects.

    Requests are received here in the main thread, so that a client that sends half of one, or a byte now and then,
    costs a socket and no thread.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.max_keepalived = MOST_KEPT
        self._waiting: dict[Any, _Waiting] = {}
        """By connection, the one that waits longest first."""
        self._held = 0
        """Bytes that they have sent."""
        self._lingering: Lingering | None = None
        self._long: set[Any] = set()
        """Connections whose request is answered although not all of it was received."""

    def init_process(self) -> None:
        """Begin, in the process that was forked for it."""
        keep_few()
        super().init_process()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """SIGTERM: a stream would hold its thread for as long as its client likes."""
        process = getattr(self.app, "process", None)
        if process is not None:
            process.hub.close()
        super().handle_exit(sig, frame)

    def enqueue_req(self, conn: Any) -> None:
        """Receive a request of a new or a kept connection; what was read ahead of it is its beginning."""
        conn.close = partial(self._close, conn)
        conn.sock.setblocking(False)
        one = _Waiting(conn, Reception(BODY_CAP_BYTES), time.monotonic() + RECEIVE_S)
        self._waiting[conn] = one
        self.poller.register(conn.sock, EVENT_READ, partial(self._readable, one))
        ahead = conn.parser.unreader if conn.parser is not None else None
        if ahead is not None and ahead.buf.getvalue():
            self._took(one, ahead.read())
        self._readable(one, conn.sock)
        while len(self._waiting) > MOST_WAITING:
            self._drop(next(iter(self._waiting.values())))

    def _readable(self, one: _Waiting, client: Any) -> None:
        if self._waiting.get(one.conn) is not one:
            return  # handed over or dropped since the poller saw it
        try:
            piece = client.recv(PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if piece:
            self._took(one, piece)
        else:
            self._drop(one)

    def _took(self, one: _Waiting, piece: bytes) -> None:
        before = len(one.reception.data)
        state = one.reception.take(piece)
        self._held += len(one.reception.data) - before
        if state is State.REFUSED:
            self._drop(one)
        elif state is not State.PART:
            self._hand_over(one, state)
        while self._held > MOST_WAITING_BYTES:
            self._drop(max(self._waiting.values(), key=lambda held: len(held.reception.data)))

    def _hand_over(self, one: _Waiting, state: State) -> None:
        """To a thread, which finds all of it read."""
        self._forget(one)
        one.conn.init()
        one.conn.parser.unreader.unread(bytes(one.reception.data))
        if state is State.LONG:
            self._long.add(one.conn)
        super().enqueue_req(one.conn)

    def handle(self, conn: Any) -> Any:
        """Answer a request that was received. Runs in a thread of the pool.

        The kernel bounds each wait for room to send: a client that reads 10 kB/s or more is never cut off. Exports have
        a limit of their own, see `dashboard.api.download`.
        """
        try:
            conn.sock.setsockopt(SOL_SOCKET, SO_SNDTIMEO, struct.pack("ll", *divmod(round(SEND_S * 1e6), 1_000_000)))
            return super().handle(conn)
        finally:
            self._long.discard(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request. After one that is too long the connection ends: nobody waits for the rest."""
        if conn in self._long:
            req.headers.insert(0, ("CONNECTION", "close"))
        try:
            return super().handle_request(req, conn)
        except BlockingIOError as error:
            log.warning("a client took nothing of its answer for %g s; its connection is closed", SEND_S)
            raise ConnectionResetError(errno.ECONNRESET, "it does not read") from error

    def _forget(self, one: _Waiting) -> None:
        self.poller.unregister(one.conn.sock)
        del self._waiting[one.conn]
        self._held -= len(one.reception.data)

    def _drop(self, one: _Waiting) -> None:
        self._forget(one)
        self.nr_conns -= 1
        one.conn.close()

    def _close(self, conn: Any, graceful: bool = False) -> None:
        """In the place of gunicorn's own, which would wait here until the client has closed the connection, too."""
        if not graceful:
            util.close(conn.sock)
            return
        if self._lingering is None:
            self._lingering = Lingering(self.poller)
        self._lingering.add(conn.sock)

    def murder_pending(self) -> None:
        """Close connections on which no whole request came in time, and all of them when we stop.

        gunicorn's main thread calls this at least once a second.
        """
        super().murder_pending()
        if self._lingering is not None:
            self._lingering.sweep(everything=not self.alive)
        now = time.monotonic()
        late = [one for one in self._waiting.values() if one.end <= now or not self.alive]
        if number := sum(bool(one.reception.data) for one in late):
            log.warning("connections dropped: %d; their requests were not received within %g s", number, RECEIVE_S)
        for one in late:
            self._drop(one)
