"""What an export costs: `python -m bench.export [DIRECTORY]`.

Two hours at 1 Hz of 16 nodes of 60 series and 2 engines of 216, made up but quantised as real readings are: 1,392
series and ten million values. The hours are sealed, as those of yesterday are. Prints time and CPU of each form, the
time to the first piece and to the first rows, and the most memory that the process took so far.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dashboard.api import export as asked
from dashboard.sources import Sources
from exchange import formats
from exchange.extract import extract
from pipeline.tail import Tail
from storage.records import Batch, Row, TargetRow
from storage.store import Store, open_store
from telemetry import catalog
from telemetry.model import Kind, Metric, Scope, Series, Unit, part

START_MS = 1_796_000_400_000
HOUR_MS = 3_600_000
NODES, ENGINES, NODE_SERIES, SCALARS, HISTOGRAMS, EDGES = 16, 2, 60, 40, 8, 20
TICKS_AT_ONCE = 60
QUESTIONS = (
    ("wide CSV", "csv", {"raw": "1"}),
    ("long CSV", "csv", {"raw": "1", "layout": "long"}),
    ("wide CSV, packed", "csv", {"raw": "1", "gzip": "1"}),
    ("wide CSV of 10 s", "csv", {"step": "10s"}),
    ("wide SQLite", "sqlite", {"raw": "1"}),
    ("long SQLite", "sqlite", {"raw": "1", "layout": "long"}),
    ("wide Parquet", "parquet", {"raw": "1"}),
)
MIB = 1024 * 1024


def _plain(scope: Scope) -> list[Metric]:
    found = [one for one in asked.stored() if one.scope is scope and one.kind in (Kind.GAUGE, Kind.COUNTER)]
    names = tuple(one.name for one in catalog.METRICS if one.kind is Kind.HISTOGRAM)
    return [one for one in found if not one.name.startswith(names)]


def _labels(metric: Metric, number: int) -> tuple[tuple[str, str], ...]:
    return tuple((name, f"{name[0]}{number if name in metric.by[-1:] else 0}") for name in sorted(metric.by))


def _spread(target: str, metrics: list[Metric], count: int) -> list[tuple[Metric, Series]]:
    """So many series of these metrics, those with labels several times."""
    found: dict[Series, Metric] = {}
    for number in range(count):
        for metric in metrics:
            found.setdefault(Series(target, metric.name, _labels(metric, number)), metric)
            if len(found) == count:
                return [(metric, series) for series, metric in found.items()]
    raise ValueError(f"{target} has no {count} series")


def node(name: str) -> list[tuple[Metric, Series]]:
    """The series of a node."""
    return _spread(name, _plain(Scope.NODE), NODE_SERIES)


def engine(name: str) -> list[tuple[Metric, Series]]:
    """The series of an engine: scalars, and histograms with their buckets."""
    found = _spread(name, _plain(Scope.ENGINE), SCALARS)
    labels = (("engine", "0"), ("model", "moonshotai/Kimi-K3"))
    edges = [f"{0.001 * 1.6**place:.4g}" for place in range(EDGES - 1)] + ["+Inf"]
    for histogram in [one for one in catalog.METRICS if one.kind is Kind.HISTOGRAM][:HISTOGRAMS]:
        for name_of_part, more in (("sum", [()]), ("count", [()]), ("bucket", [(("le", edge),) for edge in edges])):
            metric = part(histogram, name_of_part)  # type: ignore[arg-type]
            found += [(metric, Series(name, metric.name, tuple(sorted((*labels, *one))))) for one in more]
    return found


def course(metric: Metric, ticks: int, random: np.random.Generator) -> np.ndarray:
    """float64[tick]: a third of the series hardly changes, gauges are quantised, counters grow."""
    if metric.kind is Kind.COUNTER:
        seconds = metric.unit is Unit.SECONDS
        return np.cumsum(np.round(random.random(ticks), 6) if seconds else random.integers(0, 40, ticks).astype(float))
    if random.random() < 1 / 3:
        return np.full(ticks, float(random.integers(0, 1000)))
    return np.round(60 + np.cumsum(random.normal(size=ticks)), 1)


def fill(store: Store, ticks: int) -> int:
    """Write and seal; number of values."""
    random = np.random.default_rng(1)
    shapes = {f"spark-{number + 1:02}": node for number in range(NODES)}
    shapes |= {f"head-{number}": engine for number in range(ENGINES)}
    series = {name: shape(name) for name, shape in shapes.items()}
    values = {name: np.array([course(metric, ticks, random) for metric, _ in mine]) for name, mine in series.items()}
    layouts = {name: store.layout(name, tuple(one for _, one in mine)) for name, mine in series.items()}
    kinds = {name: "node" if name.startswith("spark") else "engine" for name in series}
    state = [TargetRow(name, kinds[name], "", 1000, "ok", "", START_MS, START_MS) for name in series]
    store.commit(Batch(targets=state), START_MS)
    for low in range(0, ticks, TICKS_AT_ONCE):
        rows = [
            Row(START_MS + tick * 1000, name, START_MS + tick * 1000 + 40, layouts[name], values[name][:, tick])
            for tick in range(low, min(low + TICKS_AT_ONCE, ticks))
            for name in series
        ]
        store.commit(Batch(rows=rows), rows[-1].tick)
    now = START_MS + ticks * 1000 + HOUR_MS
    for target, hour in store.due(now):
        store.seal(target, hour, now)
    store.prune(now)
    return sum(len(mine) for mine in series.values()) * ticks


def made(sources: Sources, form: str, asked_for: dict[str, str]) -> Iterator[bytes]:
    """The file of an export."""
    wanted = asked.read(asked_for, sources)
    return formats.pieces(form, wanted, extract(wanted, sources), gzip="gzip" in asked_for)


def timed(make: Callable[[], Iterator[bytes]]) -> tuple[float, float, int, float, float]:
    """(seconds, CPU, bytes, seconds to the first piece, seconds to the second)."""
    began, used, size = time.perf_counter(), time.process_time(), 0
    reached: list[float] = []
    for piece in make():
        size += len(piece)
        reached.append(time.perf_counter() - began)
    first, second = reached[0], reached[min(1, len(reached) - 1)]
    return time.perf_counter() - began, time.process_time() - used, size, first, second


def ask(sources: Sources, ticks: int, values: int, times: int, only: str) -> None:
    """Print the least of some runs of each question."""
    last = {"metric": "all", "start": str(START_MS), "end": str(START_MS + ticks * 1000 - 1)}
    for name, form, more in [one for one in QUESTIONS if only in one[0]]:
        if form == formats.PARQUET and find_spec("pyarrow") is None:
            print(f"{name:18} not measured: pyarrow is not installed")
            continue
        runs = [timed(partial(made, sources, form, {**last, **more})) for _ in range(times)]
        wall, cpu, size, first, second = (min(one[place] for one in runs) for place in range(5))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"{name:18} {wall:6.2f} s, CPU {cpu:6.2f} s, {size / 1e6:7.1f} MB, {values / wall / 1e6:5.1f} M values/s, "
            f"first byte {first * 1e3:4.0f} ms, first rows {second * 1e3:4.0f} ms, memory so far {memory / MIB:.0f} MiB"
        )


def main() -> None:
    """Build, ask, and leave nothing behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", help="where the store is made (default: the temporary directory)")
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--only", default="", help="questions with this in their name")
    options = parser.parse_args()
    ticks = round(options.hours * 3600)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        store = open_store(str(Path(directory) / "bench.db"), writer=True, now_ms=START_MS)
        values = fill(store, ticks)
        print(f"{values / 1e6:.1f} M values, {store.size_bytes() / 1e6:.0f} MB in the store")
        now = START_MS + ticks * 1000
        ask(Sources(store, Tail(store), lambda: now), ticks, values, options.times, options.only)
        store.close()


if __name__ == "__main__":
    sys.exit(main())
