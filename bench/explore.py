"""What Explore costs: python -m bench.explore [--directory KEPT] [--rounds 4] [--hours 24].

Makes a store of 24 hours and 40 minutes of 16 nodes (once, where a directory is kept), starts the web page over it, and
lets a headless Chromium click through Explore: four metrics, 128 of whose lines are the cages of the interconnect. Each
figure stands beside its budget; exit status 1 where one is missed.

first: nothing of the range was looked at before; again: as when going back. The clock is that of the browser, from the
click to the frame after the last of the four charts; processor time is that of the web process, per answer. Every round
has a web process of its own, and each figure is the best of the rounds: a busy machine is no property of the page.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from bench.page import FLAGS, metrics
from bench.speed.fill import fill
from bench.speed.server import running
from bench.speed.workload import Size
from storage.store import open_store

ROOT = Path(__file__).parent.parent

METRICS = (
    "gpu_power_watts",
    "gpu_sm_clock_hertz",
    "gpu_temperature_celsius",
    "interconnect_transmit_bytes_per_second",
)
STORE = "explore.db"
READY = '.explore-body[data-state="ready"]'
WATCH = """
(() => {
  window.spent = { begun: 0, drawn: 0 };
  const begin = () => { window.spent = { begun: performance.now(), drawn: 0, started: false }; };
  addEventListener("click", (event) => event.target.closest("[data-length]") && begin(), true);
  addEventListener("pointerup", (event) => event.target.matches(".explore-over") && begin(), true);
  const look = () => {
    const { spent } = window, state = document.querySelector(".explore-body")?.dataset.state;
    if (state === "loading") spent.started = true;
    if (spent.started && state === "ready" && !spent.drawn) spent.drawn = performance.now();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """One figure of the table, and the most it may be (None: shown only)."""

    key: str
    label: str
    most: float | None


BUDGETS = (
    Budget("first", "24 h first, click to drawn, ms", 1000),
    Budget("first_cpu", "  web, ms of processor per answer", None),
    Budget("first_page", "  browser's main thread, ms", None),
    Budget("again", "24 h again, click to drawn, ms", 1000),
    Budget("again_cpu", "  web, ms of processor per answer", 60),
    Budget("zoom", "zoom, release to drawn, ms", 400),
    Budget("zoom_cpu", "  web, ms of processor per answer", 60),
    Budget("zoom_page", "  browser's main thread, ms", None),
    Budget("deep", "zoom of the zoom, release to drawn, ms", 400),
    Budget("deep_cpu", "  web, ms of processor per answer", 60),
    Budget("back", "double click to drawn, ms", 400),
    Budget("idle_rss", "web, MiB before the first click", None),
    Budget("peak_rss", "web, MiB at most", 250),
    Budget("errors", "console errors", 0),
)


def cpu_ms(pid: int) -> float:
    """Processor time of all threads of a process, from the scheduler's own nanoseconds."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue  # it has ended meanwhile
    return found / 1e6


def resident_mib(pid: int, word: str) -> float:
    """VmRSS or VmHWM (the most so far) of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(word)) / 1024


@contextmanager
def web(store: Path) -> Iterator[tuple[str, int]]:
    """The web page over a store, when it holds the last hour: its address and the process that answers."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, str(ROOT / "app.py"), "web", "--store", f"sqlite:///{store}", "--port"]
        with running(lambda port: [*command, str(port)], "/api/v1/status", Path(home) / "log") as server:
            while json.loads(server.get("/api/v1/live", {"minutes": 0}))["tick"] is None:
                time.sleep(0.2)
            yield f"http://127.0.0.1:{server.port}", worker_of(server.process)


def worker_of(master: int) -> int:
    """The process that answers: the last of the chain that the master began."""
    below = Path(f"/proc/{master}/task/{master}/children").read_text("ascii").split()
    return int(below[0]) if below else master


class Visit:
    """One page of Explore over one web process, and what each step of it took."""

    def __init__(self, page: Page, pid: int) -> None:
        self.page, self.pid = page, pid
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def step(self, act: Any, key: str) -> dict[str, float]:
        """Act, wait until all is drawn: {key: ms on the clock, key_cpu, key_page}."""
        before, page_before = cpu_ms(self.pid), metrics(self.session)["TaskDuration"]
        act()
        self.page.wait_for_function("() => window.spent.drawn", timeout=60_000, polling=100)
        spent = self.page.evaluate("window.spent")
        used = (cpu_ms(self.pid) - before) / len(METRICS)
        busy = (metrics(self.session)["TaskDuration"] - page_before) * 1000
        return {key: spent["drawn"] - spent["begun"], f"{key}_cpu": used, f"{key}_page": busy}

    def preset(self, label: str) -> None:
        """Click a length that ends now."""
        self.page.get_by_role("radio", name=label, exact=True).click()

    def drag(self, start: float, end: float) -> None:
        """Drag over a share of the first chart."""
        box = self.page.locator(".explore-over").first.bounding_box()
        assert box is not None
        left, width, y = box["x"] + 56, box["width"] - 64, box["y"] + box["height"] / 2
        self.page.mouse.move(left + start * width, y)
        self.page.mouse.down()
        self.page.mouse.move(left + end * width, y, steps=3)
        self.page.mouse.up()

    def settle(self) -> None:
        """Until the page is ready, and what it fetches beside is there."""
        self.page.wait_for_selector(READY)
        self.page.wait_for_timeout(1500)


def visit(page: Page, address: str, pid: int) -> dict[str, float]:
    """Through Explore once."""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(WATCH)
    page.goto(f"{address}/explore?metric={','.join(METRICS)}&start=-5m")
    one = Visit(page, pid)
    one.settle()
    page.wait_for_function("() => !document.getElementById('first')")
    found = {"idle_rss": resident_mib(pid, "VmRSS")}
    found |= one.step(lambda: one.preset("24 h"), "first")
    one.settle()
    one.step(lambda: one.preset("15 m"), "short")
    one.settle()
    found |= one.step(lambda: one.preset("24 h"), "again")
    one.settle()
    found |= one.step(lambda: one.drag(0.4, 0.57), "zoom")
    one.settle()
    found |= one.step(lambda: one.drag(0.4, 0.57), "deep")
    one.settle()
    found |= back(one)
    for label in ("6 h", "7 d", "24 h", "1 h"):
        one.step(lambda label=label: one.preset(label), "more")  # type: ignore[misc]
        one.settle()
    found["peak_rss"], found["errors"] = resident_mib(pid, "VmHWM"), len(errors)
    return found


def back(one: Visit) -> dict[str, float]:
    """One step out: the same range was drawn before."""
    return one.step(lambda: one.page.locator(".explore-over").first.dblclick(), "back")


def report(rounds: list[dict[str, float]]) -> bool:
    """Print the table, the best and the middle of the rounds; whether every budget is kept."""
    kept = True
    print(f"{'':42}{'best':>9}{'middle':>9}{'budget':>9}")
    for budget in BUDGETS:
        values = [one[budget.key] for one in rounds]
        told = max(values) if budget.key in ("peak_rss", "errors") else min(values)
        over = budget.most is not None and told > budget.most
        kept = kept and not over
        limit = "" if budget.most is None else f"≤ {budget.most:g}"
        middle = statistics.median(values)
        print(f"{budget.label:42}{told:9.1f}{middle:9.1f}{limit:>9}{'   over' if over else ''}")
    return kept


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", type=Path, help="where the store is kept for the next time")
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    if not Path(options.chromium).exists():
        print(f"there is no Chromium at {options.chromium}: nothing measured")
        return 0
    with tempfile.TemporaryDirectory() as passing:
        store = (options.directory or Path(passing)).resolve() / STORE
        if not store.exists():
            store.parent.mkdir(parents=True, exist_ok=True)
            fill(store, Size(hours=options.hours, days=0), print)
        # One that was kept may be of an older version.
        open_store(str(store), writer=True, now_ms=Size().now_ms).close()
        return 0 if report([measure(store, options.chromium) for _ in range(options.rounds)]) else 1


def measure(store: Path, chromium: str) -> dict[str, float]:
    """One browser, one web process, one way through Explore."""
    with web(store) as (address, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        found = visit(browser.new_page(viewport={"width": 1440, "height": 900}), address, pid)
        browser.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
