"""The page in front of the real processes: a collector that is killed, and one that comes back."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Open, wait_for_charts

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A process of the product or the simulator, ended with the block."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=clean, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def line_with(process: subprocess.Popen[str], pattern: str) -> str:
    """The first match in what a process prints."""
    assert process.stdout is not None
    return next(found[0] for line in process.stdout if (found := re.search(pattern, line)))


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(address: str) -> None:
    """Until something answers there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            assert time.monotonic() < deadline, f"{address} does not answer"
            time.sleep(0.1)
        else:
            return


def test_a_killed_collector_is_named_and_its_successor_welcome(tmp_path: Path, open_page: Open) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    with ExitStack() as stack:
        simulator = stack.enter_context(running("-m", "simulator", "--nodes", "2"))
        told = json.loads(line_with(simulator, r"\{.*\}"))
        nodes = [part for name, url in told["nodes"].items() for part in ("--node", f"{name}={url}")]
        collect = ("app.py", "collect", *store, *nodes, "--engine", f"head={told['engine']}")
        collector = stack.enter_context(running(*collect))
        port = free_port()
        stack.enter_context(running("app.py", "web", *store, "--port", str(port)))
        wait_for(f"http://127.0.0.1:{port}/")
        page = open_page(f"http://127.0.0.1:{port}/")
        wait_for_charts(page)
        sentence = page.locator(".sentence .words")
        expect(page.locator("[data-age]")).to_have_text("live")
        collector.kill()
        expect(sentence).to_have_text(re.compile("Collector silent for"))
        stack.enter_context(running(*collect))
        expect(page.locator("[data-age]")).to_have_text("live")
        expect(sentence).not_to_have_text(re.compile("Collector silent"))
