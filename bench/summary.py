"""What a run's summary costs: `python -m bench.summary [DIRECTORY]`.

Two hours of 16 nodes and one engine at 1 Hz in a store, once with every full hour sealed and once with the last hour
as rows: as a page asks, which has those in its tail, and out of the file alone, as the collector does once at a run's
end. Values are made up, but series are the catalogue's, and most error counters stand still as they do. Prints
the best of five on the clock, and what they take of CPU.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.speed.cost import best
from dashboard.live_reader import LiveReader
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.reader import StoreReader
from runs.subject import Member, Subject
from runs.summary import summarise
from storage.records import Batch, Episode, Row, TargetRow
from storage.store import Store, open_store
from telemetry import catalog
from telemetry.catalog import engine
from telemetry.model import PARTS, Kind, Metric, Scope, Series, part

HOUR_MS = 3_600_000
START_MS = 1_796_000_400_000 // HOUR_MS * HOUR_MS
NODES = 16
SECONDS = 7200
BUDGET_MS = 150
LABELS = {
    "gpu": ("0",),
    "reason": ("power_cap", "thermal_software", "thermal_hardware", "power_brake", "sync_boost"),
    "cage": ("p0", "p1"),
    "function": ("a", "b"),
    "counter": tuple(f"counter_{number}" for number in range(6)),
    "rail": ("sys_total", "gpu"),
}
EDGES = (0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 40.0, 160.0, np.inf)


def series_of(target: str, scope: Scope) -> tuple[Series, ...]:
    """Every stored series of a target."""
    found = []
    for metric in catalog.METRICS:
        if isinstance(metric, Metric) and metric.scope is scope:
            parts = [part(metric, name) for name in PARTS] if metric.kind is Kind.HISTOGRAM else [metric]
            found += [Series(target, one.name, labels) for one in parts for labels in _labels(one.by)]
    return tuple(found)


def _labels(by: tuple[str, ...]) -> list[tuple[tuple[str, str], ...]]:
    combinations: list[tuple[tuple[str, str], ...]] = [()]
    known = {**LABELS, "le": tuple(map(str, EDGES)), "engine": ("0",), "model": ("org/model",)}
    known |= {"outcome": engine.OUTCOMES, "position": tuple("01234567")}
    for name in by:
        combinations = [(*one, (name, value)) for one in combinations for value in known.get(name, ("x",))]
    return combinations


def values_of(series: tuple[Series, ...], seed: int) -> np.ndarray:
    """float64[second, series]: counters that rise, gauges that waver."""
    random = np.random.default_rng(seed)
    values = np.empty((SECONDS, len(series)))
    for column, one in enumerate(series):
        metric = catalog.stored(one.metric)
        if metric.kind is Kind.COUNTER:
            steps = random.integers(0, 10**7 if "bytes" in one.metric else 40, SECONDS)
            still = one.label("counter") not in (None, "counter_0") or one.label("reason") not in (None, "power_cap")
            values[:, column] = 0.0 if still else np.cumsum(steps)
        elif metric.kind is Kind.STATE:
            values[:, column] = np.repeat(random.integers(1, 4, SECONDS // 60), 60)
        else:
            values[:, column] = np.round(50 + random.random(SECONDS) * 30, 1)
    buckets = [column for column, one in enumerate(series) if one.label("le")]
    values[:, buckets] = np.sort(values[:, buckets], axis=1)
    return values


def fill(store: Store) -> list[str]:
    """Two hours of everything; names of the nodes."""
    nodes = [f"spark-{number:02d}" for number in range(NODES)]
    kinds = dict.fromkeys(nodes, Scope.NODE) | {"head": Scope.ENGINE}
    every = {name: series_of(name, scope) for name, scope in kinds.items()}
    values = {name: values_of(every[name], seed) for seed, name in enumerate(kinds)}
    layouts = {name: store.layout(name, every[name]) for name in kinds}
    state = [TargetRow(name, "node", "", 1000, "ok", "", START_MS, START_MS) for name in kinds]
    store.commit(Batch(targets=state), START_MS)
    for low in range(0, SECONDS, 30):
        rows = [
            Row(START_MS + second * 1000, name, START_MS + second * 1000 + 40, layouts[name], values[name][second])
            for second in range(low, low + 30)
            for name in kinds
        ]
        episode = Episode("model", "head", "0", START_MS + low * 1000, START_MS + low * 1000 + 9000, 9000, 9.0)
        store.commit(Batch(rows=rows, episodes=[episode]), START_MS + low * 1000)
    print(f"series: {len(every['head'])} of the engine, {len(every[nodes[0]])} of a node")
    return nodes


def tell(label: str, question: Callable[[], object], budget_ms: float = BUDGET_MS) -> None:
    """Print the best of five."""
    found = best(question, 5, time.process_time)
    print(f"{label}: {found.clock_ms:.1f} ms, CPU {found.cpu_ms:.1f} ms (budget {budget_ms:g})")


def main() -> None:
    """Build, ask, and leave nothing behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", help="where the file is made (default: the temporary directory)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        store = open_store(str(Path(directory) / "bench.db"), writer=True, now_ms=START_MS)
        nodes = fill(store)
        reader = StoreReader(store)
        whole = Subject("model", START_MS, START_MS + (SECONDS - 1) * 1000, [Member("head", "0")], nodes)
        part_of = Subject("model", START_MS + 5_000_000, START_MS + 5_600_000, [Member("head", "0")], nodes)
        for hour, label in ((START_MS, "the last hour as rows"), (START_MS + HOUR_MS, "all sealed")):
            for target in (*nodes, "head"):
                store.seal(target, hour, START_MS + 3 * HOUR_MS)
            tail = Tail(store)
            tail.follow()
            page = LiveReader(Sources(store, tail, lambda: whole.end_ms))
            assert summarise(whole, page) == summarise(whole, reader), "a page says the same"
            tell(f"2 h, {label}, on a page", lambda page=page: summarise(whole, page))  # type: ignore[misc]
            tell(f"10 min of it, {label}, on a page", lambda page=page: summarise(part_of, page))  # type: ignore[misc]
            tell(f"2 h, {label}, from the file alone", lambda: summarise(whole, reader))
            tell(f"10 min of it, {label}, from the file alone", lambda: summarise(part_of, reader))
        store.close()


if __name__ == "__main__":
    sys.exit(main())
