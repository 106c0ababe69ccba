"""Latencies of a stretch: means, and percentiles with the number of observations that they rest on."""

from __future__ import annotations

from runs.entries import Entry, Number, Section
from runs.rows import of
from runs.stretch import Stretch
from telemetry.catalog import engine
from telemetry.histograms import NEEDED, bucket_increases, estimate
from telemetry.model import Metric, part

LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
ROWS: dict[str, Metric] = {
    "ttft": engine.TTFT,
    "itl": engine.ITL,
    "tpot": engine.TPOT,
    "e2e": engine.E2E,
    "queue": engine.QUEUE_TIME,
}
FAILED = "not known: buckets differ between engines, or came during the stretch"


def section(stretch: Stretch) -> Section:
    """Mean, p50, p95 and p99 of each histogram."""
    entries = [one for key, metric in ROWS.items() for one in _of(stretch, key, metric)]
    return Section("latency", "Latency", tuple(entries))


def _of(stretch: Stretch, key: str, metric: Metric) -> list[Entry]:
    total, count = (stretch.gained(part(metric, name)) for name in ("sum", "count"))
    if count != count:
        return [number.entry(None, why="not offered by this engine") for number in _numbers(key, metric)]
    mean, *levels = _numbers(key, metric)
    if not count > 0:
        return [number.entry(None, count=0.0, why="nothing was observed") for number in (mean, *levels)]
    buckets = bucket_increases(of(stretch.counts, part(metric, "bucket")), stretch.start_ms, stretch.end_ms)
    entries = [mean.entry(total / count, count=count)]
    for number, (name, level) in zip(levels, LEVELS.items(), strict=True):
        found = estimate(buckets, total, count, level)
        if found.kind == "percentile":
            entries.append(number.entry(found.value, count=count, relation=found.relation))
        else:
            few = f"{name} needs {NEEDED[level]} observations, there are {count:g}"
            entries.append(number.entry(None, count=count, why=few if count < NEEDED[level] else FAILED))
    return entries


def _numbers(key: str, metric: Metric) -> list[Number]:
    """The mean and the percentiles of a histogram."""
    mean = Number(f"{key}_mean", f"{metric.label}, mean", metric.unit, f"{metric.help} Sum ∕ count of the stretch.")
    levels = [
        Number(
            f"{key}_{name}",
            f"{metric.label}, {name}",
            metric.unit,
            f"{metric.help} Linear inside the bucket that holds the {name[1:]}th percentile of the stretch; needs "
            f"{NEEDED[level]} observations. A bound where that is the first or the last bucket.",
        )
        for name, level in LEVELS.items()
    ]
    return [mean, *levels]
