"""Requests to webhooks and heartbeats: one request, no redirect, a few bytes of the answer."""

from __future__ import annotations

import base64
import http.client
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.notify import addresses

TIMEOUT_S = 10.0
READ_BYTES = 2_000
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answered:
    """What a receiver said: its status, and the beginning of its own words."""

    status: int
    text: str

    @property
    def well(self) -> bool:
        """Whether it took the message."""
        return 200 <= self.status < 300

    @property
    def sentence(self) -> str:
        """
        >>> Answered(503, "come back later").sentence
        'HTTP 503: come back later'
        """
        return f"HTTP {self.status}" + (f": {self.text}" if self.text else "")


def request(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    *,
    private: bool,
    timeout_s: float = TIMEOUT_S,
) -> Answered:
    """Ask an http(s) address. OSError, with a sentence, where there is no answer. A redirect is an answer."""
    parts = urlsplit(url)
    asked = _connection(parts, private, timeout_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        asked.request(method, path, body, {**_authorization(parts), **headers, "Connection": "close"})
        answer = asked.getresponse()
        return Answered(answer.status, plain(answer.read(READ_BYTES).decode("utf-8", "replace"), SHOWN))
    except http.client.HTTPException as error:
        raise OSError(f"no HTTP answer ({type(error).__name__})") from error
    finally:
        asked.close()


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


def plain(text: str, most: int) -> str:
    """One line without control characters, at most so long.

    >>> plain("no\\r\\n  such\\x00 hook", 9)
    'no such …'
    """
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).split())
    return line if len(line) <= most else line[: most - 1] + "…"
