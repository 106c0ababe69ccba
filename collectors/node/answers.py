"""What the agent answers to a request: /metrics, /state, /healthz."""

from __future__ import annotations

from _operator import _compare_digest  # hmac would bring OpenSSL into memory

from collectors.node import page, state
from collectors.node.request import Answer, Request
from collectors.node.rounds import Rounds
from collectors.node.scrapers import Scrapers

CHALLENGE = ("WWW-Authenticate: Bearer",)


class Answers:
    """The agent's pages; with a token, everything but /healthz needs it."""

    def __init__(self, rounds: Rounds, scrapers: Scrapers, token: str | None = None) -> None:
        self._rounds, self._scrapers = rounds, scrapers
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._pages = {"/metrics": self._metrics, "/state": self._state}

    def answer(self, request: Request, address: str) -> Answer:
        """The answer to one request of a scraper at this address."""
        if request.method not in ("GET", "HEAD"):
            return Answer(405, b"Only GET is answered.\n", headers=("Allow: GET, HEAD",))
        if request.path == "/healthz":
            return Answer(200, b"ok\n")
        if not self._allowed(request):
            return Answer(401, b"A token is needed: Authorization: Bearer TOKEN\n", headers=CHALLENGE)
        if request.path not in self._pages:
            return Answer(404, b"The agent has /metrics, /state and /healthz.\n")
        return self._pages[request.path](request, address)

    def _allowed(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").encode("latin-1")
        return self._expected is None or _compare_digest(given, self._expected)

    def _metrics(self, request: Request, address: str) -> Answer:
        snapshot = self._rounds.snapshot()
        scraper = (address, request.headers.get("user-agent", ""))
        self._scrapers.saw(scraper, snapshot.monotonic_s, self._rounds.goodbye)
        return Answer(200, snapshot.page, page.CONTENT_TYPE)

    def _state(self, request: Request, _address: str) -> Answer:
        after = request.query.get("after", "0")
        if not after.isascii() or not after.isdigit():
            return Answer(400, b"after must be the number of an event.\n")
        content = state.state(self._rounds, self._rounds.snapshot(), int(after[:18]))
        return Answer(200, state.encode(content), state.CONTENT_TYPE)
