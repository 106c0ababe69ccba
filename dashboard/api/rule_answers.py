"""Answers about rules, and when they would have fired. docs/api.md describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from alerts import expression as ex
from alerts.deaf import untold
from alerts.defaults import Tables
from alerts.given import BASELINE_SPEED, GIVEN
from alerts.message import subject
from alerts.notices import Channel
from alerts.record import faults
from alerts.replay import replay
from alerts.rule import Rule, RuleError
from alerts.rulebook import Rulebook, Table
from dashboard.alert_limits import asked
from dashboard.api import parameters
from dashboard.api.parameters import ParameterError
from dashboard.api.rule_limits import rulebook_to_read
from dashboard.sources import Sources
from exchange.prometheus_rules import exported
from pipeline.past import StoredPast
from storage.records import RunFilter
from telemetry.model import Kind, Metric
from telemetry.rates import rate

DAY_MS = 86_400_000
REPLAY_MS, MOST_REPLAY_MS = 7 * DAY_MS, 92 * DAY_MS
NO_BASELINE = "no run is marked as its deployment's baseline"


def rulebook(sources: Sources, file: Tables) -> Rulebook:
    """Rules as the collector has them."""
    return Rulebook(file, sources.store.rule_changes())


def rules(sources: Sources, file: Tables, channels: Iterable[Channel] = ()) -> dict[str, Any]:
    """{rules, problems}: every rule with where each of its fields comes from, and why nobody would be told of it."""
    channels = tuple(channels)
    book = rulebook_to_read(sources, file)
    unknown = "" if sources.store.runs(RunFilter(baseline=True)) else NO_BASELINE
    told = [(one, unknown if _asks(one, BASELINE_SPEED) else "") for one in book.rules.values()]
    fault = {name: why for name, why in faults(sources.store.standings()).items() if name in book.rules}
    listed = [
        {
            **rule_json(one, book),
            "unknown": why,
            "fault": fault.get(one.name, ""),
            "untold": untold(one.severity, one.channels, channels),
        }
        for one, why in told
    ]
    return {"rules": listed, "problems": [*book.problems, *(f"rule {name} {why}" for name, why in fault.items())]}


def _asks(rule: Rule, metric: Metric) -> bool:
    return any(reading.metric is metric for reading in ex.readings(rule.condition))


def prometheus(sources: Sources, file: Tables) -> dict[str, Any]:
    """{text, rules, left_out, partly}: the rules as a Prometheus rules file, what of them it cannot say, and why."""
    found = exported(rulebook_to_read(sources, file).rules.values())
    partly = {name: list(notes) for name, notes in found.partly.items()}
    return {"text": found.text, "rules": list(found.told), "left_out": dict(found.left_out), "partly": partly}


def rule_json(rule: Rule, book: Rulebook) -> dict[str, Any]:
    """A rule: its fields as they are written, and the origin of each: default, file or page."""
    table = book.table(rule.name)
    return {
        "name": rule.name,
        "title": rule.title,
        "place": rule.place.name,
        "when": rule.when,
        "clear": rule.clear,
        "for": table.get("for", "0s"),
        "clear_for": table.get("clear_for", "0s"),
        "severity": rule.severity.value,
        "message": rule.message,
        "text": rule.text,
        "runbook": rule.runbook,
        "because_of": list(rule.because_of),
        "channels": list(rule.channels),
        "enabled": rule.enabled,
        "settings": dict(rule.settings),
        "origins": book.origins(rule.name),
    }


DRAFT = "draft_without_a_name"
"""What a rule is called that nobody has named yet, while it is replayed."""


def log(sources: Sources) -> dict[str, Any]:
    """{changes}: what people changed of rules, the newest first. before: their fields of the rule until then."""
    before: dict[str, Table | None] = {}
    changes = []
    for one in sources.store.rule_changes():
        told = {"id": one.id, "rule": one.name, "table": one.table, "before": before.get(one.name)}
        changes.append({**told, "at": one.at_ms, "by": one.by})
        before[one.name] = one.table
    return {"changes": changes[::-1]}


def checked(sources: Sources, file: Tables, given: Any, channels: Iterable[Channel] = ()) -> dict[str, Any]:
    """{problems, notes}: what is wrong with fields of a rule, and what may surprise of one that is right, a sentence
    each; nothing is changed."""
    name, table = _named_table(given)
    book = rulebook(sources, file)
    try:
        book.apply(name, book.changed(name, table))
    except RuleError as error:
        return {"problems": error.problems, "notes": []}
    why = untold(book.rules[name].severity, book.rules[name].channels, channels)
    return {"problems": [], "notes": [f"nobody is told of it: {why}"] if why else []}


def replayed(
    sources: Sources, file: Tables, name: str, table: Table | None, given: Mapping[str, str]
) -> dict[str, Any]:
    """{rule, start, end, recorded, severity, fired, per_week, cut, metrics}: when a rule would have fired, as it is or
    with these fields over it, and what it reads. recorded: the stretch of which something was recorded."""
    book = rulebook(sources, file)
    if table is not None:
        try:
            book.apply(name, book.changed(name, table))
        except RuleError as error:
            why = "; ".join(error.problems) if name == DRAFT else str(error)
            raise ParameterError(f"{why[0].upper()}{why[1:]}.") from error
    if name not in book.rules:
        raise ParameterError(f"There is no rule {name}.", 404)
    start, end = parameters.range_ms(given, sources.now_ms(), REPLAY_MS)
    parameters.ordered(start, end)
    if end - start > MOST_REPLAY_MS:
        raise ParameterError(f"A replay is over {MOST_REPLAY_MS // DAY_MS} days at most.")
    rule = book.rules[name]
    with sources.large:
        past = StoredPast(sources.store, rule, start, end)
        found = replay(replace(rule, enabled=True), past, past.hold_ms)
    return {
        "rule": name,
        "start": start,
        "end": end,
        "recorded": [found.start_ms, found.end_ms],
        "severity": rule.severity.value,
        "fired": [
            {
                "key": list(one.key),
                "subject": subject(rule, one.key),
                "began": one.began_ms,
                "fired": one.fired_ms,
                "ended": one.ended_ms,
            }
            for one in found.fired
        ],
        "per_week": found.per_week,
        "cut": found.cut,
        "metrics": plotted(rule),
    }


DRAWN = ("now", "mean", "min", "max", "rate")
"""What stands on the axis of the metric itself, or of its rate."""


def plotted(rule: Rule) -> list[dict[str, Any]]:
    """Metrics whose course tells why a rule fires, in the order of its text, each with the numbers that it is compared
    with: {metric, label, unit, rate, labels, limits}. rate: of a counter, what it grows by per second is drawn."""
    found: dict[str, dict[str, Any]] = {}
    for one in asked(rule):
        reading, metric = one.reading, one.reading.metric
        if metric.name in GIVEN or metric.kind in (Kind.STATE, Kind.HISTOGRAM):
            continue
        grows = isinstance(metric, Metric) and metric.kind is Kind.COUNTER
        told = {
            "metric": metric.name,
            "label": metric.label,
            "unit": rate(metric).unit.value if isinstance(metric, Metric) and grows else metric.unit.value,
            "rate": grows,
            "labels": {name: list(texts) for name, texts in reading.labels},
            "limits": [],
        }
        entry = found.setdefault(metric.name, told)
        if reading.how in DRAWN:
            entry["limits"] += [line.to_json() for line in one.limits]
    return list(found.values())


def replayed_table(sources: Sources, file: Tables, given: Any) -> dict[str, Any]:
    """The same of fields that are not saved: {name, table, start, end}. A draft of a new rule needs neither a name nor
    a title."""
    name, table = _named_table(given)
    if name not in rulebook(sources, file).rules:
        name, table = DRAFT, {"title": DRAFT, **table}
    instants = {key: str(given[key]) for key in ("start", "end") if given.get(key) is not None}
    return replayed(sources, file, name, table, instants)


def _named_table(given: Any) -> tuple[str, dict[str, Any]]:
    if (
        not isinstance(given, dict)
        or not isinstance(given.get("name"), str)
        or not isinstance(given.get("table"), dict)
    ):
        raise ParameterError("Send an object: {“name”: “gpu_hot”, “table”: {“for”: “30s”}}.")
    return given["name"], given["table"]
