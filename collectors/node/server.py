"""The agent's own small HTTP server, on socketserver: http.server would cost 5 MiB of the node's memory.

A request head is at most 8 KiB and must come within 10 s; a connection may idle for two minutes; there are at most 32
of them, and a newcomer beyond that takes the place of the one that has been idle longest.
"""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
import time
from typing import Any

from collectors.node.answers import Answers
from collectors.node.request import LARGEST_HEAD, Answer, BadRequestError, encode, parse_head

HEAD_S = 10.0
IDLE_S = 120.0
MOST_CONNECTIONS = 32
END = b"\r\n\r\n"


class Connection(socketserver.BaseRequestHandler):
    """One client's connection, for as many requests as it sends."""

    server: AgentServer
    request: socket.socket

    def handle(self) -> None:
        """Answer requests until the client, a limit or the server ends it."""
        self.rest = b""
        try:
            while self._one():
                pass
        except OSError:
            pass  # the client is gone, too slow, or had to make room: there is nobody to tell

    def _one(self) -> bool:
        """Answer one request; False when the connection is to be closed."""
        try:
            head = self._head()
            if head is None:
                return False
            self.server.touch(self.request)
            request = parse_head(head)
        except BadRequestError as error:
            self.request.sendall(encode(Answer(error.status, f"{error.sentence}\n".encode()), keep_alive=False))
            return False
        answer = self.server.answers.answer(request, str(self.client_address[0]))
        self.request.sendall(encode(answer, request.keep_alive, request.method == "HEAD"))
        return request.keep_alive

    def _head(self) -> bytes | None:
        """The next request's head without its empty line; None at the end of the connection."""
        deadline = None
        self.request.settimeout(IDLE_S)
        while END not in self.rest[:LARGEST_HEAD]:
            if len(self.rest) >= LARGEST_HEAD:
                raise BadRequestError(431, "The request head is longer than 8 KiB.")
            if self.rest:
                deadline = deadline or time.monotonic() + HEAD_S
                self.request.settimeout(max(0.01, deadline - time.monotonic()))
            chunk = self.request.recv(4096)
            if not chunk:
                return None
            self.rest += chunk
        self.request.settimeout(HEAD_S)
        head, _, self.rest = self.rest.partition(END)
        return head


class AgentServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens at (host, port); port 0 takes a free one, named by `server_address`."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, host: str, port: int, answers: Answers) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answers = answers
        self._active: dict[Any, float] = {}
        self._lock = threading.Lock()
        super().__init__((host, port), Connection)

    def touch(self, connection: Any) -> None:
        """The connection has just been used."""
        with self._lock:
            if connection in self._active:
                self._active[connection] = time.monotonic()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Make room if need be, then serve the newcomer in a thread of its own."""
        with self._lock:
            if len(self._active) >= MOST_CONNECTIONS:
                oldest = min(self._active, key=self._active.__getitem__)
                del self._active[oldest]
                _end(oldest)
            self._active[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The connection is over."""
        with self._lock:
            self._active.pop(request, None)
        super().shutdown_request(request)

    def close_all(self) -> None:
        """Stop listening and end every connection."""
        self.server_close()
        with self._lock:
            for connection in self._active:
                _end(connection)

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        """A connection failed in a way nobody foresaw: one line, and the agent goes on."""
        sys.stderr.write(f"connection failed: {sys.exc_info()[1]!r}\n")


def _end(connection: Any) -> None:
    """Wake the thread that reads from this connection; it closes it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the client was faster
