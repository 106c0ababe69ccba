"""Kept: the connection to a server whose answers are plain, without what a general client does for each of them.

aiohttp asks first, and again whenever something is unusual: every redirect, refusal, encoding and way to fail is its
and `http`'s business. What is read here is HTTP/1.1, 200, of a stated length, on a connection that stays open; nothing
else is taken, and every answer that is not like that is asked for anew, there.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp

from collectors.scrape.answers import AnswerError, content_type
from collectors.scrape.outcome import Outcome

PLAIN_BEFORE = 3
"""So many plain answers in a row come before a server's next one is expected to be one."""
MAX_HEAD = 16_384
HEAD_END = b"\r\n\r\n"
BROKEN_OFF = "the answer was broken off or is no HTTP"
_STATUS = b"HTTP/1.1 200"
_TELLING = (b"content-length", b"content-type", b"connection", b"transfer-encoding", b"content-encoding")
"""Headers that say how an answer is to be read."""
_ATTEMPT_S = 0.25
"""Of a name with several addresses the next is tried after this."""
_LENGTH_DIGITS = 15
_ADDRESS = re.compile(r"/[A-Za-z0-9/._~-]*(\?[A-Za-z0-9/._~=&-]*)?")
"""Path and query that are sent as they are: nothing in them is to be quoted."""

Plain = tuple[str, bytes]
"""Content type and body."""


def is_plain(answer: aiohttp.ClientResponse, url: str) -> bool:
    """Whether this answer to a GET of an address, a 200 that was read to its end, was a plain one."""
    if answer.request_info.url.scheme != "http" or answer.version != aiohttp.HttpVersion11 or address(url) is None:
        return False
    return plain_head(b"\r\n".join([_STATUS, *(b": ".join(line) for line in answer.raw_headers)])) is not None


def address(url: str) -> str | None:
    """What is asked of the server, where that can be sent as it is; None where something in it is to be quoted.

    >>> address("http://spark-01:9810/state?after=3"), address("http://spark-01/a%20b"), address("http://spark-01/a/../b")
    ('/state?after=3', None, None)
    """
    parts = urlsplit(url)
    found = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return found if _ADDRESS.fullmatch(found) and "/." not in found else None


class UnusualError(Exception):
    """An answer that is not plain, or none before the connection was lost."""


def plain_head(head: bytes) -> tuple[int, str] | None:
    """Length and content type of a plain answer from its head, without the empty line; None when it is not plain.

    >>> plain_head(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nContent-Length: 20")
    (20, 'text/plain')
    """
    first, *lines = head.split(b"\r\n")
    if first != _STATUS and not first.startswith(_STATUS + b" "):
        return None
    told: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or not name or name.strip() != name or b"\n" in line or b"\r" in line or name in told:
            return None
        if name in _TELLING:
            told[name] = value.strip()
    length = told.get(b"content-length", b"")
    stays = told.get(b"connection", b"keep-alive").lower() == b"keep-alive"
    counted = length.isdigit() and len(length) <= _LENGTH_DIGITS
    if not counted or not stays or b"transfer-encoding" in told or b"content-encoding" in told:
        return None
    return int(length), content_type(told.get(b"content-type", b"").decode("latin-1"))


class _Line(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Plain] | None = None
        self._pieces: list[bytes] = []
        self._size = self._wanted = 0
        self._kind: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @property
    def open(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes) -> Plain:
        """UnusualError, AnswerError."""
        assert self._transport is not None, "the connection is open"
        self._answer = asyncio.get_running_loop().create_future()
        self._pieces, self._size, self._wanted, self._kind = [], 0, 0, None
        self._transport.write(request)
        return await self._answer

    def drop(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.drop()  # nothing was asked
            return
        self._pieces.append(data)
        self._size += len(data)
        if self._kind is None and not self._head():
            return
        if self._size > self._wanted:
            self._answer.set_exception(UnusualError())
        elif self._size == self._wanted:
            self._answer.set_result((self._kind or "", b"".join(self._pieces)))
            self._pieces = []

    def _head(self) -> bool:
        """Whether the head is there and plain; what follows it is the body."""
        assert self._answer is not None, "something was asked"
        begun = b"".join(self._pieces)
        end = begun.find(HEAD_END)
        told = plain_head(begun[:end]) if 0 <= end <= MAX_HEAD else None
        body = begun[end + len(HEAD_END) :]
        if told is not None and told[0] <= self._max_bytes:
            self._wanted, self._kind = told
            self._pieces, self._size = [body], len(body)
            return True
        if end >= 0 or len(begun) > MAX_HEAD:
            self._answer.set_exception(UnusualError())
        return False

    def connection_lost(self, _error: Exception | None) -> None:
        if self._answer is None or self._answer.done():
            return
        if self._size or self._kind is not None:
            self._answer.set_exception(AnswerError(Outcome.BAD_ANSWER, BROKEN_OFF))
        else:
            self._answer.set_exception(UnusualError())


class Kept:
    """Of one server. headers: those that it was sent. max_bytes: of a body."""

    def __init__(self, host: str, port: int, headers: Mapping[str, str], max_bytes: int) -> None:
        self._host, self._port = host, port
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._max_bytes = max_bytes
        self._line: _Line | None = None

    async def get(self, url: str) -> Plain | None:
        """The answer to a GET of one of its addresses; None when it is for aiohttp to ask.

        AnswerError when it was broken off. Whatever ends the waiting but a plain answer closes the connection, and the
        next request opens another.
        """
        asked = address(url)
        line, self._line = self._line, None
        told = None
        try:
            if asked is not None:
                line = line if line is not None and line.open else await self._connect()
                told = await line.ask(f"GET {asked} HTTP/1.1\r\n{self._headers}\r\n".encode())
                self._line = line
        except (UnusualError, OSError):
            return None
        finally:
            if told is None and line is not None:
                line.drop()
        return told

    async def _connect(self) -> _Line:
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(
            lambda: _Line(self._max_bytes), self._host, self._port, happy_eyeballs_delay=_ATTEMPT_S
        )
        return line

    def close(self) -> None:
        """Close the connection."""
        if self._line is not None:
            self._line.drop()
