"""A server that goes and comes back under the collector's writer and the web's follower, which both go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dashboard.config import WebConfig
from dashboard.server import create_server
from pipeline.writer import Draft, Work, Writer
from storage.records import Batch, Event, TargetRow
from storage.store import Store
from tests.pipeline.served import serving
from tests.storage.server import PASSWORD, QUOTED, Server
from tests.storage.worlds import NOW, SECOND, series

ROOT = Path(__file__).parents[2]
SERIES = series("spark", "gpu_power_watts")


@pytest.fixture
def engine() -> str:
    """The only one here."""
    return "postgresql"


def work(at: int) -> Work:
    """A tick of one target, and an event."""
    tick = NOW + at * SECOND
    draft = Draft(tick, "spark", tick + 40, SERIES, np.array([float(at)]))
    state = TargetRow("spark", "node", "http://spark:9810", 1000, "up", "", NOW, tick)
    return Work(tick, (draft,), Batch(events=[Event(0, tick, "spark", "tick", str(at))], targets=[state]))


def told(store: Store) -> tuple[list[float], list[str], list[int]]:
    """Values, events and numbers of commits."""
    values = [row.values[0] for row in store.rows()]
    return (
        values,
        [event.text for event in store.events(0, 2 * NOW, "spark")],
        [one.sequence for one in store.commits_after(0)],
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_ticks_wait_while_the_server_is_away(server: Server, opened: Callable[..., Store], how: signal.Signals) -> None:
    store = opened()
    store.claim()
    writer = Writer(store)
    assert writer.write([work(0)], NOW) is not None
    server.stop(how)
    for at in range(1, 5):
        assert writer.write([work(at)], NOW + at * SECOND) is None
        assert writer.problem is not None
        assert "does not answer" in writer.problem
        assert not any(word in writer.problem for word in (PASSWORD, QUOTED))
    server.start()
    assert writer.write([work(5)], NOW + 5 * SECOND) is not None
    assert (writer.problem, writer.dropped, len(writer.waiting)) == (None, 0, 0)
    assert told(store) == ([0, 1, 2, 3, 4, 5], [str(at) for at in range(6)], [1, 2])


def test_the_web_says_so_and_goes_on(server: Server, opened: Callable[..., Store], url: str) -> None:
    writer = Writer(opened())
    writer.write([work(at) for at in range(3)], NOW)
    web = create_server(WebConfig(store_url=url), lambda: NOW + 3 * SECOND, follow=False)
    client = web.test_client()
    question = f"/api/v1/events?start={NOW}&end={NOW + 9 * SECOND}"
    assert client.get(question).status_code == 200
    server.stop()
    answer = client.get(question)
    assert answer.status_code == 503
    assert "does not answer" in answer.get_data(as_text=True)
    assert client.get("/healthz").status_code == 503
    server.start()
    assert client.get(question).status_code == 200
    web.extensions["tachograph"].close()


def until(process: subprocess.Popen[bytes], output: Path, is_so: Callable[[], bool]) -> None:
    """Wait, as long as the process lives and for a minute at most."""
    end = time.monotonic() + 60
    while not is_so():
        assert process.poll() is None, output.read_text()
        assert time.monotonic() < end, output.read_text()
        time.sleep(0.05)


def test_a_whole_collector_on_a_server(server: Server, opened: Callable[..., Store], url: str, tmp_path: Path) -> None:
    """The command, its settings from the environment; the password is nowhere on its output."""
    page = b'# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m",engine="0"} 3\n'
    reader, output = opened(), tmp_path / "output"
    with serving(lambda _path: (200, page)) as engine, output.open("wb") as file:
        settings = {"TACHOGRAPH_STORE": url, "TACHOGRAPH_ENGINES": f"e={engine}", "HOME": str(tmp_path)}
        command = [sys.executable, "app.py", "collect", "--log-level", "debug"]
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, stdout=file, stderr=file)
        try:
            until(process, output, lambda: len(reader.rows()) > 1)
            server.stop()
            until(process, output, lambda: "cannot commit, ticks wait in memory" in output.read_text())
            server.start()
            until(process, output, lambda: "the store takes commits again" in output.read_text())
        finally:
            process.terminate()
            process.wait()
    assert process.returncode == 0
    assert not any(word in output.read_text() for word in (PASSWORD, QUOTED))
    steps = np.diff([row.tick for row in reader.rows()])
    assert len(steps) > 2
    assert steps.max() <= 2 * SECOND
