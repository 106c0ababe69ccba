"""The gunicorn worker: ends live streams before it stops, and waits only so long for a request to be sent."""

from __future__ import annotations

import logging
import socket
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from dashboard.arenas import keep_few
from dashboard.security import SAFE_METHODS

RECEIVE_S = 10.0
"""A request must have been received whole within this time: each one that has not holds one of the threads."""

log = logging.getLogger(__name__)


class Worker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's threaded worker, which by itself would read a request for as long as its client takes to send it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._receiving: dict[Any, float] = {}
        """When each connection whose request is not known to be whole stops being read; monotonic seconds."""

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

    def handle(self, conn: Any) -> Any:
        """Read a request and answer it. Runs in a thread of the pool."""
        self._receiving[conn] = time.monotonic() + RECEIVE_S
        try:
            return super().handle(conn)
        finally:
            self._receiving.pop(conn, None)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request whose head has been read; without a body it is whole, and may be answered by a stream."""
        if req.method in SAFE_METHODS:
            self._receiving.pop(conn, None)
        return super().handle_request(req, conn)

    def murder_pending(self) -> None:
        """Close connections on which nothing came, and stop reading those whose time is over.

        gunicorn's main thread calls this at least once a second. Only reading ends: what waits for more bytes gets
        none, so that the thread comes free; a request that is just being answered keeps its answer.
        """
        super().murder_pending()
        now = time.monotonic()
        for conn, end in list(self._receiving.items()):
            if end <= now and self._receiving.pop(conn, None) is not None:
                _stop_reading(conn.sock)


def _stop_reading(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RD)
    except OSError:
        return  # its client has gone meanwhile
    log.warning("a connection was dropped: its request was not received within %g s", RECEIVE_S)
