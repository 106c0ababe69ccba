"""What the store costs: `python -m bench.store [DIRECTORY]`, or `--store URL` for an empty database elsewhere.

An hour of a cluster at 1 Hz: 16 nodes of 150 series and 2 engines of 220, made up but quantised as real readings are.
Prints CPU per commit, bytes, and the time of typical questions. Times are the best of five on a warm file.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from storage.records import Batch, Row, TargetRow
from storage.store import Store, open_store
from telemetry.model import Series

START_MS = 1_796_000_400_000
NODES, ENGINES, NODE_SERIES, ENGINE_SERIES = 16, 2, 150, 220
HOUR = 3600


class Target:
    """A made-up target: a third quantised gauges, a third counters, a third that hardly change."""

    def __init__(self, name: str, width: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.name = name
        self.series = tuple(Series(name, f"metric_{index:03d}", (("gpu", "0"),)) for index in range(width))
        self.gauges = np.round(random.random((HOUR, width // 3)) * 100, 1)
        self.counters = np.cumsum(random.integers(0, 10**6, (HOUR, width // 3)), axis=0).astype(float)
        self.constant = random.integers(0, 4, width - 2 * (width // 3)).astype(float)

    def values(self, tick: int) -> np.ndarray:
        """float64[series] at a tick."""
        return np.concatenate((self.gauges[tick], self.counters[tick], self.constant))


def targets() -> list[Target]:
    """The cluster."""
    nodes = [Target(f"spark-{index:02d}", NODE_SERIES, index) for index in range(NODES)]
    return nodes + [Target(f"engine-{index}", ENGINE_SERIES, 100 + index) for index in range(ENGINES)]


def fill(store: Store, cluster: list[Target], ticks: int) -> None:
    """Write an hour, and print what it cost."""
    layouts = {target.name: store.layout(target.name, target.series) for target in cluster}
    state = [TargetRow(entry.name, "node", "", 1000, "up", "", START_MS, START_MS) for entry in cluster]
    store.commit(Batch(targets=state), START_MS)
    cpu, took = 0.0, []
    for tick in range(ticks):
        at = START_MS + tick * 1000
        rows = [Row(at, entry.name, at + 40, layouts[entry.name], entry.values(tick)) for entry in cluster]
        used, began = time.process_time(), time.perf_counter()
        store.commit(Batch(rows=rows), at + 60)
        cpu += time.process_time() - used
        took.append((time.perf_counter() - began) * 1e3)
    written = resource.getrusage(resource.RUSAGE_SELF).ru_oublock * 512
    print(
        f"commit of {len(cluster)} rows: {cpu / ticks * 1e3:.2f} ms CPU; "
        f"on the clock {statistics.median(took):.1f} ms, worst {max(took):.1f}"
    )
    print(f"rows per second of CPU: {ticks * len(cluster) / cpu:.0f}")
    print(
        f"bytes per hour: {store.size_bytes() / ticks * HOUR / 1e6:.0f} MB in the file; written {written / 1e6:.0f} MB"
    )


def best(label: str, question: Callable[[], object], budget_ms: float | None = None) -> None:
    """Print the best of five, on the clock and of CPU."""
    clock, cpu = [], []
    for _ in range(5):
        used, began = time.process_time(), time.perf_counter()
        question()
        clock.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
    budget = f" (budget {budget_ms:.0f})" if budget_ms else ""
    print(f"{label}: {min(clock):.1f} ms, CPU {min(cpu):.1f} ms{budget}")


def ask(store: Store, ticks: int) -> None:
    """Time the typical questions."""
    last = START_MS + (ticks - 1) * 1000
    nodes = [f"spark-{index:02d}" for index in range(NODES)]
    recent = last - 299_000
    best("5 min x 16 nodes x 1 metric", lambda: store.frame(["metric_075"], nodes, recent, last), 10)
    best(
        "5 min x 16 nodes x 4 metrics",
        lambda: store.frame([f"metric_{i:03d}" for i in (3, 50, 75, 120)], nodes, recent, last),
    )
    best("1 h x 16 nodes x 1 metric", lambda: store.frame(["metric_075"], nodes, START_MS, last), 100)
    best(
        "1 h x 16 nodes x 4 metrics",
        lambda: store.frame([f"metric_{i:03d}" for i in (3, 50, 75, 120)], nodes, START_MS, last),
    )
    best("1 h x 1 node x everything", lambda: store.frame(lambda _: True, nodes[:1], START_MS, last))
    best("1 h x 1 engine x everything", lambda: store.frame(lambda _: True, ["engine-0"], START_MS, last))
    best("5 min of everything as rows", lambda: store.rows(start=recent))
    best("rows of one tick", lambda: store.rows(ticks=[last]))
    best("last row of every target", store.last_rows)
    best("commits after", lambda: store.commits_after(ticks - 3))
    best("prune of a minute", lambda: store.prune(START_MS + 60_000))


def main() -> None:
    """Build, ask, and leave nothing behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", help="where the file is made (default: the temporary directory)")
    parser.add_argument("--store", help="an empty store to fill instead, such as one on PostgreSQL; it is left full")
    parser.add_argument("--ticks", type=int, default=HOUR)
    options = parser.parse_args()
    cluster = targets()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        url = options.store or str(Path(directory) / "bench.db")
        store = open_store(url, writer=True, now_ms=START_MS)
        fill(store, cluster, options.ticks)
        ask(store, options.ticks)
        store.close()
    print(f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    sys.exit(main())
