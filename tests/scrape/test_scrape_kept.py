"""A server whose answers are plain, over real sockets: what is taken from it, and what is left to aiohttp."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from collectors.scrape.http import Reply, TargetClient
from collectors.scrape.kept import MAX_HEAD, PLAIN_BEFORE, plain_head
from collectors.scrape.outcome import Outcome
from tests.scrape.test_scrape_http import PAGE, Answer, Server, fetch, moved, ok, says

OTHER = b"a 1\nb 2\n"
PLAIN = [ok(PAGE)] * PLAIN_BEFORE
TIMES = PLAIN_BEFORE + 2
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n" + OTHER + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((b"Content-Length: 12",), (12, "")),
        ((b"content-length:12 ", b"CONTENT-TYPE: text/plain; version=0.0.4", b"Date: x"), (12, "text/plain")),
        ((b"Content-Length: 0", b"Connection: Keep-Alive"), (0, "")),
        ((), None),
        ((b"Content-Length: 12", b"Content-Length: 12"), None),
        ((b"Content-Length: +12",), None),
        ((b"Content-Length: " + b"1" * 5000,), None),
        ((b"Content-Length: 12", b"Connection: close"), None),
        ((b"Content-Length: 12", b"Transfer-Encoding: chunked"), None),
        ((b"Content-Length: 12", b"Content-Encoding: identity"), None),
        ((b"Content-Length : 12",), None),
        ((b"Content-Length: 12", b" folded: 1"), None),
        ((b"Content-Length: 12", b"no colon"), None),
        ((b"Content-Length: 12", b": nameless"), None),
        ((b"X: 1\nContent-Length: 12",), None),
    ],
)
def test_what_a_plain_head_is(lines: tuple[bytes, ...], told: tuple[int, str] | None) -> None:
    assert plain_head(b"\r\n".join([b"HTTP/1.1 200 OK", *lines])) == told
    for status in (b"HTTP/1.0 200 OK", b"HTTP/1.1 2000", b"HTTP/1.1 404 OK", b"HTTP/1.1 206 OK", b"ICY 200"):
        assert plain_head(b"\r\n".join([status, *lines])) is None


def test_the_same_is_asked_over_one_connection_more() -> None:
    replies, server = fetch(says(ok(PAGE, "Content-Type: text/plain; a=b")), times=9, token="secret")
    assert [(one.outcome, one.body, one.status, one.content_type) for one in replies] == [
        (Outcome.OK, PAGE, 200, "text/plain")
    ] * 9
    assert len(set(server.heads)) == 1
    assert (len(server.heads), server.connections) == (9, 2)


def after_plain(*answers: bytes, stay: bool = True) -> tuple[list[Reply], Server]:
    """The two replies behind the first plain ones, with what the server saw. The last answer is given from then on."""
    replies, server = fetch(says(*PLAIN, *answers, stay=stay), times=TIMES, max_bytes=len(PAGE))
    assert [one.body for one in replies[:PLAIN_BEFORE]] == [PAGE] * PLAIN_BEFORE
    return replies[PLAIN_BEFORE:], server


@pytest.mark.parametrize(
    ("unusual", "outcome", "body"),
    [
        (CHUNKED, Outcome.OK, OTHER),
        (ok(OTHER, "Content-Encoding: gzip"), Outcome.BAD_ANSWER, b""),
        (b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n", Outcome.BAD_ANSWER, b""),
        (b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n", Outcome.NOT_FOUND, b""),
        (ok(PAGE + b"#"), Outcome.BAD_ANSWER, b""),
        (moved("/metrics"), Outcome.BAD_ANSWER, b""),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Outcome.BAD_ANSWER, b""),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * MAX_HEAD, Outcome.BAD_ANSWER, b""),
    ],
)
def test_what_is_unusual_is_asked_for_anew(unusual: bytes, outcome: Outcome, body: bytes) -> None:
    (reply, _), server = after_plain(unusual)
    assert (reply.outcome, reply.body) == (outcome, body)
    assert server.connections >= 3
    assert len(server.heads) >= PLAIN_BEFORE + 2


def test_plain_answers_come_back_to_one_connection() -> None:
    unusual = [CHUNKED, CHUNKED]
    replies, server = fetch(says(*PLAIN, *unusual, ok(OTHER)), times=10)
    assert [one.body for one in replies] == [PAGE] * 3 + [OTHER] * 7
    assert (len(server.heads), server.connections) == (11, 4), "aiohttp's, ours, aiohttp's again, ours again"


def test_an_answer_that_is_broken_off_is_no_page() -> None:
    (first, second), server = after_plain(ok(PAGE)[:-5], ok(OTHER), stay=False)
    assert (first.outcome, first.reason) == (Outcome.BAD_ANSWER, "the answer was broken off or is no HTTP")
    assert (second.outcome, second.body) == (Outcome.OK, OTHER)
    assert len(server.heads) == TIMES, "and not asked for again at once"


def test_more_than_was_stated_is_asked_for_anew() -> None:
    (reply, _), server = after_plain(ok(OTHER) + b"more", ok(OTHER))
    assert (reply.outcome, reply.body) == (Outcome.OK, OTHER)
    assert len(server.heads) == TIMES + 1


def slowly(answer: bytes, *cuts: int) -> Answer:
    """Each answer in pieces, each read by itself."""

    async def write(head: bytes, writer: asyncio.StreamWriter) -> bool:
        for begin, end in itertools.pairwise([0, *cuts, len(answer)]):
            writer.write(answer[begin:end])
            await writer.drain()
            await asyncio.sleep(0.005)
        return True

    return write


def test_an_answer_in_pieces_is_whole() -> None:
    replies, server = fetch(slowly(ok(PAGE), 3, 20, 36, 39, 41, 60), times=TIMES)
    assert [one.body for one in replies] == [PAGE] * TIMES
    assert server.connections == 2


def test_a_connection_that_is_closed_meanwhile_is_opened_again_unseen() -> None:
    replies, server = fetch(says(ok(PAGE), stay=False), times=6)
    assert [one.body for one in replies] == [PAGE] * 6
    assert (len(server.heads), server.connections) == (6, 6)


def test_a_server_that_closes_without_an_answer_is_asked_once_more() -> None:
    calls = itertools.count()

    async def nothing_once(head: bytes, writer: asyncio.StreamWriter) -> bool:
        if next(calls) == PLAIN_BEFORE:
            return False
        writer.write(ok(PAGE))
        return True

    replies, server = fetch(nothing_once, times=TIMES)
    assert [one.outcome for one in replies] == [Outcome.OK] * TIMES
    assert len(server.heads) == TIMES + 1


def test_what_is_sent_without_being_asked_for_is_no_answer() -> None:
    calls = itertools.count()

    async def twice(head: bytes, writer: asyncio.StreamWriter) -> bool:
        call = next(calls)
        writer.write(ok(PAGE))
        if call == PLAIN_BEFORE:
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(ok(b"lie 1\n"))
        return True

    async def run() -> list[bytes]:
        async with Server(twice) as server, TargetClient(server.url, clock=lambda: 0.0) as client:
            bodies = []
            for _ in range(TIMES + 1):
                bodies.append((await client.page()).body)
                await asyncio.sleep(0.04)
            return bodies

    assert asyncio.run(run()) == [PAGE] * (TIMES + 1)


def test_after_a_time_out_another_connection_is_opened() -> None:
    calls = itertools.count()

    async def silent_once(head: bytes, writer: asyncio.StreamWriter) -> bool:
        if next(calls) == PLAIN_BEFORE:
            await asyncio.Event().wait()
        writer.write(ok(PAGE))
        return True

    replies, server = fetch(silent_once, times=TIMES, timeout_s=0.1)
    assert [one.outcome for one in replies[PLAIN_BEFORE:]] == [Outcome.TIMED_OUT, Outcome.OK]
    assert (len(server.heads), server.connections) == (TIMES, 3)


def test_a_server_that_is_gone_is_called_what_it_is() -> None:
    async def run() -> list[Reply]:
        async with Server(says(ok(PAGE))) as server, TargetClient(server.url, clock=lambda: 0.0) as client:
            replies = [await client.page() for _ in range(TIMES)]
            await server.__aexit__()
            return [*replies, await client.page()]

    *replies, gone = asyncio.run(run())
    assert {one.outcome for one in replies} == {Outcome.OK}
    assert gone.outcome is Outcome.REFUSED


def test_an_address_that_is_to_be_quoted_is_left_to_aiohttp() -> None:
    async def run() -> tuple[list[bytes], int]:
        async with Server(says(ok(PAGE))) as server, TargetClient(f"{server.url}/a b", clock=lambda: 0.0) as client:
            for _ in range(TIMES):
                assert (await client.page()).body == PAGE
            return [head.split(b"\r\n")[0] for head in server.heads], server.connections

    heads, connections = asyncio.run(run())
    assert heads == [b"GET /a%20b HTTP/1.1"] * TIMES
    assert connections == 1
