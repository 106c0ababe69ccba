"""Cells of latency: percentiles of a stated window with their count, by the rules of measurement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dashboard.live.cells import Cell, unknown, words
from dashboard.live.reasons import reason
from dashboard.live.scene import Scene
from telemetry import formatting
from telemetry.catalog import engine
from telemetry.counters import increase
from telemetry.frame import Frame, empty
from telemetry.histograms import NEEDED, Estimate, bucket_increases, estimate, window_start
from telemetry.model import Metric, Unit, part

HISTOGRAMS = {"ttft": engine.TTFT, "itl": engine.ITL}
LEVELS = {"p50": 0.5, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of one histogram over a window of `seconds`, with the number of observations."""

    estimates: dict[str, Estimate]
    count: float
    seconds: float


def percentiles(latency: Frame, tick: int, histogram: Metric, start_ms: float) -> Percentiles | None:
    """Percentiles from start to the tick over all engines; None where no engine tells its count."""
    frame = {name: _part(latency, histogram, name) for name in ("bucket", "sum", "count")}
    if not frame["count"].series:
        return None
    buckets = bucket_increases(frame["bucket"], start_ms, tick)
    total, count = (_gained(frame[name], start_ms, tick) for name in ("sum", "count"))
    if np.isnan(count):
        return None
    found = {name: estimate(buckets, total, count, level) for name, level in LEVELS.items()}
    began = max(start_ms, float(frame["count"].ticks[0]))
    return Percentiles(found, count, (tick - began) / 1000.0)


def _part(frame: Frame, histogram: Metric, name: str) -> Frame:
    wanted = part(histogram, name).name
    return frame.select(lambda series: series.metric == wanted)


def _gained(frame: Frame, start_ms: float, end_ms: float) -> float:
    gained = increase(frame, start_ms, end_ms)
    known = gained[~np.isnan(gained)]
    return float(known.sum()) if len(known) else float("nan")


def estimate_cell(found: Estimate, name: str, unit: Unit) -> Cell:
    """A percentile; where too little was observed, or its buckets are not known, the mean, which says so."""
    needed = NEEDED[LEVELS[name]]
    if found.value is None:
        return unknown("nothing was observed (in the window)")
    text, shown_unit = formatting.show(found.value, unit)
    if found.kind == "mean":
        why = f"{name} needs {needed}" if found.count < needed else "its buckets are not known"
        return [text, f"{shown_unit} mean".strip(), "ok", f"mean of {found.count:g}: {why}"]
    return [text if found.relation == "=" else f"{found.relation} {text}", shown_unit, "ok", ""]


def latency_cells(scene: Scene) -> dict[str, Cell]:
    """ttft.* and itl.*, each with its count and window: "of 212 in 5m 0s"."""
    latency = empty() if scene.latency is None else scene.latency
    counts = _part(latency, engine.TTFT, "count")
    start = window_start(counts, scene.tick)
    cells: dict[str, Cell] = {}
    for key, histogram in HISTOGRAMS.items():
        found = percentiles(latency, scene.tick, histogram, start)
        if found is None:
            why = unknown(reason(scene, histogram, part(histogram, "count"), otherwise="not offered by this engine"))
            cells |= {f"{key}.{name}": why for name in (*LEVELS, "window")}
            continue
        for name, one in found.estimates.items():
            cells[f"{key}.{name}"] = estimate_cell(one, name, histogram.unit)
        span = formatting.text(found.seconds, Unit.SECONDS)
        cells[f"{key}.window"] = words(f"of {formatting.text(found.count, Unit.COUNT)} in {span}")
    return cells
