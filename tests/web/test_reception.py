"""When a request is whole, in whatever pieces it comes in."""

from __future__ import annotations

import pytest

from dashboard.reception import HEAD_MOST, Reception, State

GET = b"GET / HTTP/1.1\r\nHost: hub\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: hub\r\n"
CHUNKS = POST + b"Transfer-Encoding: gzip, Chunked\r\n\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        GET,
        b"\r\n\r\n" + GET,
        POST + b"content-length:  3 \r\nX: y\r\n\r\nabc",
        POST + b"Content-Length: 0\r\n\r\n",
        CHUNKS + b"0\r\n\r\n",
        CHUNKS + b"3\r\nabc\r\n0\r\n\r\n",
        CHUNKS + b"A;name=value\r\n0\r\n\r\n90123\r\n0\r\nTrailer: x\r\n\r\n",
    ],
)
def test_it_is_whole_with_its_last_byte(request_: bytes) -> None:
    found = Reception(1000)
    for place in range(len(request_) - 1):
        assert found.take(request_[place : place + 1]) is State.PART, request_[: place + 1]
    assert found.take(request_[-1:]) is State.WHOLE
    assert Reception(1000).take(request_) is State.WHOLE
    assert bytes(found.data) == request_.removeprefix(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "state"),
    [
        (POST + b"Content-Length: 10\r\n\r\n", State.PART),
        (POST + b"Content-Length: 11\r\n\r\n", State.LONG),
        (POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", State.LONG),
        (CHUNKS + b"a\r\n012345", State.PART),
        (CHUNKS + b"fff\r\n012345678901", State.LONG),
        (CHUNKS + b"zz\r\n", State.WHOLE),
        (CHUNKS + b"f" * 16 + b"\r\n", State.WHOLE),
        (b"nonsense\r\n\r\n", State.WHOLE),
        (b"GET /" + b"x" * HEAD_MOST, State.REFUSED),
        (GET + b"GET /next", State.WHOLE),
    ],
)
def test_what_comes_of_others(request_: bytes, state: State) -> None:
    assert Reception(10).take(request_) is state
