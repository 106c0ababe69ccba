"""What is kept with an alert: ten minutes before and after, so that it can be looked at when the host is dead and the
samples are given up. Worked out in a thread beside the ticks, once the ten minutes are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from alerts import needs
from alerts.places import PLACES
from alerts.record import Alert, AlertPart
from alerts.rule import Rule
from storage.errors import StoreBroken, StoreError
from storage.store import Store
from telemetry.catalog import cluster, engine, gpu, memory, network
from telemetry.frame import Frame
from telemetry.model import Scope, Series

KIND = "evidence"
AROUND_MS = 600_000
LATE_MS = 15_000
"""How long after the ten minutes samples may still come."""
MOST_SERIES = 80
MOST_EVENTS = 300
OF_NODES = (
    gpu.GPU_POWER,
    gpu.GPU_UTILIZATION,
    gpu.GPU_SM_CLOCK,
    gpu.GPU_TEMPERATURE,
    gpu.GPU_CLOCK_EVENT_REASONS,
    gpu.GPU_READING_STATE,
    memory.MEMORY_HEADROOM,
    memory.MEMORY_AVAILABLE,
    network.RDMA_TRANSMIT,
    network.RDMA_RECEIVE,
    network.LINK_UP,
)
OF_ENGINES = (
    engine.ENGINE_PHASE,
    engine.REQUESTS_RUNNING,
    engine.REQUESTS_WAITING,
    engine.KV_CACHE_USAGE,
    engine.GENERATION_TOKENS,
    engine.PROMPT_TOKENS,
)
OF_DEPLOYMENTS = (cluster.RECORDED_DECODE, cluster.DEPLOYMENT_RUNNING, cluster.CLUSTER_POWER, cluster.CLUSTER_TRANSMIT)
"""What is kept beside the series that the rule reads."""


@dataclass
class Evidence:
    """One store's. Alerts of which nothing can be kept are left alone."""

    store: Store
    _failed: set[int] = field(default_factory=set)

    def keep(self, rules: Mapping[str, Rule], now_ms: int) -> int:
        """Keep what is due; of how many alerts. What fails is raised; it is tried again where the store could not do it
        now, and not where it is a fault of this alert's data."""
        done = 0
        for alert in self.store.bare_alerts(KIND, now_ms - AROUND_MS - LATE_MS):
            if alert.id in self._failed:
                continue
            try:
                self.store.keep_parts([AlertPart(alert.id, KIND, gathered(self.store, alert, rules.get(alert.rule)))])
            except Exception as error:
                if not isinstance(error, StoreError) or isinstance(error, StoreBroken):
                    self._failed.add(alert.id)
                raise
            done += 1
        return done


def gathered(store: Store, alert: Alert, rule: Rule | None) -> dict[str, Any]:
    """{start, end, t, series, cut, events, absences, facts, run}, of ten minutes before the alert fired to ten after.

    t: instants of ticks; series: {metric, target, labels, of, v, breaks}: those of what the alert is about first, of
    them and of others the rule's; null where nothing is known; of is "rule" or "beside"; breaks are places in t before
    which a counter began anew. cut: whether there were more series.
    """
    start, end = alert.fired_ms - AROUND_MS, alert.fired_ms + AROUND_MS
    frame = store.frame(sorted(_metrics(rule)), None, start, end)
    asked = _asked(rule)
    rows = [row for row, series in enumerate(frame.series) if _belongs(series, alert, asked)]
    rows.sort(key=lambda row: _rank(frame.series[row], alert, asked))
    run = None if alert.run is None else store.run(alert.run)
    events = [
        {"t": one.at_ms, "target": one.target, "kind": one.kind, "text": one.text}
        for one in store.events(start, end, limit=MOST_EVENTS)
    ]
    absences = [
        {"target": one.target, "metric": one.metric, "from": one.start_ms, "to": one.end_ms, "reason": one.reason}
        for one in store.absences(start, end)
        if one.target == alert.owner
    ]
    facts = {one.name: one.value for one in store.facts(alert.owner, at_ms=alert.fired_ms)} if alert.owner else {}
    return {
        "start": start,
        "end": end,
        "t": frame.ticks.tolist(),
        "series": [_line(frame, row, asked) for row in rows[:MOST_SERIES]],
        "cut": len(rows) > MOST_SERIES,
        "events": events,
        "absences": absences,
        "facts": facts,
        "run": None if run is None else {"id": run.id, "name": run.name, "start": run.start_ms, "end": run.end_ms},
    }


def _asked(rule: Rule | None) -> frozenset[str]:
    """Stored metrics that the rule reads."""
    if rule is None:
        return frozenset()
    readings = needs.readings([replace(rule, enabled=True)])
    return frozenset(name for _, reading in readings for name in needs.stored(reading))


def _metrics(rule: Rule | None) -> frozenset[str]:
    return _asked(rule) | {one.name for one in (*OF_NODES, *OF_ENGINES, *OF_DEPLOYMENTS)}


def _belongs(series: Series, alert: Alert, asked: frozenset[str]) -> bool:
    """Whether a series tells of what the alert is about: its node or target, its deployment; engines, and what the rule
    reads of others, too."""
    if series.target == alert.owner or series.target == f"{cluster.DEPLOYMENT_PREFIX}{alert.deployment}":
        return True
    if series.metric in {one.name for one in OF_ENGINES} or series.target == cluster.CLUSTER_TARGET:
        return True
    everywhere = PLACES[alert.place].owner is not Scope.NODE and series.metric == gpu.GPU_POWER.name
    return series.metric in asked or everywhere


def _rank(series: Series, alert: Alert, asked: frozenset[str]) -> tuple[object, ...]:
    """Where a series stands: what is kept of many nodes must not leave out the one that it is about."""
    return series.target != alert.owner, series.metric not in asked, series.metric, series.target, series.labels


def _line(frame: Frame, row: int, asked: frozenset[str]) -> dict[str, Any]:
    series, values = frame.series[row], frame.values[row]
    shown: Sequence[float | None] = [None if np.isnan(value) else float(f"{value:.9g}") for value in values.tolist()]
    return {
        "metric": series.metric,
        "target": series.target,
        "labels": dict(series.labels),
        "of": "rule" if series.metric in asked else "beside",
        "v": shown,
        "breaks": np.flatnonzero(frame.breaks[row]).tolist(),
    }
