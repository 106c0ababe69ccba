"""Answers about what is kept with an alert. docs/api.md describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from alerts.defaults import Tables
from alerts.given import Span
from alerts.record import Alert
from alerts.rule import Rule
from dashboard.alert_charts import Drawing, frame_of
from dashboard.api.alert_answers import known
from dashboard.api.rule_limits import rulebook_to_read
from dashboard.sources import Sources
from exchange.csv import line
from exchange.table import Column
from pipeline.alert_evidence import AROUND_MS, KIND, LATE_MS, gathered
from telemetry import catalog


@dataclass(frozen=True, slots=True)
class Evidence:
    """Of an alert. part: see `pipeline.alert_evidence.gathered`. kept: whether it is kept for good; else it is what the
    samples say so far."""

    alert: Alert
    rule: Rule | None
    part: Mapping[str, Any]
    kept: bool


def evidence(sources: Sources, file: Tables, number: int) -> Evidence:
    """Of an alert by its number; ParameterError where there is none."""
    alert = known(sources, number)
    rule = rulebook_to_read(sources, file).rules.get(alert.rule)
    part = sources.store.alert_parts(number).get(KIND)
    if part is not None:
        return Evidence(alert, rule, part, kept=True)
    with sources.large:
        return Evidence(alert, rule, gathered(sources.store, alert, rule), kept=False)


def around(found: Evidence) -> dict[str, Any]:
    """{kept, due, start, end, cut, events, absences, facts, run}: everything but the samples. due: when it is kept."""
    plain = {name: found.part[name] for name in ("start", "end", "cut", "events", "absences", "facts", "run")}
    return {"kept": found.kept, "due": found.alert.fired_ms + AROUND_MS + LATE_MS, **plain}


def charts(sources: Sources, file: Tables, number: int) -> dict[str, Any]:
    """The same with {alert, t, charts}."""
    found = evidence(sources, file, number)
    alert, frame = found.alert, frame_of(found.part)
    told = {"id": alert.id, "severity": alert.severity, "began": alert.began_ms, "fired": alert.fired_ms}
    away = [Span(one["from"], one["to"], one["reason"]) for one in found.part["absences"] if one["metric"] is None]
    drawn = Drawing(frame, alert, found.rule, away).charts()
    return {**around(found), "alert": {**told, "ended": alert.ended_ms}, "t": frame.ticks, "charts": drawn}


def as_file(sources: Sources, file: Tables, number: int) -> dict[str, Any]:
    """{alert, kept, evidence}: all of it, as it is kept."""
    found = evidence(sources, file, number)
    alert = found.alert
    told = {name: getattr(alert, name) for name in ("id", "rule", "title", "severity", "message")}
    instants = {"began": alert.began_ms, "fired": alert.fired_ms, "ended": alert.ended_ms}
    return {"alert": {**told, "key": list(alert.key), **instants}, "kept": found.kept, "evidence": found.part}


def rows(part: Mapping[str, Any]) -> Iterator[bytes]:
    """A head, with units as in exports; then a row per tick: its instant in milliseconds and as ISO 8601, and each
    series; unknown is empty."""
    yield line(("time_ms", "time", *(_name(one) for one in part["series"])))
    columns = [one["v"] for one in part["series"]]
    for place, tick in enumerate(part["t"]):
        values = ("" if column[place] is None else repr(column[place]) for column in columns)
        yield line((str(tick), _iso(tick), *values))


def _iso(instant_ms: int) -> str:
    return datetime.fromtimestamp(instant_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _name(series: Mapping[str, Any]) -> str:
    labels = {"target": series["target"], **series["labels"]}
    metric = catalog.find(series["metric"])
    name = series["metric"] + "{" + ",".join(f"{name}={value}" for name, value in labels.items()) + "}"
    return Column(name, "" if metric is None else metric.unit.value).heading
