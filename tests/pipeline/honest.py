"""A node and an engine that keep a record of every page they gave, and a collector process that reads them.

Each page says its own number, so that the store must hold every number once; and a counter that grows by RATE a second
of real time, so that nothing may ever be faster.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from storage.store import Store, open_store
from telemetry.catalog import engine, host, memory
from telemetry.counters import trailing_increase
from telemetry.model import Metric
from tests.pipeline.served import serving

ROOT = Path(__file__).parents[2]
RATE = 1000.0
INTERVAL_S = 0.1
PATIENCE_S = 60.0
NODE = (
    f"tachograph_{memory.MEMORY_HEADROOM.name} {{number}}\ntachograph_{memory.SWAP_IN.name} {{counted}}\n"
    f"tachograph_{host.AGENT_MONOTONIC.name} {{now}}\n"
)
ENGINE = (
    'vllm:num_requests_running{{engine="0",model_name="m"}} {number}\n'
    'vllm:generation_tokens_total{{engine="0",model_name="m"}} {counted}\nprocess_start_time_seconds 1000\n'
)


@dataclass
class Honest:
    """One target. given: what each page counted, in order; `before` is called with a page's number before it is made,
    `after` when it is made and not yet sent."""

    page: str
    given: list[int] = field(default_factory=list)
    before: Callable[[int], None] = lambda _number: None
    after: Callable[[int], None] = lambda _number: None
    came: threading.Condition = field(default_factory=threading.Condition)

    def answer(self, where: str) -> tuple[int, bytes]:
        if where != "/metrics":
            return 404, b""
        self.before(len(self.given) + 1)
        with self.came:
            now = time.monotonic()
            self.given.append(int(now * RATE))
            number = len(self.given)
            self.came.notify_all()
        body = self.page.format(number=number, counted=self.given[-1], now=now).encode()
        self.after(number)
        return 200, body

    def wait_for_more(self, pages: int) -> None:
        """Until so many more pages were given."""
        with self.came:
            wanted = len(self.given) + pages
            assert self.came.wait_for(lambda: len(self.given) >= wanted, PATIENCE_S), "the collector does not ask"


@dataclass
class Scene:
    """The two targets, and the collector that reads them."""

    path: Path
    node: Honest
    engine: Honest
    process: subprocess.Popen[bytes]

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def stop(self) -> Store:
        """End the collector, which writes what it has; the store."""
        self.signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0
        return open_store(str(self.path), writer=False, now_ms=0)


@contextmanager
def scene(path: Path, wall_s: float = 0.0, interval_s: float = INTERVAL_S, zone: str = "UTC") -> Iterator[Scene]:
    """A collector that has begun to read; killed at the end where it still runs."""
    node, served = Honest(NODE), Honest(ENGINE)
    with serving(node.answer) as node_url, serving(served.answer) as engine_url:
        words = [str(path), node_url, engine_url, str(interval_s), str(wall_s)]
        command = [sys.executable, "-m", "tests.pipeline.shifted", *words]
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TZ": zone}, stderr=subprocess.DEVNULL)
        try:
            served.wait_for_more(1)
            yield Scene(path, node, served, process)
        finally:
            process.kill()
            process.wait()


def line(store: Store, target: str, metric: Metric) -> list[float]:
    """Every known value of a target's one series of a metric."""
    frame = store.frame([metric.name], [target], 0, 2**60)
    values = frame.values[0]
    return [float(value) for value in values[~np.isnan(values)]]


def check(found: Scene, store: Store, lost: int = 0) -> None:
    """Every page is a sample, once, in order, but so many that nobody waited for any more; and nothing is faster than
    it was."""
    for target, honest, number, counter in (
        ("node", found.node, memory.MEMORY_HEADROOM, memory.SWAP_IN),
        ("engine", found.engine, engine.REQUESTS_RUNNING, engine.GENERATION_TOKENS),
    ):
        numbers = [int(one) for one in line(store, target, number)]
        assert all(before < after for before, after in pairwise(numbers)), "none twice, and in order"
        assert len(set(range(1, len(honest.given) + 1)) - set(numbers)) <= lost, (target, numbers)
        counted = line(store, target, counter)
        assert counted == [honest.given[one - 1] - honest.given[numbers[0] - 1] for one in numbers]
        check_rates(store, target, counter)


def check_rates(store: Store, target: str, counter: Metric) -> None:
    """No trailing window gained more than its length allows, be pages half a second on the way, as on a busy machine.

    What was told late, and counted as if in a moment, would be two seconds in one.
    """
    frame = store.frame([counter.name], [target], 0, 2**60)
    for seconds in (1.0, 5.0, 10.0):
        gained = trailing_increase(frame, seconds * 1000)
        assert (gained[~np.isnan(gained)] <= RATE * (seconds + 0.5)).all(), (target, seconds, np.nanmax(gained))
