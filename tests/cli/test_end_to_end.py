"""The commands as a user starts them: real processes, real pages, real signals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

from cli.supervisor import ROOT

PATIENCE_S = 120.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


class Started:
    """A command that runs, its output line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines = process, list[str]()

    def until(self, pattern: str) -> re.Match[str]:
        """Read lines until one fits."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no line fits {pattern!r}: {self.lines}")

    def stop(self, number: signal.Signals) -> int:
        """Send a signal; the exit status, after reading all that is left."""
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.lines += [line.rstrip() for line in self.process.stdout]
        return self.process.wait(PATIENCE_S)


@contextmanager
def started(arguments: list[str], environment: Mapping[str, str], patience_s: float = PATIENCE_S) -> Iterator[Started]:
    """A command of the product, killed when the block ends, or lasts too long."""
    command = [sys.executable, str(ROOT / "app.py"), *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(patience_s, process.kill)
    watchdog.start()
    try:
        yield Started(process)
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def get(url: str, opener: urllib.request.OpenerDirector | None = None) -> tuple[int, bytes]:
    try:
        with (opener or urllib.request.build_opener()).open(url, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def wait_for(url: str, good: Any, what: str) -> bytes:
    """Ask until the answer is good."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        status, body = get(url)
        if status == 200 and good(body):
            return body
        time.sleep(0.1)
    raise AssertionError(f"{what}: {status} {body[:300]!r}")


def children(pid: int) -> dict[str, int]:
    """Command → process id of what a supervisor started: the last word of the command line names it."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words = (entry / "cmdline").read_bytes().decode().rstrip("\0").split("\0")
        except (OSError, ValueError):
            continue
        if parent == pid:
            found[next((word for word in words if word in ("collect", "web", "simulator")), words[-1])] = int(
                entry.name
            )
    return found


def newest_tick(store: Path) -> int:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT max(tick) FROM hot").fetchone()[0])


def test_demo_from_start_to_end(tmp_path: Path) -> None:
    temporary, state = tmp_path / "tmp", tmp_path / "state"
    temporary.mkdir()
    real = tmp_path / "real.db"
    environment = {
        "TMPDIR": str(temporary),
        "XDG_STATE_HOME": str(state),
        "TACHOGRAPH_STORE": str(real),
        "TACHOGRAPH_NODES": "real=127.0.0.1:1",
        "TACHOGRAPH_CONFIG": "",
    }
    with started(["demo", "--nodes", "2", "--port", "0", "--speed", "2"], environment) as demo:
        demo.until("A simulated cluster of 2 nodes is running.")
        url = demo.until(r"Open (http://127\.0\.0\.1:\d+/) in a browser").group(1)
        # The first answer may come from before the collector's first tick.
        body = wait_for(
            f"{url}api/v1/status",
            lambda body: len(nodes := json.loads(body)["nodes"]) == 2 and all(node["state"] == "ok" for node in nodes),
            "both nodes answer",
        )
        assert [node["name"] for node in json.loads(body)["nodes"]] == ["spark-01", "spark-02"]
        assert get(url)[0] == 200
        family = children(demo.process.pid)
        assert set(family) == {"collect", "web", "simulator"}
        assert len(list(temporary.rglob("tachograph.db"))) == 1
        assert demo.stop(signal.SIGTERM) == 0
    for pid in family.values():
        assert not Path(f"/proc/{pid}").exists()
    assert list(temporary.rglob("tachograph.db")) == []
    assert not real.exists()
    assert not state.exists()
    assert not [line for line in demo.lines if "Traceback" in line or "ended with" in line]


@pytest.fixture
def simulated() -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "simulator", "--nodes", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.terminate()


@pytest.mark.live
def test_a_killed_collector_comes_back(tmp_path: Path, simulated: dict[str, Any]) -> None:
    node = f"spark-01={simulated['nodes']['spark-01']}"
    arguments = ["run", "--config", "", "--port", "0", "--node", node, "--engine", f"head={simulated['engine']}"]
    with started([*arguments, "--store", str(tmp_path / "t.db")], {}) as hub:
        url = hub.until(r"Open (\S+) in a browser").group(1)
        wait_for(f"{url}healthz", lambda _: True, "samples are written")
        first = children(hub.process.pid)
        os.kill(first["collect"], signal.SIGKILL)
        killed_ms = time.time() * 1000
        hub.until("collector ended with status 137; starting it again in 0.5 s")
        wait_for(f"{url}healthz", lambda _: newest_tick(tmp_path / "t.db") > killed_ms, "samples are written again")
        second = children(hub.process.pid)
        assert second["web"] == first["web"]
        assert second["collect"] != first["collect"]
        assert hub.stop(signal.SIGINT) == 0
    assert (tmp_path / "t.db").exists()


@pytest.mark.live
def test_children_do_not_outlive_a_killed_hub(tmp_path: Path, simulated: dict[str, Any]) -> None:
    arguments = ["run", "--config", "", "--port", "0", "--engine", simulated["engine"]]
    with started([*arguments, "--store", str(tmp_path / "t.db")], {}) as hub:
        hub.until(r"Open (\S+) in a browser")
        family = children(hub.process.pid)
        hub.process.kill()
        assert hub.process.stdout is not None
        hub.process.stdout.read()  # ends when the last child is gone, as they hold its other end
    for pid in family.values():
        assert not Path(f"/proc/{pid}").exists() or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.live
def test_away_from_loopback_nobody_enters_without_the_token(tmp_path: Path, simulated: dict[str, Any]) -> None:
    arguments = ["run", "--config", "", "--port", "0", "--host", "0.0.0.0", "--engine", simulated["engine"]]
    arguments += ["--store", str(tmp_path / "t.db")]
    with started(arguments, {}) as hub:
        port, token = hub.until(r"Open http://[^/]+:(\d+)/\?token=(\S+) in a browser").groups()
        hub.until(f"The token is kept in {tmp_path}/web-token")
        url = f"http://127.0.0.1:{port}/"
        assert get(url)[0] == 401
        assert get(f"{url}?token=wrong")[0] == 401
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        assert get(f"{url}?token={token}", opener)[0] == 200
        assert get(url, opener)[0] == 200, "the session goes on without the token in the address"
        assert get(url)[0] == 401
        assert hub.stop(signal.SIGTERM) == 0
    with started(arguments, {}) as again:
        link = again.until(r"Open (\S+) in a browser").group(1)
        assert "token" not in link
        assert again.stop(signal.SIGTERM) == 0
    assert not [line for line in (*hub.lines[3:], *again.lines) if token in line]


@pytest.mark.live
def test_with_nothing_configured_this_machine_is_read(tmp_path: Path) -> None:
    arguments = ["run", "--config", "", "--port", "0", "--store", str(tmp_path / "t.db"), "--no-discover"]
    with started(arguments, {"TACHOGRAPH_AGENT_PORT": "0"}) as hub:
        url = hub.until(r"Open (\S+) in a browser").group(1)
        body = wait_for(
            f"{url}api/v1/status",
            lambda body: [node["state"] for node in json.loads(body)["nodes"]] == ["ok"],
            "the agent of this machine answers",
        )
        assert json.loads(body)["nodes"][0]["name"] == os.uname().nodename
        assert hub.stop(signal.SIGTERM) == 0


def test_a_port_that_is_taken_ends_with_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        arguments = ["run", "--config", "", "--port", str(port), "--node", "127.0.0.1:1"]
        with started([*arguments, "--store", str(tmp_path / "t.db")], {}) as hub:
            hub.until(f"port: 127.0.0.1:{port} is wrong, expected an address nobody listens on")
            assert hub.process.wait(PATIENCE_S) == 2
