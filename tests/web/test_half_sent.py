"""Requests that are begun and not finished do not keep the server from others: gunicorn in a process of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dashboard.server import THREADS
from dashboard.worker import MOST_WAITING
from tests.web.conftest import MakeWorld
from tests.web.test_server import PATIENCE_S, ROOT, free_port, until_answers

PROGRAM = """
import sys
from dashboard import worker
from dashboard.config import WebConfig
from dashboard.server import run
if float(sys.argv[3]):
    worker.RECEIVE_S = float(sys.argv[3])
sys.exit(run(WebConfig(store_url=sys.argv[1], port=int(sys.argv[2]))))
"""
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
LENGTH = re.compile(rb"(?i)\r\nContent-Length: (\d+)")
POST = b"POST /_dash-update-component HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Served:
    """A server, its port, and the lines that it wrote."""

    def __init__(self, world_url: str, receive_s: float, log: Path) -> None:
        self.port = free_port()
        self.log = log
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM, world_url, str(self.port), str(receive_s)]
        with log.open("wb") as file:
            self.process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=file)
        until_answers(f"http://127.0.0.1:{self.port}")

    def begin(self, sent: bytes, stack: ExitStack) -> socket.socket:
        """A connection on which this much of a request was sent."""
        one = stack.enter_context(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S))
        one.sendall(sent)
        return one

    def healthy(self) -> float:
        """Seconds that a whole request takes until it is answered."""
        began = time.monotonic()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
            answer.read()
        return time.monotonic() - began


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def serve(make_world: MakeWorld, stack: ExitStack, path: Path, receive_s: float = 0.0) -> Served:
    world = make_world(nodes=1)
    world.run(0, 30)
    served = Served(world.url, receive_s, path / "log")

    def end() -> None:
        served.process.terminate()
        served.process.wait(timeout=PATIENCE_S)

    stack.callback(end)
    return served


def test_half_sent_heads_and_bodies_are_dropped(make_world: MakeWorld, stack: ExitStack, tmp_path: Path) -> None:
    served = serve(make_world, stack, tmp_path, receive_s=1.0)
    heads = [served.begin(HEAD, stack) for _ in range(THREADS // 2 + 1)]
    bodies = [served.begin(POST + b"Content-Length: 100\r\n\r\n{", stack) for _ in range(THREADS // 2 + 1)]
    assert served.healthy() < 20
    for one in heads:
        assert one.recv(1024) == b"", "dropped without an answer"
    for one in bodies:
        assert one.recv(1024).startswith((b"HTTP/1.1 400", b"")), "told, or dropped"
    assert "not received within 1 s" in served.log.read_text("utf-8"), "told before they are dropped"
    assert "Traceback" not in served.log.read_text("utf-8")


@pytest.mark.live
def test_a_head_that_comes_in_drops_has_no_more_time(make_world: MakeWorld, stack: ExitStack, tmp_path: Path) -> None:
    served = serve(make_world, stack, tmp_path, receive_s=1.0)
    slow = served.begin(HEAD, stack)
    slow.settimeout(0.2)
    began, ended = time.monotonic(), None
    while ended is None and time.monotonic() - began < 20:
        try:
            slow.sendall(b"x")
            ended = slow.recv(1024)
        except TimeoutError:
            continue
        except OSError:
            ended = b""
    assert ended == b""


@pytest.mark.live
def test_streams_and_kept_connections_outlive_the_limit(
    make_world: MakeWorld, stack: ExitStack, tmp_path: Path
) -> None:
    served = serve(make_world, stack, tmp_path, receive_s=1.0)
    kept = served.begin(b"", stack)
    stream = served.begin(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", stack)
    for _ in range(3):
        kept.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert _whole(kept).startswith(b"HTTP/1.1 200")
        time.sleep(0.8)  # the limit itself is what passes here: 1 s for each request, over 2 s for the stream
    stream.settimeout(PATIENCE_S)
    told = b""
    while b": still here" not in told:
        piece = stream.recv(65536)
        assert piece, "the stream was ended"
        told += piece
    assert "dropped" not in served.log.read_text("utf-8")


def _whole(one: socket.socket) -> bytes:
    """An answer that says how long it is, to its end."""
    told = b""
    while (head := told.partition(b"\r\n\r\n"))[1] == b"" or len(head[2]) < int(LENGTH.findall(head[0])[0]):
        piece = one.recv(65536)
        assert piece, told
        told += piece
    return told


def test_a_healthy_request_waits_for_nobody(make_world: MakeWorld, stack: ExitStack, tmp_path: Path) -> None:
    """The limit is ten minutes: who waits for it fails."""
    served = serve(make_world, stack, tmp_path, receive_s=600.0)
    for _ in range(THREADS + 2):
        served.begin(HEAD, stack)
        served.begin(b"", stack)
        served.begin(POST + b"Content-Length: 100\r\n\r\n{", stack)
        served.begin(POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", stack)
        served.begin(POST + b"Content-Length: 5000000\r\n\r\n{", stack)
    assert served.healthy() < 20
    kept = served.begin(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nGET /metrics HT", stack)
    assert _whole(kept).startswith(b"HTTP/1.1 200")
    kept.sendall(b"TP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert kept.recv(65536).startswith(b"HTTP/1.1 200"), "what was read ahead is the beginning of the next"


@pytest.mark.live
def test_who_waits_longest_makes_room(make_world: MakeWorld, stack: ExitStack, tmp_path: Path) -> None:
    served = serve(make_world, stack, tmp_path, receive_s=600.0)
    began = [served.begin(HEAD, stack) for _ in range(MOST_WAITING + 2)]
    assert served.healthy() < 20
    assert began[0].recv(1024) == b""
    assert began[1].recv(1024) == b""
    began[-1].sendall(b"x\r\n\r\n")
    assert began[-1].recv(65536).startswith(b"HTTP/1.1 503"), "nothing was committed for long, and that is told"


@pytest.mark.live
def test_a_body_that_is_too_long_is_refused_before_it_is_sent(
    make_world: MakeWorld, stack: ExitStack, tmp_path: Path
) -> None:
    served = serve(make_world, stack, tmp_path, receive_s=600.0)
    one = served.begin(POST.replace(b"/_dash-update-component", b"/api/v1/annotations"), stack)
    one.sendall(b"Content-Length: 1048577\r\n\r\n{")
    told = one.recv(65536)
    assert told.startswith(b"HTTP/1.1 413")
    assert b"Connection: close" in told


@pytest.mark.live
def test_who_does_not_close_after_its_answer_keeps_nobody_waiting(
    make_world: MakeWorld, stack: ExitStack, tmp_path: Path
) -> None:
    served = serve(make_world, stack, tmp_path)
    asked = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answered = [served.begin(asked, stack) for _ in range(20)]
    for one in answered:
        told = b""
        while piece := one.recv(65536):
            told += piece
        assert told.startswith(b"HTTP/1.1 200")
    assert served.healthy() < 20, "gunicorn would wait for two seconds for each of the twenty"
