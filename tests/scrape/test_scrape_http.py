"""One target over real sockets: what is asked, what is taken, and what every failure is called."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Awaitable, Callable

import pytest

from collectors.scrape.http import Reply, TargetClient, beside, metrics_url
from collectors.scrape.outcome import Outcome

PAGE = b'vllm:num_requests_running{engine="0",model_name="m"} 3\n'
Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[bool]]
"""Gets the head of a request and the way back; whether the connection stays open."""


def ok(body: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def says(*answers: bytes, stay: bool = True) -> Answer:
    """Each request gets the next answer, the last one again and again."""
    rest = itertools.chain(answers[:-1], itertools.repeat(answers[-1]))

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(next(rest))
        await writer.drain()
        return stay

    return answer


class Server:
    """A scripted HTTP server on a free port of the loopback."""

    def __init__(self, answer: Answer, host: str = "127.0.0.1") -> None:
        self.answer, self.host = answer, host
        self.heads: list[bytes] = []
        self.connections = 0
        self.running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self.server = await asyncio.start_server(self._serve, self.host, 0)
        self.port = self.server.sockets[0].getsockname()[1]
        literal = f"[{self.host}]" if ":" in self.host else self.host
        self.url = f"http://{literal}:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()
        for task in list(self.running):
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        await self.server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.running.add(task)
        self.connections += 1
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                if not await self.answer(self.heads[-1], writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.running.discard(task)
            writer.close()


def ticking() -> Callable[[], float]:
    counter = itertools.count(100.0, 0.5)
    return lambda: next(counter)


def fetch(answer: Answer, *, times: int = 1, host: str = "127.0.0.1", **options: object) -> tuple[list[Reply], Server]:
    async def run() -> tuple[list[Reply], Server]:
        async with Server(answer, host) as server:
            async with TargetClient(server.url, clock=ticking(), **options) as client:  # type: ignore[arg-type]
                replies = [await client.page() for _ in range(times)]
            return replies, server

    return asyncio.run(run())


def one(answer: Answer, **options: object) -> Reply:
    replies, _ = fetch(answer, **options)  # type: ignore[arg-type]
    return replies[0]


def test_what_is_asked() -> None:
    (reply, _), server = fetch(says(ok(PAGE)), times=2, token="secret")
    assert reply == Reply(Outcome.OK, PAGE, 100.0, 100.5, "", 200)
    assert reply.seconds == 0.5
    head = server.heads[0].decode().lower()
    assert head.startswith("get /metrics http/1.1")
    assert "accept-encoding: identity\r\n" in head
    assert "authorization: bearer secret\r\n" in head
    assert "accept:" not in head.replace("accept-encoding:", ""), "an Accept header may invite OpenMetrics"
    assert server.connections == 1, "one connection is kept"


def test_no_token_no_header() -> None:
    _, server = fetch(says(ok(PAGE)))
    assert b"authorization" not in server.heads[0].lower()


def test_chunked_answer() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\n3\r\nb 2\r\n0\r\n\r\n"
    assert one(says(chunked)).body == b"a 1\nb 2"


def test_connection_closed_while_idle_is_opened_again_unseen() -> None:
    replies, server = fetch(says(ok(PAGE), stay=False), times=3)
    assert [reply.outcome for reply in replies] == [Outcome.OK] * 3
    assert server.connections == 3


def test_server_that_closes_without_an_answer() -> None:
    async def close(head: bytes, writer: asyncio.StreamWriter) -> bool:
        return False

    reply = one(close)
    assert reply.outcome is Outcome.CLOSED
    assert reply.body == b""
    assert reply.reason


def test_connection_reset_in_the_answer() -> None:
    async def reset(head: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.transport.abort()
        return False

    assert one(reset).outcome is Outcome.CLOSED


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def run() -> Reply:
        async with TargetClient(f"127.0.0.1:{port}", clock=ticking()) as client:
            return await client.page()

    reply = asyncio.run(run())
    assert (reply.outcome, reply.reason) == (Outcome.REFUSED, "nothing listens there")


def test_silent_server_times_out() -> None:
    async def silent(head: bytes, writer: asyncio.StreamWriter) -> bool:
        await asyncio.Event().wait()
        return False

    reply = one(silent, timeout_s=0.05)
    assert (reply.outcome, reply.reason) == (Outcome.TIMED_OUT, "no complete answer within 0.05 s")


def test_after_a_time_out_the_next_page_is_read() -> None:
    calls = itertools.count()

    async def slow_once(head: bytes, writer: asyncio.StreamWriter) -> bool:
        if next(calls) == 0:
            writer.write(ok(PAGE)[:-5])
            await writer.drain()
            await asyncio.Event().wait()
        writer.write(ok(PAGE))
        return True

    replies, _ = fetch(slow_once, times=2, timeout_s=0.1)
    assert [reply.outcome for reply in replies] == [Outcome.TIMED_OUT, Outcome.OK]
    assert replies[1].body == PAGE


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, Outcome.UNAUTHORISED),
        (403, Outcome.UNAUTHORISED),
        (404, Outcome.NOT_FOUND),
        (405, Outcome.NOT_FOUND),
        (501, Outcome.NOT_FOUND),
        (500, Outcome.BAD_ANSWER),
        (503, Outcome.BAD_ANSWER),
        (204, Outcome.BAD_ANSWER),
    ],
)
def test_status(status: int, outcome: Outcome) -> None:
    answer = (
        f"HTTP/1.1 {status} X\r\nContent-Length: {0 if status == 204 else 3}\r\n\r\n{'' if status == 204 else 'a 1'}"
    )
    reply = one(says(answer.encode()))
    assert (reply.outcome, reply.status, reply.body) == (outcome, status, b"")
    assert str(status) in reply.reason


def moved(to: str) -> bytes:
    return f"HTTP/1.1 307 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


def test_redirect_within_the_server_is_followed_once_and_remembered() -> None:
    async def mount(head: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(ok(PAGE) if b"GET /metrics/ " in head else moved("/metrics/"))
        return True

    replies, server = fetch(mount, times=2)
    assert [reply.body for reply in replies] == [PAGE, PAGE]
    assert [head.split()[1] for head in server.heads] == [b"/metrics", b"/metrics/", b"/metrics/"]


@pytest.mark.parametrize(
    "to", ["http://127.0.0.1:1/metrics", "https://127.0.0.1/metrics", "//example.invalid/", "http://[::1/", ""]
)
def test_redirect_to_another_server_is_refused(to: str) -> None:
    reply = one(says(moved(to)), token="secret")
    assert reply.outcome in (Outcome.BAD_ANSWER, Outcome.UNREACHABLE)
    assert reply.body == b""


@pytest.mark.parametrize(("status", "followed"), [(299, False), (300, True), (399, True), (400, False)])
def test_what_a_redirect_is(status: int, followed: bool) -> None:
    first = f"HTTP/1.1 {status} X\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n".encode()
    replies, server = fetch(says(first, ok(PAGE)))
    assert replies[0].outcome is (Outcome.OK if followed else Outcome.BAD_ANSWER)
    assert len(server.heads) == 1 + followed


def test_redirects_in_a_circle_end() -> None:
    replies, server = fetch(says(moved("/a"), moved("/b"), moved("/a"), ok(PAGE)), times=2)
    assert (replies[0].outcome, replies[0].reason) == (Outcome.BAD_ANSWER, "redirected in a circle")
    assert (replies[1].outcome, replies[1].body) == (Outcome.OK, PAGE)
    assert [head.split()[1] for head in server.heads] == [b"/metrics", b"/a", b"/b", b"/metrics"]


def tensorrt_llm(prometheus: bytes) -> Answer:
    async def answer(head: bytes, writer: asyncio.StreamWriter) -> bool:
        writer.write(prometheus if b"GET /prometheus/metrics " in head else ok(b'[{"iterLatencyMS": 3.0}]'))
        return True

    return answer


def test_json_list_of_tensorrt_llm_is_read_once_and_left() -> None:
    replies, server = fetch(tensorrt_llm(ok(b"trtllm_num_requests_running 2\n")), times=3)
    assert {reply.body for reply in replies} == {b"trtllm_num_requests_running 2\n"}
    assert [head.split()[1] for head in server.heads] == [b"/metrics", *[b"/prometheus/metrics"] * 3]


@pytest.mark.parametrize("prometheus", [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", ok(b"[]")])
def test_json_list_without_the_other_page_is_not_found(prometheus: bytes) -> None:
    reply = one(tensorrt_llm(prometheus))
    assert (reply.outcome, reply.body) == (Outcome.NOT_FOUND, b"")
    assert "JSON" in reply.reason


def test_address_as_configured_is_asked_again_when_the_other_page_has_gone() -> None:
    gone = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"
    answers = says(ok(b"[]"), ok(b"trtllm_num_requests_running 2\n"), gone, ok(PAGE))
    replies, server = fetch(answers, times=3)
    assert [reply.outcome for reply in replies] == [Outcome.OK, Outcome.NOT_FOUND, Outcome.OK]
    assert replies[2].body == PAGE
    assert server.heads[-1].split()[1] == b"/metrics"


def test_page_at_the_size_cap_is_taken_and_one_byte_more_is_not() -> None:
    assert one(says(ok(b"x" * 100)), max_bytes=100).outcome is Outcome.OK
    reply = one(says(ok(b"x" * 101)), max_bytes=100)
    assert (reply.outcome, reply.reason) == (Outcome.BAD_ANSWER, "the page is larger than 100 bytes")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 12",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\na 12",
        b"HTTP/1.0 200 OK\r\n\r\na 12",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        ok(PAGE, "Content-Encoding: gzip"),
    ],
)
def test_page_that_is_cut_off_or_no_page(answer: bytes) -> None:
    reply = one(says(answer, stay=False))
    assert (reply.outcome, reply.body) == (Outcome.BAD_ANSWER, b"")


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"a 12", "the page ends in the middle of a line"), (b"", "the page is empty, or was cut off before it began")],
)
def test_a_page_that_does_not_tell_its_length_says_what_it_lacks(body: bytes, reason: str) -> None:
    assert one(says(b"HTTP/1.0 200 OK\r\n\r\n" + body, stay=False)).reason == reason


def test_old_http_without_length_is_taken_when_its_last_line_is_whole() -> None:
    assert one(says(b"HTTP/1.0 200 OK\r\n\r\na 12\n", stay=False)).body == b"a 12\n"
    json = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}"
    assert one(says(json, stay=False)).body == b"{}"


def test_ipv6() -> None:
    try:
        reply = one(says(ok(PAGE)), host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert reply.body == PAGE


@pytest.mark.parametrize("url", ["http://[::1", "http://", "ftp://127.0.0.1/x", "http://127.0.0.1:99999/"])
def test_invalid_address_is_an_outcome(url: str) -> None:
    async def run() -> tuple[Reply, Reply]:
        async with TargetClient(url, clock=ticking()) as client:
            return await client.page(), await client.beside("/version")

    for reply in asyncio.run(run()):
        assert reply.outcome is Outcome.UNREACHABLE


def test_another_page_of_the_same_server() -> None:
    async def run() -> tuple[Reply, Server]:
        async with (
            Server(says(ok(b"{}"))) as server,
            TargetClient(f"{server.url}/prometheus/metrics", clock=ticking()) as client,
        ):
            return await client.beside("/version"), server

    reply, server = asyncio.run(run())
    assert reply.body == b"{}"
    assert server.heads[0].startswith(b"GET /version ")


def test_other_pages_get_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.scrape.http.BESIDE_TIMEOUT_S", 0.05)

    async def silent(head: bytes, writer: asyncio.StreamWriter) -> bool:
        if b"/props" in head:
            await asyncio.Event().wait()
        writer.write(ok(PAGE))
        return True

    async def run() -> list[Reply]:
        async with Server(silent) as server, TargetClient(server.url, clock=ticking(), timeout_s=30) as client:
            return [await client.beside("/props"), await client.page()]

    props, page = asyncio.run(run())
    assert (props.outcome, props.reason) == (Outcome.TIMED_OUT, "no complete answer within 0.05 s")
    assert page.body == PAGE


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("10.0.0.1:8000", "http://10.0.0.1:8000/metrics"),
        ("http://head:8000", "http://head:8000/metrics"),
        ("http://head:8000/", "http://head:8000/metrics"),
        ("http://head:8000/prometheus/metrics", "http://head:8000/prometheus/metrics"),
        ("https://proxy/engine?model=a", "https://proxy/engine?model=a"),
        ("http://[fd00::1]:8000", "http://[fd00::1]:8000/metrics"),
    ],
)
def test_address_of_the_page(url: str, page: str) -> None:
    assert metrics_url(url) == page
    assert beside(url, "/version").endswith("/version")
