"""`/api/v1/latest`: every catalogue metric of every target now, or why it is not known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dashboard.api import parameters
from dashboard.api.lists import number
from dashboard.api.percentiles import Percentiles, Place, percentiles
from dashboard.live import current
from dashboard.live.cells import level
from dashboard.live.deployments import engines_of, feeding
from dashboard.live.reasons import stored_metrics, target_reason
from dashboard.live.scene import Scene
from dashboard.live.sentence import silent_collector
from dashboard.live.unknown import IDLE, from_samples
from dashboard.sources import Sources
from storage.records import TargetRow
from telemetry import catalog, formatting, ratios
from telemetry.catalog import cluster
from telemetry.frame import Frame
from telemetry.histograms import Estimate
from telemetry.model import Kind, Metric, Ratio, Scope, Series
from telemetry.query import Query

KNOWN = ("metric", "node", "engine", "deployment", "quantile")
REACH_MS = 300_000 + ratios.SILENT_MS + int(current.MARGIN_MS)
"""The longest window of a ratio."""
MEDIAN = 0.5
SCOPES = {"node": (Scope.NODE, Scope.TARGET), "engine": (Scope.ENGINE, Scope.TARGET)}


def read(arguments: Mapping[str, str], sources: Sources) -> tuple[set[str] | None, list[Metric | Ratio], float]:
    """(targets or None for all, metrics, quantile of histograms) that a request asks for.

    A deployment is its recorded series and its engines; of several filters each leaves what the others left.
    """
    parameters.only(arguments, KNOWN)
    wanted = arguments.get("metric")
    metrics = list(catalog.METRICS) if wanted is None else [parameters.metric(name) for name in wanted.split(",")]
    chosen: set[str] | None = None
    for kind in ("node", "engine"):
        if kind in arguments:
            known = [target.name for target in sources.store.targets() if target.kind == kind]
            chosen = _both(chosen, {parameters.one_of(kind, arguments[kind], known)})
    if "deployment" in arguments:
        name = parameters.one_of("deployment", arguments["deployment"], sources.deployments())
        chosen = _both(chosen, {cluster.DEPLOYMENT_PREFIX + name, *engines_of(name, sources)})
    return chosen, metrics, parameters.number("quantile", arguments.get("quantile", str(MEDIAN)), 0.0, 1.0)


def _both(chosen: set[str] | None, mine: set[str]) -> set[str]:
    return mine if chosen is None else chosen & mine


def latest(
    sources: Sources,
    scene: Scene,
    targets: set[str] | None,
    metrics: Iterable[Metric | Ratio],
    quantile: float = MEDIAN,
) -> dict[str, Any]:
    """{values: [{metric, unit, labels, t, v, state, reason}]}; of histograms also kind, relation, count, window_ms.

    While the collector is silent, nothing that it once wrote is of now.
    """
    wanted = [metric for metric in metrics if _applies(metric, targets, scene)]
    silent = silent_collector(scene)
    frame = _frame(sources, scene, targets, wanted)
    rows, engines = _rows(frame), Engines(sources)
    latencies = percentiles(sources, scene.tick, _histograms(wanted, targets, scene), quantile)
    values: list[dict[str, Any]] = []
    for metric in wanted:
        latency = latencies.get(metric.name, Percentiles())
        found: Found
        if metric.kind is Kind.HISTOGRAM:
            found = {place: (_value(one.value), scene.tick) for place, one in latency.found.items()}
        else:
            mine = _of_targets(metric, frame, targets)
            found = _ratio(metric, mine, scene, targets) if isinstance(metric, Ratio) else _stored(metric, mine, scene)
        for place in _expected(metric, found, scene, sources, targets):
            one = latency.found.get(place) if silent is None else None
            value, tick = found.get(place, (math.nan, None)) if silent is None else (math.nan, None)
            reason = silent.text if silent else IDLE if one is not None and one.count == 0 else ""
            if not math.isfinite(value) and not reason:
                part = _of_targets(metric, frame.take(_of(metric, place, frame, rows)), targets)
                reason = why(metric, place, scene, part, engines.of)
            entry = _entry(metric, place, value, tick, reason)
            values.append(entry | (_besides(one, latency.window_ms) if metric.kind is Kind.HISTOGRAM else {}))
    return {"values": values}


def _applies(metric: Metric | Ratio, targets: set[str] | None, scene: Scene) -> bool:
    """Whether a metric may have a value for the targets asked for. What is recorded of the whole cluster is of none of
    them; a quotient over the cluster is one of nodes and every engine, so it can be of some nodes."""
    if targets is None or metric.scope is not Scope.CLUSTER:
        return True
    return isinstance(metric, Ratio) and bool(targets & {target.name for target in scene.node_targets})


def _of_targets(metric: Metric | Ratio, frame: Frame, targets: set[str] | None) -> Frame:
    """The samples that make a value for the targets asked for, as a query to the history chooses them."""
    if targets is None or metric.scope is not Scope.CLUSTER:
        return frame
    return frame.select(Query(metric, 0, 1, targets=frozenset(targets)).wants)


def _frame(sources: Sources, scene: Scene, targets: set[str] | None, wanted: Iterable[Metric | Ratio]) -> Frame:
    """What all but the histograms are read from; a cluster ratio over some nodes still needs every engine."""
    plain = [metric for metric in wanted if metric.kind is not Kind.HISTOGRAM]
    names = {part.name for metric in plain for part in stored_metrics(metric)}
    crossing = any(metric.scope is Scope.CLUSTER and isinstance(metric, Ratio) for metric in plain)
    chosen = None if targets is None or crossing else sorted(targets)
    return sources.frame(names, scene.tick - REACH_MS, scene.tick, chosen)


def _histograms(wanted: Iterable[Metric | Ratio], targets: set[str] | None, scene: Scene) -> list[Metric]:
    """The histograms to read: none where no engine is asked for."""
    if targets is not None and not targets & {target.name for target in scene.engine_targets}:
        return []
    return [metric for metric in wanted if isinstance(metric, Metric) and metric.kind is Kind.HISTOGRAM]


def _value(value: float | None) -> float:
    return math.nan if value is None else value


def _besides(one: Estimate | None, window_ms: int) -> dict[str, Any]:
    """What stands beside a percentile: what it is, where it lies, and what it rests on."""
    known = one is not None and one.value is not None
    return {
        "kind": one.kind if one is not None and known else None,
        "relation": one.relation if one is not None and known else None,
        "count": None if one is None else number(one.count),
        "window_ms": None if one is None else window_ms,
    }


Found = Mapping[Place, tuple[float, int | None]]


def _stored(metric: Metric, frame: Frame, scene: Scene) -> Found:
    part = frame.select(lambda series: series.metric == metric.name)
    values = current.newest(part, scene.tick)
    return {(one.target, one.labels): (values[row], _when(part, row)) for row, one in enumerate(part.series)}


def _when(frame: Frame, row: int) -> int | None:
    known = np.flatnonzero(~np.isnan(frame.values[row]))
    return int(frame.ticks[known[-1]]) if len(known) else None


def _ratio(metric: Ratio, frame: Frame, scene: Scene, targets: set[str] | None) -> Found:
    def place(series: Series) -> Place:
        if metric.scope is Scope.CLUSTER:
            return _owner(scene, targets), ()
        return series.target, _labels(metric, series)

    found = current.ratio(metric, frame, scene.tick, place)
    return {key: (value, scene.tick) for key, value in found.items()}  # type: ignore[misc]


def _expected(
    metric: Metric | Ratio, found: Found, scene: Scene, sources: Sources, targets: set[str] | None
) -> list[Place]:
    """Where the metric has a value, and every target that should have one and shows none."""
    if metric.scope is Scope.CLUSTER:
        owners = [_owner(scene, targets)]
    elif metric.scope is Scope.DEPLOYMENT:
        owners = [cluster.DEPLOYMENT_PREFIX + name for name in sources.deployments()]
    else:
        owners = [target.name for target in scene.targets if metric.scope in SCOPES[target.kind]]
    held = {target for target, _ in found}
    places = [*found, *((owner, ()) for owner in owners if owner not in held)]
    if targets is not None:
        places = [place for place in places if place[0] in targets]
    return sorted(places)


def _owner(scene: Scene, targets: set[str] | None) -> str:
    """Whom a value of the cluster is of: of all, or of the node asked for, as its share."""
    return cluster.CLUSTER_TARGET if targets is None else min(targets & {target.name for target in scene.node_targets})


def _entry(metric: Metric | Ratio, place: Place, value: float, tick: int | None, reason: str) -> dict[str, Any]:
    known = math.isfinite(value)
    entry: dict[str, Any] = {
        "metric": metric.name,
        "unit": metric.unit.value,
        "labels": {"target": place[0], **dict(place[1])},
        "t": tick if known else None,
        "v": number(value),
        "state": level(value, metric.limits),
        "reason": "" if known else reason,
    }
    if known and isinstance(metric, Metric) and metric.kind is Kind.STATE:
        entry["text"] = formatting.state(value, metric.states)
    return entry


def _rows(frame: Frame) -> dict[str, list[int]]:
    """Rows of a frame by stored metric."""
    found: dict[str, list[int]] = {}
    for row, series in enumerate(frame.series):
        found.setdefault(series.metric, []).append(row)
    return found


def _of(metric: Metric | Ratio, place: Place, frame: Frame, rows: Mapping[str, list[int]]) -> list[int]:
    """Rows that a metric's value at a place is made of; without labels, all of its target."""
    found = [row for part in stored_metrics(metric) for row in rows.get(part.name, ())]
    if metric.scope is Scope.CLUSTER:
        return found
    mine = [row for row in found if frame.series[row].target == place[0]]
    return [row for row in mine if place[1] in ((), _labels(metric, frame.series[row]))]


def _labels(metric: Metric | Ratio, series: Series) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in series.labels if pair[0] in metric.by)


@dataclass
class Engines:
    """Which engines feed each deployment, looked up when first asked for."""

    sources: Sources
    _known: dict[str, set[str]] = field(default_factory=dict)

    def of(self, name: str) -> set[str]:
        """Names of the engine targets of a deployment."""
        if name not in self._known:
            self._known[name] = feeding(name, self.sources)
        return self._known[name]


def why(metric: Metric | Ratio, place: Place, scene: Scene, part: Frame, engines_of: Callable[[str], set[str]]) -> str:
    """Why a metric of a place is not known. part: the samples it would be made of."""
    names = [term.name for term in stored_metrics(metric)]
    told = [target_reason(one, names, scene) for one in _concerned(metric, place[0], scene, engines_of)]
    return next(filter(None, told), "") or from_samples(metric, part, scene.tick)


def _concerned(
    metric: Metric | Ratio, owner: str, scene: Scene, engines_of: Callable[[str], set[str]]
) -> list[TargetRow]:
    """The targets that a value comes from: the one it is of, a deployment's engines, or all of the kinds in a sum."""
    if owner.startswith(cluster.DEPLOYMENT_PREFIX):
        feeding_it = engines_of(owner.removeprefix(cluster.DEPLOYMENT_PREFIX))
        return [target for target in scene.engine_targets if target.name in feeding_it]
    if metric.scope is not Scope.CLUSTER:
        return [target for target in scene.targets if target.name == owner]
    kinds = {"engine" if term.scope is Scope.ENGINE else "node" for term in stored_metrics(metric)}
    nodes = (owner,) if owner != cluster.CLUSTER_TARGET else tuple(target.name for target in scene.node_targets)
    return [
        target for target in scene.targets if target.kind in kinds and (target.kind == "engine" or target.name in nodes)
    ]
