"""HTTP of one target: one kept connection, bounded time and size, every way to fail as a value.

Nothing here raises for what a network or a server may do: a fetch returns a Reply whose outcome says how it went.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from collectors.scrape.answers import AnswerError, check_complete, check_status, classify, content_type, same_server
from collectors.scrape.engines import STATISTICS, other_page
from collectors.scrape.outcome import Outcome

MAX_BYTES = 8_000_000
"""A page of 16 engines is 0.7 MB; beyond this something is wrong with it."""
TIMEOUT_S = 5.0
BESIDE_TIMEOUT_S = 2.0
"""Other pages share the connection with the metrics page, so they may not hold it for long."""
METRICS_PATH = "/metrics"
_CHUNK = 65_536
MAX_REDIRECTS = 2


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer to one request. body is empty unless the outcome is OK.

    sent_s, arrived_s: monotonic instants of sending the request and of the last byte (or of the failure).
    reason: a sentence for the Status page, empty when all is well. status: HTTP status, None without an answer.
    content_type: what the server calls the page, empty where it does not say.
    """

    outcome: Outcome
    body: bytes
    sent_s: float
    arrived_s: float
    reason: str = ""
    status: int | None = None
    content_type: str = ""

    @property
    def seconds(self) -> float:
        """From sending the request to the end of the answer."""
        return self.arrived_s - self.sent_s


def metrics_url(url: str) -> str:
    """Address of a target's page: as it is when it names a path, else with /metrics. An invalid one stays as it is."""
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
    except ValueError:
        return url
    path = METRICS_PATH if parts.path in ("", "/") else parts.path
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def beside(url: str, path: str) -> str:
    """Address of another page of the same server."""
    try:
        parts = urlsplit(metrics_url(url))
    except ValueError:
        return url
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


class TargetClient:
    """The connection to one target; use as `async with`.

    clock: monotonic seconds. token: sent as bearer, to this server only: no redirect to another one is followed.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], float],
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.url = self._home = metrics_url(url)
        self._clock = clock
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "tachograph"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._session: aiohttp.ClientSession | None = None
        self._moved: dict[str, str] = {}

    async def __aenter__(self) -> TargetClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connection up; a later fetch opens a new one."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def page(self) -> Reply:
        """The target's metrics page; where the engine keeps it elsewhere, that page from then on."""
        reply = await self.fetch(self.url)
        if reply.outcome is Outcome.NOT_FOUND:
            self.url = self._home
        path = other_page(reply.body)
        if path is None:
            return reply
        other = await self.beside(path)
        if other.outcome is not Outcome.OK or other_page(other.body):
            return replace(reply, outcome=Outcome.NOT_FOUND, body=b"", reason=STATISTICS["elsewhere"])
        self.url = beside(self.url, path)
        return other

    async def beside(self, path: str) -> Reply:
        """Another page of the same server, over the same connection."""
        return await self.fetch(beside(self.url, path), min(BESIDE_TIMEOUT_S, self._timeout_s))

    async def fetch(self, url: str, timeout_s: float | None = None) -> Reply:
        """One GET. A kept connection that the server closed meanwhile is opened again, once and unseen (by aiohttp)."""
        sent, limit_s = self._clock(), timeout_s or self._timeout_s
        try:
            async with asyncio.timeout(limit_s):
                status, kind, body = await self._follow(url)
        except AnswerError as refusal:
            self._moved.pop(url, None)
            return Reply(refusal.outcome, b"", sent, self._clock(), refusal.reason, refusal.status)
        except TimeoutError:
            reason = f"no complete answer within {limit_s:g} s"
            return Reply(Outcome.TIMED_OUT, b"", sent, self._clock(), reason)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            outcome, reason = classify(error)
            return Reply(outcome, b"", sent, self._clock(), reason)
        return Reply(Outcome.OK, body, sent, self._clock(), status=status, content_type=kind)

    async def _follow(self, url: str) -> tuple[int, str, bytes]:
        """The answer, a redirect within the same server followed and remembered (a mount's missing slash)."""
        for _ in range(MAX_REDIRECTS + 1):
            status, kind, location, body = await self._get(self._moved.get(url, url))
            if location is None:
                return status, kind, body
            self._moved = {**self._moved, url: same_server(self._moved.get(url, url), location, status)}
        raise AnswerError(Outcome.BAD_ANSWER, "redirected in a circle", status)

    async def _get(self, url: str) -> tuple[int, str, str | None, bytes]:
        """Status, content type, where it redirects to (None when it does not), body."""
        async with self._open().get(url, headers=self._headers, allow_redirects=False) as answer:
            if 300 <= answer.status < 400:
                return answer.status, "", answer.headers.get("Location", ""), b""
            check_status(answer.status)
            body = await self._body(answer)
            check_complete(answer, body)
            return answer.status, content_type(answer.headers.get("Content-Type", "")), None, body

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        pieces, size = [], 0
        async for piece in answer.content.iter_chunked(_CHUNK):
            pieces.append(piece)
            size += len(piece)
            if size > self._max_bytes:
                raise AnswerError(Outcome.BAD_ANSWER, f"the page is larger than {self._max_bytes} bytes", answer.status)
        return b"".join(pieces)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=1, keepalive_timeout=120.0)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("Accept",),
            )
        return self._session
