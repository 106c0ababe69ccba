"""What a run's timeline shows: tokens, requests, KV cache, phases, prefills, the nodes, and what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dashboard.api.lists import numbers
from dashboard.live.fleet import MAP, Reading
from dashboard.run_alerts import alerts_of
from dashboard.run_numbers import RunNumbers
from dashboard.run_view import View, middle, placed, series_json, short
from runs.loads import ORDER, busiest
from runs.reader import LEAD_MS
from telemetry import formatting
from telemetry.catalog import cluster, engine
from telemetry.fleet import fold
from telemetry.frame import Floats, Ints
from telemetry.model import Metric, Ratio, Series, Unit
from telemetry.query import Line
from telemetry.reader import Answer

RECORDED = {"decode": cluster.RECORDED_DECODE, "running": cluster.DEPLOYMENT_RUNNING}
OF_ENGINES = {"waiting": engine.REQUESTS_WAITING, "kv": engine.KV_CACHE_USAGE}
OVERVIEW_POINTS = 400
MOST_PHASES_MS = 3 * 86_400_000
"""Phases are of single samples; of longer stretches they are left out."""
Notes = Callable[[int, int], list[dict[str, Any]]]
"""People's annotations between two instants."""
READINGS = {reading.key: reading for reading in MAP}


def timeline(view: View, numbers_of: RunNumbers, notes: Notes, reading: Reading) -> dict[str, Any]:
    """{start, end, why, lines, phases, prefills, map, marks, overview, readings}: docs/api.md says more.

    overview: decode of the whole run, where the view is a part of it.
    """
    start, end = view.run.window(view.sources.now_ms())
    part = (view.start_ms, view.end_ms) != (start, end)
    whole = replace(view, start_ms=start, end_ms=end, points=OVERVIEW_POINTS)
    return {
        "run": [start, end],
        "start": view.start_ms,
        "end": view.end_ms,
        "live": view.run.live,
        "why": view.why,
        "lines": {**{key: recorded(view, metric) for key, metric in RECORDED.items()}, **of_engines(view)},
        "overview": recorded(whole, cluster.RECORDED_DECODE) if part else None,
        "phases": phases(view),
        "prefills": prefills(view),
        "map": node_map(view, reading),
        "marks": happened(view, numbers_of, notes),
        "readings": [readable(one) for one in MAP],
    }


def readable(reading: Reading) -> dict[str, Any]:
    """What a map of a reading needs to be drawn: values are in the base unit, `unit` and `scale` make them readable.

    Only shares have fixed ends: of all else the colours follow what was seen, so that nodes differ from each other.
    """
    axis = formatting.AXES[reading.unit]
    ends = (reading.low, reading.high) if reading.unit is Unit.RATIO else (None, None)
    return {
        "key": reading.key,
        "label": reading.label,
        "unit": axis.unit,
        "scale": axis.scale,
        "base": reading.unit.value,
        "low": ends[0],
        "high": ends[1],
    }


def recorded(view: View, metric: Metric) -> dict[str, Any]:
    """A recorded series of the deployment."""
    found = view.ask(metric, {f"{cluster.DEPLOYMENT_PREFIX}{view.run.deployment}"})
    return series_json(metric, found, found.lines)


def of_engines(view: View) -> dict[str, Any]:
    """Gauges of the run's engines as one line each: a sum where the catalogue adds them, else the largest."""
    told = {}
    for key, metric in OF_ENGINES.items():
        found = view.ask(metric, view.engines)
        lines = [line for line in found.lines if owned(view, metric, line)]
        told[key] = series_json(metric, found, together(lines, metric) if len(lines) > 1 else lines)
    return told


def owned(view: View, metric: Metric, line: Line) -> bool:
    """Whether a line is of one of the run's engines."""
    labels = tuple(sorted((key, value) for key, value in line.labels.items() if key != "target"))
    series = Series(line.labels["target"], metric.name, labels)
    return any(one.owns(series) for one in view.run.engines)


def together(lines: Sequence[Line], metric: Metric) -> list[Line]:
    """Lines of several engines as one of means: folded as the catalogue says; a sum is unknown while one of them is."""
    t_ms = np.unique(np.concatenate([line.t_ms for line in lines]))
    values = np.array([placed(line, t_ms) for line in lines])
    folded = values.sum(axis=0) if metric.across.value == "sum" else fold(values, metric.across)
    return [Line({}, t_ms, folded)]


def phases(view: View) -> list[tuple[int, int, str]]:
    """(from, to, phase) of the deployment in bins of the view's width, rising; what follows on itself as one."""
    span = view.end_ms - view.start_ms
    if view.kept is not None:
        return _kept_phases(view)
    if view.why or not 0 < span <= MOST_PHASES_MS:
        return []
    frame = view.sources.frame([engine.ENGINE_PHASE.name], view.start_ms - LEAD_MS, view.end_ms, view.engines)
    frame = frame.select(lambda series: any(one.owns(series) for one in view.run.engines))
    inside = frame.ticks >= view.start_ms
    ticks, ranks = frame.ticks[inside], busiest(frame)[inside]
    if not len(ticks):
        return []
    width = max(-(-span // view.points), view.sources.step_ms())
    place = (ticks - view.start_ms) // width
    counts = np.zeros((int(place[-1]) + 1, len(ORDER)), dtype=np.int64)
    np.add.at(counts, (place, ranks), 1)
    return _spans(counts, view, width, max(frame.gap_ms.tolist(), default=0.0))


def _kept_phases(view: View) -> list[tuple[int, int, str]]:
    """The same from the charts kept with the run, where one engine's phases are in them."""
    found = view.ask(engine.ENGINE_PHASE, view.engines, every=True)
    if len(found.lines) != 1:
        return []
    line, codes = found.lines[0], middle(found.lines[0])
    edges = np.flatnonzero(np.diff(np.where(np.isnan(codes), -1.0, codes), prepend=-2.0)).tolist()
    spans = zip(edges, [*edges[1:], len(codes)], strict=True)
    t_ms = [*line.t_ms.tolist(), int(line.t_ms[-1]) + found.step_ms if len(line.t_ms) else 0]
    return [(t_ms[low], t_ms[high], engine.PHASES[int(codes[low])]) for low, high in spans if codes[low] >= 0]


def _spans(counts: Ints, view: View, width: int, gap_ms: float) -> list[tuple[int, int, str]]:
    """Each bin's most frequent phase, which lasts over bins without a reading, but not over a gap."""
    first = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    read = np.flatnonzero(first >= 0)
    for low, high in zip(read[:-1].tolist(), read[1:].tolist(), strict=True):
        if (high - low) * width <= gap_ms:
            first[low:high] = first[low]
    edges = np.flatnonzero(np.diff(first, prepend=-2))
    found = []
    for low, high in zip(edges.tolist(), [*edges[1:].tolist(), len(first)], strict=True):
        if first[low] >= 0:
            until = min(view.start_ms + high * width, view.end_ms)
            found.append((view.start_ms + low * width, until, engine.PHASES[ORDER[first[low]].value]))
    return found


def prefills(view: View) -> list[tuple[int, int, int | None, float | None]]:
    """(from, to, computed tokens, length in seconds) of the prefills that overlap the view."""
    found = view.sources.store.episodes(view.run.deployment, view.start_ms, view.end_ms)
    return [(one.start_ms, one.end_ms, one.tokens, one.seconds) for one in found]


def by_node(found: Answer, reading: Reading, nodes: Sequence[str]) -> tuple[Ints, Floats]:
    """(instants, float64[node, instant]) of a reading: GPUs folded as the catalogue says, cages added up."""
    lines = [line for line in found.lines if len(line.t_ms)]
    t_ms = np.unique(np.concatenate([line.t_ms for line in lines])) if lines else np.zeros(0, dtype=np.int64)
    values = np.full((len(nodes), len(t_ms)), np.nan)
    for row, node in enumerate(nodes):
        own = np.array([placed(line, t_ms) for line in lines if line.labels.get("target") == node])
        if len(own) == 1:
            values[row] = own[0]
        elif len(own):
            metric = reading.metric
            values[row] = own.sum(axis=0) if isinstance(metric, Ratio) else fold(own, metric.across)
    return t_ms, values


def node_map(view: View, reading: Reading) -> dict[str, Any]:
    """{key, t, step_ms, nodes, v}: means of a reading, a row per node."""
    found = view.ask_nodes(reading.metric, view.nodes)
    t_ms, values = by_node(found, reading, view.nodes)
    told = {"t": numbers(t_ms), "step_ms": found.step_ms, "nodes": view.nodes, "v": numbers(short(values))}
    return {"key": reading.key, **told}


def happened(view: View, numbers_of: RunNumbers, notes: Notes) -> list[dict[str, Any]]:
    """Marks of the run, events in it, alerts and people's annotations that touch the view, by time."""
    run, start, end = view.run, view.start_ms, view.end_ms
    marks = view.sources.store.marks(run.id)
    found = [{"t": one.at_ms, "kind": one.kind, "text": one.text, "target": ""} for one in marks]
    found += numbers_of.events(run)
    if run.end_ms is not None and run.ended:
        found.append({"t": run.end_ms, "kind": "end", "text": run.ended, "target": ""})
    inside = [{**one, "end": None} for one in found if start <= one["t"] <= end]
    ours = notes(start, end) if run.own else []
    mine = [{**one, "kind": "annotation", "target": ""} for one in ours]
    return sorted([*inside, *mine, *alarms(view)], key=lambda one: int(one["t"]))


def alarms(view: View) -> list[dict[str, Any]]:
    """Alerts that fired for a while of the view, those that follow from another left out."""
    return alerts_of(view.sources.store, view.run, view.start_ms, view.end_ms)


def node_lines(view: View, node: str) -> dict[str, Any]:
    """{node, lines}: every reading of one node, with least and largest of each bin."""
    lines = {}
    for reading in MAP:
        found = view.ask_nodes(reading.metric, [node])
        own = [line for line in found.lines if len(line.t_ms)]
        if len(own) > 1:
            t_ms, values = by_node(found, reading, [node])
            own = [Line({"target": node}, t_ms, values[0])]
        lines[reading.key] = series_json(reading.metric, found, own)
    return {"node": node, "lines": lines}


def newest(line: Line, at_ms: int, gap_ms: int) -> float | None:
    """Its newest known value at or before an instant, not older than a gap; None where there is none."""
    values = middle(line)
    known = np.flatnonzero(~np.isnan(values) & (line.t_ms <= at_ms) & (line.t_ms > at_ms - gap_ms))
    return float(values[known[-1]]) if len(known) else None
