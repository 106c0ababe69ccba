"""Receivers on loopback: a webhook and a mail server that remember what they were told, and can be made to fail."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message as Mail
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Hook:
    """A webhook. status, answer: what it says. got: (path, headers, body) of what it took or refused."""

    port: int = 0
    status: int = 200
    answer: bytes = b"taken"
    location: str = ""
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    heard: threading.Event = field(default_factory=threading.Event)
    hold: threading.Event | None = None

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in self.got]

    def url(self, scheme: str = "json", path: str = "/in/s3cr3t-token", user: str = "") -> str:
        return f"{scheme}://{user}127.0.0.1:{self.port}{path}"


CERTIFICATE = Path(__file__).parent.parent / "data" / "notify" / "loopback.pem"
"""Of 127.0.0.1, signed by itself, with its key: of use to nobody else."""


@contextmanager
def hook(*, secure: bool = False) -> Iterator[Hook]:
    found = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length)
            if len(body) < length:
                return  # whoever sent it is dead
            found.got.append((self.path, dict(self.headers), body))
            found.heard.set()
            if found.hold is not None:
                found.hold.wait(60)
            self.send_response(found.status)
            if found.location:
                self.send_header("Location", found.location)
            self.send_header("Content-Length", str(len(found.answer)))
            self.end_headers()
            with contextlib.suppress(OSError):  # whoever sent it may be dead
                self.wfile.write(found.answer)

        do_GET = do_POST  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class PostOffice:
    """A mail server. refuses: what it says to a message in place of taking it."""

    port: int = 0
    refuses: str = ""
    got: list[Mail] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802, ARG002
        if self.refuses:
            return self.refuses
        self.got.append(message_from_bytes(envelope.content, policy=default))
        return "250 taken"


@contextmanager
def post_office() -> Iterator[PostOffice]:
    found = PostOffice()

    class Loopback(Controller):
        def _trigger_server(self) -> None:
            """The port is known once it listens."""
            found.port = self.server.sockets[0].getsockname()[1]
            self.port = found.port
            super()._trigger_server()

    controller = Loopback(found, hostname="127.0.0.1", port=0)
    controller.start()
    try:
        yield found
    finally:
        controller.stop()


@contextmanager
def dripper() -> Iterator[int]:
    """The port of a receiver that answers with a byte every 20 ms and never ends, until the test does."""
    stop, threads = threading.Event(), []
    listening = socket.create_server(("127.0.0.1", 0))

    def drip(one: socket.socket) -> None:
        with one, contextlib.suppress(OSError):
            one.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not stop.wait(0.02):
                one.sendall(b"x")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threads.append(threading.Thread(target=drip, args=(listening.accept()[0],)))
                threads[-1].start()

    first = threading.Thread(target=accept)
    first.start()
    try:
        yield listening.getsockname()[1]
    finally:
        stop.set()
        listening.shutdown(socket.SHUT_RDWR)
        first.join()
        listening.close()
        for thread in threads:
            thread.join()
