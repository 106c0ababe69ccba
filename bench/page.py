"""What the Cluster page costs a browser: python bench/page.py [URL] [--seconds 30] [--nodes 16] [--soak 10].

Without a URL it starts the demo for itself. Opens the page in a headless Chromium, lets it settle, watches it for a
while through the DevTools protocol and prints each figure beside its budget. Exit status 1 when a budget is missed.
Main thread and layouts are processor time and counts of the page's own thread, so that a busy machine does not count.
The whole page is there when the plots show what was recorded and Dash has taken the page over. Watching costs: with
the protocol's runtime domain on, as every such tool has it, Plotly's start takes about 0.6 s longer than for a visitor.

--soak: afterwards the page stays open for so many minutes; the heap after a collection is read every half minute, and
what it grew by is the difference between the medians of the last and the first third.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

SETTLE_S = 15.0
ROOT = Path(__file__).parent.parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FIRST_NUMBER = """
(() => {
  const look = () => {
    const place = document.querySelector('[data-cell="decode.now"] b');
    if (place && place.textContent && place.textContent !== "–") window.firstNumber = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""
PLOTTED = """() => { const graph = document.querySelector(".js-plotly-plot");
  return graph && graph.data && graph.data[0].y.length > 2; }"""
TAKEN_OVER = "() => !document.getElementById('first') && document.querySelector('#react-entry-point .js-plotly-plot')"
SOAK_EVERY_S = 30.0


@dataclass(frozen=True, slots=True)
class Budget:
    """One figure of the table: what it is, its unit, and the most it may be (None: shown only)."""

    key: str
    label: str
    most: float | None


BUDGETS = (
    Budget("main_thread", "main thread, ms/s", 80),
    Budget("layouts", "layouts per s", 4),
    Budget("heap", "heap after GC, MB", 25),
    Budget("elements", "DOM elements", 1500),
    Budget("wire", "wire, kB/s", 4),
    Budget("first", "first number, s", 1),
    Budget("plotted", "plots drawn, s", None),
    Budget("whole", "whole page, s", 3),
    Budget("load_cpu", "main thread till then, s", None),
    Budget("growth", "heap growth, MB", 1),
    Budget("errors", "console errors", 0),
    Budget("server_cpu", "server CPU, ms/s", None),
    Budget("server_rss", "server RSS, MB", None),
)


def process_cost(pid: int) -> tuple[float, float]:
    """CPU seconds used so far and resident MB of a process, from /proc."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def metrics(session: CDPSession) -> Mapping[str, float]:
    """Chromium's own counters of the page."""
    return {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}


def soak(page: Page, session: CDPSession, minutes: float) -> float:
    """MB that the heap grew by while the page stayed open for this long; prints each reading."""
    heaps = []
    for number in range(max(3, round(minutes * 60 / SOAK_EVERY_S) + 1)):
        if number:
            page.wait_for_timeout(SOAK_EVERY_S * 1000)
        session.send("HeapProfiler.collectGarbage")
        now = metrics(session)
        heaps.append(now["JSHeapUsedSize"] / 1e6)
        print(f"{number * SOAK_EVERY_S:5.0f} s: heap {heaps[-1]:6.2f} MB, nodes {now['Nodes']:.0f}, "
              f"listeners {now['JSEventListeners']:.0f}", flush=True)  # fmt: skip
    third = len(heaps) // 3
    return statistics.median(heaps[-third:]) - statistics.median(heaps[:third])


def watch(page: Page, url: str, seconds: float, pid: int | None, minutes: float = 0) -> dict[str, float]:
    """Open the page, wait until it is drawn, and measure it for this long."""
    session = page.context.new_cdp_session(page)
    received = [0.0]
    session.on("Network.dataReceived", lambda event: received.__setitem__(0, received[0] + _bytes(event)))
    session.send("Network.enable")
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(FIRST_NUMBER)
    started = time.monotonic()
    page.goto(url, wait_until="commit")
    page.wait_for_function(PLOTTED, timeout=60_000)
    plotted = time.monotonic() - started
    page.wait_for_function(TAKEN_OVER, timeout=60_000)
    whole, load_cpu = time.monotonic() - started, metrics(session)["TaskDuration"]
    time.sleep(5)
    session.send("HeapProfiler.collectGarbage")
    before, cost, began, received[0] = metrics(session), process_cost(pid) if pid else None, time.monotonic(), 0.0
    time.sleep(seconds)
    after, took, wire = metrics(session), time.monotonic() - began, received[0]
    cost_after = process_cost(pid) if pid else None
    session.send("HeapProfiler.collectGarbage")
    figures = {
        "main_thread": (after["TaskDuration"] - before["TaskDuration"]) * 1000 / took,
        "layouts": (after["LayoutCount"] - before["LayoutCount"]) / took,
        "heap": metrics(session)["JSHeapUsedSize"] / 1e6,
        "elements": page.evaluate("document.querySelectorAll('*').length"),
        "wire": wire / 1000 / took,
        "first": page.evaluate("window.firstNumber") / 1000,
        "plotted": plotted,
        "whole": whole,
        "load_cpu": load_cpu,
    }
    if cost and cost_after:
        figures |= {"server_cpu": (cost_after[0] - cost[0]) * 1000 / took, "server_rss": cost_after[1]}
    if minutes:
        figures["growth"] = soak(page, session, minutes)
    figures["errors"] = len(errors)
    for error in errors:
        print("console:", error, file=sys.stderr)
    return figures


def _bytes(event: Mapping[str, Any]) -> float:
    return float(event.get("encodedDataLength") or event.get("dataLength") or 0)


LARGE: Mapping[str, float | None] = {"main_thread": 120, "wire": None}
"""Budgets that are others beyond 16 nodes."""


def report(figures: Mapping[str, float], nodes: int) -> bool:
    """Print the table; whether every budget is kept."""
    kept = True
    for budget in BUDGETS:
        if budget.key not in figures:
            continue
        most = LARGE.get(budget.key, budget.most) if nodes > 16 else budget.most
        over = most is not None and figures[budget.key] > most
        kept = kept and not over
        limit = "" if most is None else f"≤ {most:g}"
        print(f"{budget.label:22} {figures[budget.key]:10.2f} {limit:>8}{'   over' if over else ''}")
    return kept


@contextmanager
def demo(nodes: int) -> Iterator[tuple[str, int]]:
    """The demo on a free port: its address, and the process of its web page."""
    command = [sys.executable, str(ROOT / "app.py"), "demo", "--port", "0", "--nodes", str(nodes)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        try:
            yield address, web_of(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def web_of(parent: int) -> int:
    """The process below this one that serves pages: the worker, which is the last of the chain that `web` began."""
    children = [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()]
    web = next(pid for pid in children if b"\0web\0" in Path(f"/proc/{pid}/cmdline").read_bytes() + b"\0")
    below = Path(f"/proc/{web}/task/{web}/children").read_text("ascii").split()
    return int(below[0]) if below else web


def measure(url: str, seconds: float, pid: int | None, chromium: str, minutes: float) -> dict[str, float]:
    """One browser, one page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        figures = watch(browser.new_page(viewport={"width": 1440, "height": 900}), url, seconds, pid, minutes)
        browser.close()
    return figures


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", help="a page that is served already")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--nodes", type=int, default=16, help="size of the demo's cluster")
    parser.add_argument("--pid", type=int, help="process of the web server at URL, for its CPU and memory")
    parser.add_argument("--soak", type=float, default=0, help="minutes over which the heap has to stay flat")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    if not Path(options.chromium).exists():
        print(f"there is no Chromium at {options.chromium}: nothing measured")
        return 0
    if options.url:
        figures = measure(options.url, options.seconds, options.pid, options.chromium, options.soak)
    else:
        with demo(options.nodes) as (address, pid):
            time.sleep(SETTLE_S)
            figures = measure(address, options.seconds, pid, options.chromium, options.soak)
    return 0 if report(figures, options.nodes) else 1


if __name__ == "__main__":
    sys.exit(main())
