"""Our own answers to the questions, as the web process gives them: a tail in front of the store, ranges ending now."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.speed.asked import (
    BUCKETS,
    COUNTERS,
    CSV_MS,
    DAY_MS,
    DAY_POINTS,
    GAUGES,
    MONTH_POINTS,
    QUANTILES,
    RECENT_MS,
    RUN_MS,
    Questions,
    run_end_ms,
)
from bench.speed.workload import OPEN_HOUR_MS, POWER, Size
from dashboard.api import export
from dashboard.arenas import keep_few
from dashboard.sources import Sources
from exchange import formats
from exchange.extract import extract
from pipeline.tail import Tail
from storage.store import Store, open_store
from telemetry import catalog, reader
from telemetry.catalog import gpu
from telemetry.counters import increase
from telemetry.frame import Floats, Frame
from telemetry.histograms import bucket_increases, quantile
from telemetry.query import Query

FOLDS: Mapping[str, Callable[..., Floats]] = {"min": np.min, "max": np.max, "mean": np.mean}
LATEST_MS = 2500
"""How old a value may be that is shown as the latest."""
PROFILE_TIMES = 5
LIBRARIES = {
    "SQLite": ("sqlite3",),
    "SQLAlchemy": ("sqlalchemy",),
    "pcodec": ("pcodec",),
    "numpy": ("numpy", "ufunc"),
    "JSON": ("orjson",),
    "checksums": ("crc32",),
}
PACKAGES = ("storage", "telemetry", "exchange", "pipeline", "dashboard")


@dataclass(frozen=True)
class Web:
    """What the web process answers from."""

    store: Store
    sources: Sources
    size: Size


@contextmanager
def web(path: Path, size: Size) -> Iterator[Web]:
    """The store of the workload, its tail loaded, at the workload's own now; memory is kept as the web process does."""
    keep_few()
    store = open_store(str(path), writer=False, now_ms=size.now_ms)
    tail = Tail(store)
    tail.follow()
    try:
        yield Web(store, Sources(store, tail, lambda: size.now_ms), size)
    finally:
        store.close()


def from_file(store: Store, size: Size) -> Questions:
    """What is asked without a tail, as by the command line and the collector, whose memory is as glibc keeps it."""
    return {
        "latest": store.last_rows,
        "recent": lambda: store.frame([POWER], size.node_names(), size.now_ms - RECENT_MS, size.now_ms),
    }


def questions(of: Web) -> Questions:
    """What is asked of the web process."""
    now, nodes = of.size.now_ms, of.size.node_names()
    everything = [one.name for one in export.stored()]
    return {
        "latest_tail": lambda: latest(of.sources.recent.frame(everything, start_ms=now - LATEST_MS, end_ms=now)),
        "recent_tail": lambda: of.sources.frame([POWER], now - RECENT_MS, now, nodes),
        "day": lambda: history(cold(of), DAY_MS, DAY_POINTS),
        "day_again": partial(history, of, DAY_MS, DAY_POINTS, again=True),
        "month": lambda: history(cold(of), 30 * DAY_MS, MONTH_POINTS),
        "month_again": partial(history, of, 30 * DAY_MS, MONTH_POINTS, again=True),
        "summary": partial(summary, of, run_end_ms(of.size)),
        "summary_now": partial(summary, of, now),
        "percentiles": partial(percentiles, of, run_end_ms(of.size)),
        "csv": partial(csv, of),
    }


def latest(frame: Frame) -> Floats:
    """The newest known value of each series."""
    known = ~np.isnan(frame.values)
    place = known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    return np.take_along_axis(frame.values, place[:, np.newaxis], axis=1)[:, 0]


def cold(of: Web) -> Web:
    """The same without what the web keeps of answers before: of summaries, and of bins."""
    return replace(of, sources=Sources(of.store, of.sources.tail, of.sources.clock))


def history(of: Web, span_ms: int, points: int, *, again: bool = False) -> reader.Answer:
    """Least, mean and largest of a range that ends now. again: with what the web keeps of earlier answers."""
    now = of.size.now_ms
    nodes = frozenset(of.size.node_names())
    query = Query(gpu.GPU_POWER, now - span_ms, now, points, targets=nodes)
    return reader.read(query, of.sources, keeper=of.sources.kept if again else None)


def summary(of: Web, end: int) -> tuple[dict[str, Floats], Floats]:
    """Of gauges least, largest, mean and percentiles, of counters the increase, over the two hours before."""
    nodes = of.size.node_names()
    own = of.sources.frame if end > OPEN_HOUR_MS else lambda *asked: of.store.frame(asked[0], asked[3], *asked[1:3])
    frame = own(GAUGES, end - RUN_MS + 1, end, nodes)
    found = {name: fold(frame.values, axis=1) for name, fold in FOLDS.items()}
    found |= zip(map(str, QUANTILES), np.quantile(frame.values, QUANTILES, axis=1), strict=True)
    return found, increase(of.store.ends(COUNTERS, nodes, end - RUN_MS, end), end - RUN_MS, end)


def percentiles(of: Web, end: int) -> list[tuple[float, str] | None]:
    """Of all observations of the two hours before, by histogram and engine, from two points of each bucket."""
    start = end - RUN_MS
    frame = of.store.ends(BUCKETS, None, start, end)
    found = []
    for bucket in BUCKETS:
        for target in sorted({one.target for one in frame.series}):
            mine = frame.select(lambda one, bucket=bucket, target=target: (one.metric, one.target) == (bucket, target))
            increases = bucket_increases(mine, start, end)
            found += [quantile(increases, one) for one in QUANTILES]
    return found


def csv(of: Web) -> int:
    """Every sample of every series of the last two hours as the export writes it; bytes."""
    start, end = of.size.now_ms - CSV_MS, of.size.now_ms
    wanted = export.read({"metric": "all", "raw": "1", "start": str(start), "end": str(end)}, of.sources)
    return sum(map(len, formats.csv(extract(wanted, of.sources))))


def checks(of: Web) -> dict[str, dict[str, float]]:
    """Count, least, largest and sum of POWER over a day, by node: what everybody must say the same of."""
    frame = of.sources.frame([POWER], of.size.now_ms - DAY_MS + 1, of.size.now_ms, of.size.node_names())
    names = [one.target for one in frame.series]
    known = ~np.isnan(frame.values)
    found = {
        "count_over_time": known.sum(axis=1),
        "min_over_time": np.nanmin(frame.values, axis=1),
        "max_over_time": np.nanmax(frame.values, axis=1),
        "sum_over_time": np.nansum(frame.values, axis=1),
    }
    return {name: dict(zip(names, values.tolist(), strict=True)) for name, values in found.items()}


def profile(question: Callable[[], object]) -> str:
    """Where the processor's time of a question goes, by library and by our packages: shares."""
    watch = cProfile.Profile(time.process_time)
    question()
    watch.enable()
    for _ in range(PROFILE_TIMES):
        question()
    watch.disable()
    areas: dict[str, float] = {}
    for (file, _, function), numbers in pstats.Stats(watch).stats.items():  # type: ignore[attr-defined]
        area = _area(file, function)
        areas[area] = areas.get(area, 0.0) + numbers[2]
    whole = sum(areas.values())
    return ", ".join(f"{area} {took / whole:.0%}" for area, took in sorted(areas.items(), key=lambda one: -one[1]))


def _area(file: str, function: str) -> str:
    for name, signs in LIBRARIES.items():
        if any(sign in file or sign in function for sign in signs):
            return name
    for package in PACKAGES:
        if f"/{package}/" in file:
            return f"{package}/"
    return "Python"


assert catalog.find(POWER) is gpu.GPU_POWER
