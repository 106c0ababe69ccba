"""What the plots and maps start from: everything that was recorded in the shown time, nulls where nothing was."""

from __future__ import annotations

from typing import Any

import numpy as np

from dashboard.live import current
from dashboard.live.fleet import MAP, READINGS, TILE, lines
from dashboard.live.nodes import map_metrics, screen
from dashboard.live.points import known, outlier, prefill_line
from dashboard.live.scene import NODE_METRICS, Scene, names
from pipeline.tail import Tail
from telemetry.catalog import cluster
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Metric

LEAD_MS = 30_000
SPANS = ("util_min", "util_max", "util_outlier")
RECORDED: dict[str, Metric] = {
    "decode": cluster.RECORDED_DECODE,
    "util_mean": cluster.CLUSTER_UTILIZATION,
    "net": cluster.CLUSTER_TRANSMIT,
    "net_worst": cluster.CLUSTER_WORST_CAGE,
}


def history(scene: Scene, tail: Tail, span_ms: float) -> dict[str, Any]:
    """`history` of the bootstrap message: points and maps of the last `span_ms`; of no time, empty lists."""
    told = _recorded_history(scene, tail, span_ms) if span_ms > 0 else _nothing(scene)
    return told | {"node_cells": [reading.key for reading in TILE], "map_metrics": map_metrics()}


def _nothing(scene: Scene) -> dict[str, Any]:
    points: dict[str, list[Any]] = {name: [] for name in (*RECORDED, "prefill", *SPANS)}
    return {"t": [], "points": points, "map": {reading.key: [[] for _ in scene.node_targets] for reading in MAP}}


def _recorded_history(scene: Scene, tail: Tail, span_ms: float) -> dict[str, Any]:
    start = scene.tick - span_ms
    frame = tail.frame(names(NODE_METRICS), start_ms=start - LEAD_MS, end_ms=scene.tick)
    shown = scene.engines.between(start, scene.tick)
    ticks = np.union1d(frame.ticks[frame.ticks >= start], shown.ticks).astype(np.int64)
    by_reading = {reading.key: _placed(lines(frame, reading), frame.ticks, ticks) for reading in READINGS}
    order = [target.name for target in scene.node_targets]
    blank = np.full(len(ticks), np.nan)
    maps = {r.key: [screen(by_reading[r.key].get(name, blank), r) for name in order] for r in MAP}
    before = scene.engines.between(start - LEAD_MS, scene.tick)
    recorded = {name: _recorded(before, metric, ticks) for name, metric in RECORDED.items()}
    prefill = {"prefill": prefill_line(ticks, scene.episodes)}
    return {
        "t": ticks.tolist(),
        "points": recorded | prefill | _spans(by_reading["utilization"], len(ticks)),
        "map": maps,
    }


def _placed(found: dict[str, Floats], ticks: Ints, wanted: Ints) -> dict[str, Floats]:
    """Lines on other ticks, NaN where there is none."""
    places = np.searchsorted(wanted, ticks)
    inside = (places < len(wanted)) & np.isin(ticks, wanted)
    placed = {}
    for name, values in found.items():
        placed[name] = np.full(len(wanted), np.nan)
        placed[name][places[inside]] = values[inside]
    return placed


def _recorded(frame: Frame, metric: Metric, ticks: Ints) -> list[float | None]:
    """Sum of a recorded series at these ticks. The frame begins before them, so that what fell silent is missed."""
    part = frame.select(lambda series: series.metric == metric.name)
    placed = _placed({"": current.held_total(part)}, part.ticks, ticks)[""]
    return [known(value) for value in placed.tolist()]


def _spans(use: dict[str, Floats], count: int) -> dict[str, list[Any]]:
    """util_min, util_max and util_outlier at each tick."""
    found: dict[str, list[Any]] = {name: [] for name in SPANS}
    for place in range(count):
        values = {name: float(line[place]) for name, line in use.items() if np.isfinite(line[place])}
        found["util_min"].append(known(min(values.values())) if values else None)
        found["util_max"].append(known(max(values.values())) if values else None)
        found["util_outlier"].append(outlier(values))
    return found
