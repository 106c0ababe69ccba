"""The transport below prometheus-api-client: it follows no redirect, and bounds how much and how long an answer is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

MOST_BYTES = 512 * 1024 * 1024
"""Of one answer; a quarter of an hour of 4,000 series at one sample a second is about a quarter of it."""
PIECE = 65_536


class SourceError(Exception):
    """The server cannot be read; the message is a sentence for people."""


class Bounded:
    """A response's body that ends with SourceError once it is too large or takes too long."""

    def __init__(self, raw: Any, most_bytes: int, until: float, clock: Callable[[], float]) -> None:
        self._raw, self._left, self._until, self._clock = raw, most_bytes, until, clock

    def stream(self, amount: int, decode_content: bool | None = None) -> Iterator[bytes]:
        """The body in pieces, unpacked."""
        for piece in self._raw.stream(min(amount, PIECE), decode_content=decode_content):
            self._left -= len(piece)
            if self._left < 0:
                raise SourceError("the answer is too large; ask for fewer targets at once")
            if self._clock() > self._until:
                raise SourceError("the answer takes too long")
            yield piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)


class Adapter(HTTPAdapter):
    """One try, no redirect, bounded answers. whole_s: how long one answer may take from end to end."""

    def __init__(
        self, whole_s: float, most_bytes: int = MOST_BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(max_retries=Retry(total=0, redirect=0))
        self._whole_s, self._most_bytes, self._clock = whole_s, most_bytes, clock

    def send(self, request: requests.PreparedRequest, *more: Any, **options: Any) -> requests.Response:
        """One request, one answer; SourceError for a redirect, which names where it wanted to send us."""
        until = self._clock() + self._whole_s
        response = super().send(request, *more, **options)
        if 300 <= response.status_code < 400:
            where = _bare(urljoin(request.url or "", response.headers.get("location", "")))
            response.close()
            raise SourceError(f"the server sends us on to {where}; name that address if you trust it")
        response.raw = Bounded(response.raw, self._most_bytes, until, self._clock)
        return response


def _bare(address: str) -> str:
    """An address without user, password and query, short enough to be shown."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]
