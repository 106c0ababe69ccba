"""The server as it is run: gunicorn in a process of its own, opened after the fork, stopped by a signal."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.config import WebConfig
from dashboard.server import create_server, look_at_store, run, wait_for_store
from storage.errors import StoreNotReady
from tests.web.conftest import MakeWorld
from tests.web.world import World, tick

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from dashboard.config import WebConfig
from dashboard.server import run
sys.exit(run(WebConfig(store_url=sys.argv[1], port=int(sys.argv[2]))))
"""
PATIENCE_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


Started = tuple[subprocess.Popen[bytes], str]


@pytest.fixture
def start() -> Iterator[Callable[[str], Started]]:
    """Starts the server over a store; gives process and address."""
    running: list[subprocess.Popen[bytes]] = []

    def one(store_url: str) -> Started:
        port = free_port()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, store_url, str(port)], env=environment, cwd=ROOT)
        running.append(process)
        return process, f"http://127.0.0.1:{port}"

    yield one
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()


def until_answers(address: str) -> None:
    """Wait until the server answers at all."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=5).close()
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
            continue
        return


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_serves_pages_and_streams_and_stops_on_a_signal(
    make_world: MakeWorld, start: Callable[[str], Started], stop: signal.Signals
) -> None:
    world = make_world()
    world.run(0, 30)
    process, address = start(world.url)
    until_answers(address)
    with urllib.request.urlopen(f"{address}/", timeout=PATIENCE_S) as page:
        assert page.status == 200
        policy = page.headers["Content-Security-Policy"]
        assert b"Tachograph" in page.read()
    assert "script-src 'self' 'sha256-" in policy
    assert "unsafe-inline'; img" in policy, "inline styles only"
    with urllib.request.urlopen(f"{address}/api/v1/stream", timeout=PATIENCE_S) as stream:
        assert stream.readline() == b"retry: 1000\n"
        world.run(31, 31)
        lines = [stream.readline() for _ in range(8)]
        assert f"id: {tick(31)}\n".encode() in lines or f"id: {tick(30)}\n".encode() in lines
        process.send_signal(stop)
        began = time.monotonic()
        while stream.readline():
            pass
    assert process.wait(timeout=PATIENCE_S) == 0
    assert time.monotonic() - began < 20


def test_waits_for_the_collector_to_make_the_store(tmp_path: Path, start: Callable[[str], Started]) -> None:
    path = tmp_path / "late.db"
    process, address = start(f"sqlite:///{path}")
    world = World(path)
    world.run(0, 5)
    until_answers(address)
    assert process.poll() is None
    world.close()


def test_a_store_that_cannot_be_used_is_refused_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database" * 100)
    assert run(WebConfig(store_url=f"sqlite:///{broken}")) == 1
    assert str(broken) in capsys.readouterr().err


def test_patience_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(StoreNotReady):
        wait_for_store(WebConfig(store_url=f"sqlite:///{tmp_path}/never.db"), lambda: 0, patience_s=0.0)


def test_create_server_follows_by_itself(make_world: MakeWorld) -> None:
    world = make_world()
    world.run(0, 30)
    server = create_server(WebConfig(store_url=world.url), lambda: world.now)
    process = server.extensions["tachograph"]
    try:
        assert process.hub.wait(0, PATIENCE_S) is None, "the first message starts everybody afresh"
        assert process.live(0)["tick"] == tick(30)
    finally:
        process.close()
    assert process.hub.streams == 0


def test_follower_survives_a_tick_that_cannot_be_told(
    make_world: MakeWorld, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong with one tick, the thread goes on, and health says what is the matter meanwhile."""
    world = make_world()
    world.run(0, 5)
    server = create_server(WebConfig(store_url=world.url), lambda: world.now, follow=False)
    process = server.extensions["tachograph"]
    follower, step = process.follower, process.follower.step
    failures = iter([ValueError("a number is odd"), None])

    def sometimes() -> int:
        failure = next(failures, None)
        if failure is not None:
            raise failure
        return int(step())

    monkeypatch.setattr(follower, "step", sometimes)
    try:
        process.start()
        process.hub.wait(0, PATIENCE_S)
        assert process.live(0)["tick"] == tick(5)
        assert follower.work.failures == 1
        assert follower.work.problem is None or "odd" in follower.work.problem
    finally:
        process.close()
    assert "a number is odd" in caplog.text


@pytest.mark.parametrize("there", [False, True])
def test_a_store_that_is_to_come_is_no_fault(tmp_path: Path, caplog: pytest.LogCaptureFixture, there: bool) -> None:
    """`run` starts the collector itself, at the same time."""
    if there:
        (tmp_path / "store.db").touch()
    with caplog.at_level(logging.INFO, "dashboard.server"):
        look_at_store(WebConfig(store_url=f"sqlite:///{tmp_path}/store.db"))
    (told,) = caplog.records
    assert (told.levelname, told.getMessage()) == (
        "INFO",
        "waiting for the store, which the collector makes or brings forward when it starts",
    )
