"""Clients that ask for a large answer and never read it do not keep the server from others: gunicorn, real sockets."""

from __future__ import annotations

import os
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
from tests.web.conftest import MakeWorld
from tests.web.test_server import PATIENCE_S, ROOT, free_port, until_answers

PROGRAM = """
import sys
from dashboard import worker
from dashboard.config import WebConfig
from dashboard.server import run
worker.SEND_S = float(sys.argv[3])
sys.exit(run(WebConfig(store_url=sys.argv[1], port=int(sys.argv[2]))))
"""
LARGE = "/_dash-component-suites/plotly/package_data/plotly.min.js"
"""Megabytes, which no buffer of the kernel's holds."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def serve(make_world: MakeWorld, stack: ExitStack, log: Path, send_s: float) -> int:
    """Port of a server that waits so long for a client to take something."""
    world = make_world(nodes=1)
    world.run(0, 30)
    port = free_port()
    command = [sys.executable, "-c", PROGRAM, world.url, str(port), str(send_s)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT, stderr=file)

    def end() -> None:
        process.terminate()
        process.wait(timeout=PATIENCE_S)

    stack.callback(end)
    until_answers(f"http://127.0.0.1:{port}")
    return port


def ask(port: int, path: str, stack: ExitStack, room: int = 4096) -> socket.socket:
    """A connection with so much room for what comes, on which a path was asked for."""
    one = stack.enter_context(socket.socket())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    one.settimeout(PATIENCE_S)
    one.connect(("127.0.0.1", port))
    one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return one


@pytest.mark.live
def test_clients_that_never_read_keep_nobody_waiting(make_world: MakeWorld, stack: ExitStack, tmp_path: Path) -> None:
    port = serve(make_world, stack, tmp_path / "log", send_s=1.0)
    for _ in range(THREADS + 2):
        ask(port, LARGE, stack)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        assert answer.status == 200
    deadline = time.monotonic() + PATIENCE_S
    while "took nothing of its answer for 1 s" not in (log := (tmp_path / "log").read_text("utf-8")):
        assert time.monotonic() < deadline, log
        time.sleep(0.05)
    assert "Traceback" not in log


@pytest.mark.live
def test_a_client_that_reads_slowly_gets_all_of_it(make_world: MakeWorld, stack: ExitStack, tmp_path: Path) -> None:
    """In pieces, each within the limit, for three times as long as it."""
    port = serve(make_world, stack, tmp_path / "log", send_s=1.0)
    slow = ask(port, LARGE, stack, room=65536)
    told, began = b"", time.monotonic()
    while piece := slow.recv(1 << 18):
        told += piece
        if time.monotonic() - began < 3.0:
            time.sleep(0.1)  # what a slow link does
    head, _, body = told.partition(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    assert len(body) == int(length.split(b":")[1])
    assert "took nothing" not in (tmp_path / "log").read_text("utf-8")
