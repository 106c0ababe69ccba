"""`/api/v1/status`, `/api/v1/node`, `/api/v1/absences`: every target with its state, and what is absent."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from dashboard.api.lists import number
from dashboard.api.store import standing
from dashboard.live import current
from dashboard.live.cells import worst
from dashboard.live.concerns import concerns
from dashboard.live.deployments import members
from dashboard.live.problems import Problem
from dashboard.live.reasons import state_words
from dashboard.live.scene import Scene
from dashboard.live.sentence import BUSIEST, PHASE_WORDS, SERVING, engine_state, phases, sentence, silent_collector
from dashboard.sources import Sources
from pipeline.away import AWAY, SINCE
from pipeline.left_out import LEFT_OUT, TICKS
from storage import schema
from storage.records import TargetRow
from telemetry import catalog
from telemetry.catalog import cluster
from telemetry.counters import BREAKING
from telemetry.model import Metric, Scope

RESETS_MS = 3_600_000
EVENTS_MS = 24 * 3_600_000
MOST_EVENTS = 200
MOST_CLUSTER_EVENTS = 2_000
"""More than a day of ticks left out makes, at one event a minute."""
MOST_STRETCHES = 20
ABSENCES_MS = 24 * 3_600_000
MOST_ABSENCES = 1_000
LOOK_MS = 10_000
OFFERED = frozenset(
    name for metric in catalog.METRICS if isinstance(metric, Metric) for name in (metric.name, f"{metric.name}_count")
)
SCOPES = {"node": Scope.NODE, "engine": Scope.ENGINE}


def status(sources: Sources, scene: Scene, version: str) -> dict[str, Any]:
    """{sentence, versions, nodes, engines, deployments, store, collector}."""
    problems = concerns(scene)
    looks = look(sources, scene)
    rows = {kind: [t for t in scene.targets if t.kind == kind] for kind in ("node", "engine")}
    return {
        "sentence": sentence(scene, problems).as_json(),
        "versions": {"tachograph": version, "python": platform.python_version(), "schema": schema.VERSION},
        "nodes": [target(scene, row, problems, looks) for row in rows["node"]],
        "engines": [target(scene, row, problems, looks) for row in rows["engine"]],
        "deployments": _deployments(sources, scene),
        "store": standing(sources.store, scene.now_ms),
        "collector": collector(sources, scene.now_ms),
    }


def collector(sources: Sources, now_ms: int) -> dict[str, Any]:
    """{left_out: {ticks, stretches: [{t, ticks, text}]}, away: [{t, since, text}]} of the last day, the newest first:
    ticks that the collector itself did not make, so that no target missed them, and when there was none."""
    events = sources.store.events(now_ms - EVENTS_MS, now_ms, cluster.CLUSTER_TARGET, MOST_CLUSTER_EVENTS)
    found = [
        {"t": one.at_ms, "ticks": int(one.labels.get(TICKS, 0)), "text": one.text}
        for one in reversed(events)
        if one.kind == LEFT_OUT
    ]
    away = [
        {"t": one.at_ms, "since": int(one.labels.get(SINCE, one.at_ms)), "text": one.text}
        for one in reversed(events)
        if one.kind == AWAY
    ]
    left_out = {"ticks": sum(one["ticks"] for one in found), "stretches": found[:MOST_STRETCHES]}
    return {"left_out": left_out, "away": away[:MOST_STRETCHES]}


def state_of(scene: Scene, row: TargetRow, problems: list[Problem]) -> tuple[str, str, str]:
    """(state, level, reason) of a target. A silent collector leaves every target unknown."""
    silent = silent_collector(scene)
    if silent is not None:
        return "unknown", "unknown", silent.text
    mine = [problem for problem in problems if problem.target == row.name]
    text = state_words(row, scene) or "; ".join(problem.text for problem in mine)
    grade = worst([problem.level for problem in mine])
    if row.kind == "node":
        return row.state if scene.alive(row) or row.state != "ok" else "silent", grade, text
    phase = engine_state(scene, row)
    calm = "ok" if phase in SERVING else PHASE_WORDS.get(phase, ("", "unknown"))[1]
    return phase, worst([grade, calm]), text


@dataclass(frozen=True)
class Looks:
    """What the store and the tail say of all targets, asked once.

    measured: what the collector measured of each scrape, by (target, metric); nothing while it is silent.
    shown: metrics with a value, by target.
    resets: instants of the last hour at which counters started anew, by target. facts: by target and name.
    """

    measured: Mapping[tuple[str, str], float]
    shown: Mapping[str, set[str]]
    resets: Mapping[str, set[int]]
    facts: Mapping[str, Mapping[str, str]]


def look(sources: Sources, scene: Scene) -> Looks:
    """Ask the store and the tail."""
    frame = sources.frame(OFFERED, scene.tick - LOOK_MS, scene.tick)
    values = current.newest(frame, scene.tick)
    shown: dict[str, set[str]] = {}
    for one, line in zip(frame.series, ~np.isnan(frame.values), strict=True):
        if line.any():
            shown.setdefault(one.target, set()).add(one.metric)
    resets: dict[str, set[int]] = {}
    for offset in sources.store.offsets(scene.now_ms - RESETS_MS, scene.now_ms):
        if offset.reason in BREAKING:
            resets.setdefault(offset.target, set()).add(offset.tick)
    facts: dict[str, dict[str, str]] = {}
    for fact in sources.store.facts(at_ms=scene.now_ms):
        facts.setdefault(fact.target, {})[fact.name] = fact.value
    measured = {(one.target, one.metric): float(value) for one, value in zip(frame.series, values, strict=True)}
    return Looks({} if silent_collector(scene) else measured, shown, resets, facts)


def target(scene: Scene, row: TargetRow, problems: list[Problem], looks: Looks) -> dict[str, Any]:
    """A TARGET of docs/live.md."""
    state, grade, reason = state_of(scene, row, problems)
    facts = looks.facts.get(row.name, {})
    last = max(row.last_ok_ms or 0, scene.last_read.get(row.name, 0))

    def reading(metric: Metric) -> float | None:
        return number(looks.measured.get((row.name, metric.name), float("nan")))

    return {
        "name": row.name,
        "state": state,
        "level": grade,
        "reason": reason,
        "age_s": (scene.now_ms - last) / 1000.0 if last else None,
        "since": row.since_ms,
        "url": without_login(row.url),
        "interval_s": row.interval_ms / 1000.0,
        "silent_s": None if state == "unknown" or scene.alive(row) else row.detail.get("silent_s"),
        "engine": row.detail.get("engine") or None,
        "scrape_s": reading(cluster.SCRAPE_SECONDS),
        "scrape_bytes": reading(cluster.SCRAPE_BYTES),
        "missed_ticks": row.detail.get("missed"),
        "resets": len(looks.resets.get(row.name, ())),
        "refused_series": row.detail.get("refused_series"),
        "dropped_families": row.detail.get("dropped_families"),
        "impossible_numbers": row.detail.get("impossible_numbers"),
        "clock_skew_s": reading(cluster.CLOCK_SKEW),
        "version": facts.get("version") or facts.get("agent_version"),
        "not_offered": not_offered(scene, row, looks),
    }


def without_login(url: str) -> str:
    """An address without what may be secret in it: name and password, and the values of its query."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="…" if parts.query else ""))


def not_offered(scene: Scene, row: TargetRow, looks: Looks) -> list[str]:
    """Labels of the catalogue's metrics for this kind of target that it does not show; empty while it is not read."""
    if silent_collector(scene) or not scene.alive(row):
        return []
    shown = looks.shown.get(row.name, set())
    wanted = [metric for metric in catalog.METRICS if isinstance(metric, Metric) and metric.scope is SCOPES[row.kind]]
    return [metric.label for metric in wanted if not {metric.name, f"{metric.name}_count"} & shown]


def _deployments(sources: Sources, scene: Scene) -> list[dict[str, Any]]:
    found = members(sources, dict(scene.models))
    doing = {} if silent_collector(scene) else phases(scene)
    nodes = [row.name for row in scene.node_targets]
    return [
        {
            "name": name,
            "model": next((scene.models[one] for one in sorted(engines) if one in scene.models), name),
            "engines": sorted(engines),
            "nodes": nodes if len(found) == 1 else [],
            "phase": min((doing.get(one, "unknown") for one in engines), key=BUSIEST.index, default="unknown"),
        }
        for name, engines in sorted(found.items())
    ]


def node(sources: Sources, scene: Scene, name: str) -> dict[str, Any] | None:
    """{name, state, level, reason, age_s, facts, processes, readings, events}; None for a name that is no node."""
    row = next((one for one in scene.node_targets if one.name == name), None)
    if row is None:
        return None
    state, grade, reason = state_of(scene, row, concerns(scene))
    last = max(row.last_ok_ms or 0, scene.last_read.get(name, 0))
    old = not scene.alive(row) or silent_collector(scene) is not None
    events = sources.store.events(scene.now_ms - EVENTS_MS, scene.now_ms, name, MOST_EVENTS)
    return {
        "name": name,
        "state": state,
        "level": grade,
        "reason": reason,
        "age_s": (scene.now_ms - last) / 1000.0 if last else None,
        "facts": {fact.name: fact.value for fact in sources.store.facts(target=name, at_ms=scene.now_ms)},
        "processes": [] if old else list(row.detail.get("processes", ())),
        "readings": {} if old else dict(row.detail.get("readings", {})),
        "events": [{"t": one.at_ms, "kind": one.kind, "text": one.text} for one in reversed(events)],
    }


def absences(sources: Sources, start_ms: int, end_ms: int, name: str | None = None) -> dict[str, Any]:
    """{absences: [{target, metric, from, to, reason}]}, newest first, `to` None while it lasts."""
    found = sorted(sources.store.absences(start_ms, end_ms, name), key=lambda one: -one.start_ms)[:MOST_ABSENCES]
    return {
        "absences": [
            {"target": one.target, "metric": one.metric, "from": one.start_ms, "to": one.end_ms, "reason": one.reason}
            for one in found
        ]
    }
