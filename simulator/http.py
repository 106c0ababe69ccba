"""The little of HTTP/1.1 that the endpoints need: requests with a small body, keep-alive, answers of known length."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

LARGEST_BODY = 16_384
LONGEST_HEAD = 16_384
TEXT, JSON = "text/plain; version=0.0.4; charset=utf-8", "application/json"


@dataclass(frozen=True)
class Request:
    """One request, its path without the query."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """One answer."""

    status: int
    body: bytes
    kind: str = TEXT

    @staticmethod
    def json(content: Any, status: int = 200) -> Answer:
        """An answer in JSON."""
        return Answer(status, json.dumps(content).encode(), JSON)


Handler = Callable[[Request], Awaitable[Answer | None]]
"""None: say nothing and close the connection."""
NOT_FOUND = Answer.json({"error": "not found"}, 404)


class RefusedError(Exception):
    """What came in is no request that is understood here."""


class Endpoint:
    """One listening socket that can be shut and opened again on the same port."""

    def __init__(self, handler: Handler, port: int, host: str = "127.0.0.1") -> None:
        self._handler = handler
        self.host, self.port = host, port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def listening(self) -> bool:
        """Whether connections are accepted."""
        return self._server is not None

    @property
    def url(self) -> str:
        """Address of the endpoint."""
        return f"http://{self.host}:{self.port}"

    async def listen(self) -> None:
        """Accept connections; the first time this chooses the port where 0 was asked for."""
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, self.host, self.port, limit=LONGEST_HEAD)
            self.port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Refuse connections and drop those that are open."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays open."""
        try:
            request = await read(reader)
            answer = await self._handler(request) if request else None
        except RefusedError as refused:
            request, answer = None, Answer.json({"error": str(refused)}, 400)
        if answer is None:
            return False
        stays = request is not None and request.headers.get("connection", "").lower() != "close"
        writer.write(_head(answer, stays) + answer.body)
        await writer.drain()
        return stays


def _head(answer: Answer, stays: bool) -> bytes:
    reason = HTTPStatus(answer.status).phrase
    return (
        f"HTTP/1.1 {answer.status} {reason}\r\nContent-Type: {answer.kind}\r\nContent-Length: {len(answer.body)}\r\n"
        f"Connection: {'keep-alive' if stays else 'close'}\r\n\r\n"
    ).encode()


async def read(reader: asyncio.StreamReader) -> Request | None:
    """The next request, None when the other side is done. RefusedError when it is not understood."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    except asyncio.LimitOverrunError as error:
        raise RefusedError("the head of the request is too long") from error
    first, *rest = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3:
        raise RefusedError("this is no HTTP request")
    pairs = (line.partition(":") for line in rest)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > LARGEST_BODY:
        raise RefusedError("the body of the request is too long")
    body = await reader.readexactly(int(length))
    parts = urlsplit(words[1])
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return Request(words[0], parts.path, query, headers, body)
