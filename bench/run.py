"""What opening a run's page costs: python -m bench.run [--directory DIRECTORY] [--hours 6] [--nodes 16].

Makes a store with one run of so many hours (bench/run_store.py); in DIRECTORY it stays, and the next call finds it.
Starts the web on it and asks each answer of the page, twice: what it takes of the server's processor, which a busy
machine does not lengthen, and on the clock. Then opens the page in Chromium, chooses a stretch, a node and a moment,
and prints when the key numbers and the timeline stood. Exit status 1 when a budget is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.page import FLAGS, ROOT, metrics, process_cost
from bench.run_store import DEPLOYMENT, START_MS, fill
from bench.summary import HOUR_MS
from storage.store import open_store

OPEN_BUDGET_MS, SERVER_BUDGET_MS, MEMORY_BUDGET_MIB = 1500.0, 200.0, 250.0
POINTS = 1206
CHROMIUM = "/usr/bin/chromium"
READY = "() => document.querySelector('.run-body[data-state=ready]') && document.querySelector('.headlines .value b')"


def store_in(directory: Path, hours: int, nodes: int) -> str:
    """URL of the store, made where it is not there."""
    path = directory / f"run-{hours}h-{nodes}.db"
    if not path.exists():
        print(f"making {hours} h of {nodes} nodes in {path}: about {hours * nodes * 3} s", flush=True)
        fill(path, hours, nodes)
    url = f"sqlite:///{path}"
    open_store(url, writer=True, now_ms=START_MS).close()
    return url


@contextmanager
def web(url: str) -> Iterator[tuple[int, int]]:
    """The web on a free port: (port, process that serves)."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, str(ROOT / "app.py"), "web", "--port", str(port), "--store", url]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            while not answering(port):
                time.sleep(0.05)
            yield port, serving(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def answering(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serving(parent: int) -> int:
    """The worker below gunicorn's master, once it is there."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    while not (found := children.read_text("ascii").split()):
        time.sleep(0.05)
    return int(found[0])


def loaded(port: int) -> None:
    """Wait until the web holds in memory what it keeps there: then it has a newest tick."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/api/v1/live?minutes=0")
        told = json.loads(connection.getresponse().read())
        connection.close()
        if told["tick"] is not None:
            return
        time.sleep(0.2)


def peak_mib(process: int) -> float:
    """The largest resident memory that a process ever had."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def answers(port: int, process: int, hours: int) -> float:
    """Ask each answer of the page twice; the processor's milliseconds of the dearest that opening it asks for."""
    part = f"&start={START_MS + HOUR_MS}&end={START_MS + 3 * HOUR_MS}"
    opening = ["/runs/1", "/fragment/run?run=1", "/fragment/run-more?run=1", f"/api/v1/runs/1/timeline?points={POINTS}"]
    others = [f"{opening[-1]}&map={key}" for key in ("clock", "interconnect")]
    others += [f"/api/v1/runs/1/node?name=spark-07&points={POINTS}", f"/api/v1/runs/1/moment?at={START_MS + HOUR_MS}"]
    others += [f"{opening[-1]}{part}", f"/fragment/run?run=1{part}"] if hours >= 3 else []
    dearest = 0.0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for path in (*opening, *others):
        figures = [ask(connection, path, process) for _ in range(2)]
        told = ", then ".join(f"{clock:4.0f} ms, CPU {cpu:4.0f} ms" for clock, cpu, _ in figures)
        print(f"{told}; {figures[0][2] / 1000:6.0f} kB  {path}")
        if path in opening:
            dearest = max(dearest, figures[0][1])
    connection.close()
    return dearest


def ask(connection: http.client.HTTPConnection, path: str, process: int) -> tuple[float, float, int]:
    """(milliseconds on the clock, of the server's processor, bytes) of one answer."""
    used, began = process_cost(process)[0], time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    size = len(answer.read())
    assert answer.status == 200, f"{path}: {answer.status}"
    return (time.perf_counter() - began) * 1000, (process_cost(process)[0] - used) * 1000, size


def visit(page: Page, address: str) -> float:
    """Milliseconds until numbers and timeline of the page stand; then a stretch, a node and a moment are chosen."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_function(READY, timeout=60_000)
    took = (time.perf_counter() - began) * 1000
    own = metrics(session)["TaskDuration"] * 1000
    print(f"{took:.0f} ms until the page stands, in which its own thread works {own:.0f} ms")
    page.wait_for_function("() => !document.getElementById('first')")
    box = page.locator(".run-over").bounding_box()
    assert box is not None, "there is no timeline"
    page.mouse.move(box["x"] + 300, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 80, steps=4)
    began = time.perf_counter()
    page.mouse.up()
    page.wait_for_selector(".run-bar .plain:not([hidden])")
    page.wait_for_function("() => !document.querySelector('.run-body .fragment[data-stale]')")
    print(f"{(time.perf_counter() - began) * 1000:.0f} ms until the numbers are those of a chosen stretch")
    page.locator(".run-names button").nth(6).click()
    page.wait_for_selector(".run-node h2")
    page.locator(".run-marks button").first.click()
    page.wait_for_selector(".moment tbody tr")
    return took


def opened(port: int) -> float:
    """Milliseconds until the page stands, the best of three visits."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        times = []
        for _ in range(3):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            times.append(visit(context.new_page(), f"http://127.0.0.1:{port}/runs/1"))
            context.close()
        browser.close()
    return min(times)


def report(figures: dict[str, tuple[float, float]]) -> bool:
    """Print each figure beside its budget; whether all are kept."""
    for label, (value, most) in figures.items():
        print(f"{label:44} {value:8.0f}  ≤ {most:.0f}{'   over' if value > most else ''}")
    return all(value <= most for value, most in figures.values())


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", help="where the store is made and stays (default: a temporary directory)")
    parser.add_argument("--hours", type=int, default=6)
    parser.add_argument("--nodes", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        url = store_in(Path(options.directory or temporary), options.hours, options.nodes)
        with web(url) as (port, process):
            print(f"deployment {DEPLOYMENT}, {options.hours} h, {options.nodes} nodes")
            loaded(port)
            before = peak_mib(process)
            dearest = answers(port, process, options.hours)
            page = opened(port)
            print(f"{before:.0f} MiB is the web's peak before anybody asks")
            kept = report({
                "numbers and timeline stand, ms": (page, OPEN_BUDGET_MS),
                "dearest answer of opening, ms of processor": (dearest, SERVER_BUDGET_MS),
                "peak memory of the web, MiB": (peak_mib(process), MEMORY_BUDGET_MIB),
            })  # fmt: skip
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
