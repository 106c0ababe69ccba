"""Requests to webhooks and heartbeats: one request, no redirect, the status of the answer and no more of it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.notify import addresses, reasons

TIMEOUT_S = 10.0
"""For connecting, and for each piece of the answer."""
WHOLE_S = 20.0
"""For the whole answer once there is a connection."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a receiver said, as far as it is told: its status."""

    status: int

    @property
    def well(self) -> bool:
        """Whether it took the message."""
        return 200 <= self.status < 300

    @property
    def sentence(self) -> str:
        """
        >>> Answered(503).sentence
        'HTTP 503 Service Unavailable'
        """
        return reasons.of_status(self.status)


def request(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    private: bool,
    timeout_s: float = TIMEOUT_S,
    whole_s: float = WHOLE_S,
) -> Answered:
    """Ask an http(s) address. OSError where there is no answer. A redirect is an answer."""
    parts = urlsplit(url)
    asked = _connection(parts, private, timeout_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with _hung_up_after(asked.sock, whole_s):
            asked.request(method, path, body, {**_authorization(parts), **headers, "Connection": "close"})
            return Answered(asked.getresponse().status)
    except http.client.HTTPException as error:
        raise reasons.NoAnswerError(f"no HTTP answer ({type(error).__name__})") from None
    finally:
        asked.close()


@contextlib.contextmanager
def _hung_up_after(sock: socket.socket, whole_s: float) -> Iterator[None]:
    """Ends the connection when the time is over, whatever comes in meanwhile: NoAnswerError."""
    over = threading.Event()

    def hang_up() -> None:
        over.set()
        with contextlib.suppress(OSError):  # it has ended meanwhile
            sock.shutdown(socket.SHUT_RDWR)

    clock = threading.Timer(whole_s, hang_up)
    clock.daemon = True
    clock.start()
    late = reasons.NoAnswerError(f"no whole answer within {whole_s:g} s")
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not over.is_set():
            raise
    finally:
        clock.cancel()
    if over.is_set():  # half an answer can look like a whole one
        raise late


def _connection(parts: SplitResult, private: bool, timeout_s: float) -> http.client.HTTPConnection:
    secure, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port or (443 if secure else 80)
    made = addresses.connection(host, port, timeout_s, private=private)
    try:
        if secure:
            made = ssl.create_default_context().wrap_socket(made, server_hostname=host)
    except OSError:
        made.close()
        raise
    asked = http.client.HTTPConnection(host, port, timeout=timeout_s)
    asked.sock = made
    return asked


def _authorization(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    given = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(given.encode()).decode()}"}
