"""Answers about alerts, rules and silences. docs/api.md describes them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from alerts import expression as ex
from alerts.defaults import Tables
from alerts.given import BASELINE_SPEED
from alerts.machine import Phase, Standing
from alerts.message import subject
from alerts.places import Key
from alerts.record import MATCHERS, Alert, Silence, silenced_by, standings_of
from alerts.replay import replay
from alerts.rule import Rule, RuleError
from alerts.rulebook import Rulebook, Table
from dashboard.api import parameters
from dashboard.api.alert_shape import shape
from dashboard.api.parameters import ParameterError
from dashboard.api.rule_limits import rulebook_to_read
from dashboard.sources import Sources
from exchange.prometheus_rules import exported
from pipeline import alert_orders
from pipeline.past import StoredPast
from storage.alerts import AlertFilter
from storage.records import RunFilter
from telemetry.model import Metric

KNOWN = ("state", "rule", "node", "deployment", "severity", "run", "start", "end", "limit")
DEFAULT_LIMIT, MOST = 1_000, 10_000
WAIT_S, LOOK_S = 4.0, 0.05
"""How long an answer waits for the collector to carry an order out, and how often it looks."""
DAY_MS = 86_400_000
REPLAY_MS, MOST_REPLAY_MS = 7 * DAY_MS, 92 * DAY_MS
OLD_COMMIT_MS = 10_000
NO_BASELINE = "no run is marked as its deployment's baseline"
SILENT = "The collector has not carried this out yet: it is busy, or does not run."


def rulebook(sources: Sources, file: Tables) -> Rulebook:
    """Rules as the collector has them."""
    return Rulebook(file, sources.store.rule_changes())


# Alerts ---------------------------------------------------------------------------------------------------------------


def listed(sources: Sources, file: Tables, given: Mapping[str, str]) -> dict[str, Any]:
    """{alerts, pending}: those that fire first, then the newest; and what may come to fire."""
    now = sources.now_ms()
    limit = parameters.integer("limit", given.get("limit", str(DEFAULT_LIMIT)), 1, MOST)
    state = parameters.one_of("state", given["state"], ("firing", "resolved")) if "state" in given else None
    instants = {
        name: parameters.instant_ms(name, given[name], now) if name in given else None for name in ("start", "end")
    }
    wanted = AlertFilter(
        firing=None if state is None else state == "firing",
        rule=given.get("rule"),
        owner=given.get("node"),
        deployment=given.get("deployment"),
        severity=given.get("severity"),
        run=parameters.integer("run", given["run"]) if "run" in given else None,
        start_ms=instants["start"],
        end_ms=instants["end"],
        limit=limit,
    )
    store = sources.store
    found = sorted(store.alerts(wanted), key=lambda alert: not alert.firing)
    firing = {alert.id for alert in store.alerts(AlertFilter(firing=True))}
    stand, silences = _standings(sources), store.silences(now)
    book = rulebook_to_read(sources, file)
    return {
        "alerts": [alert_json(alert, firing, stand, silences, now, book) for alert in found],
        "pending": _pending(stand, book),
        "monitor": monitor(sources),
    }


def monitor(sources: Sources) -> dict[str, Any]:
    """{commit_age_ms, silent}: how old the last commit is, None where there is none; whether that is too old for what
    is told of alerts to be of now."""
    commit = sources.store.latest_commit()
    age = None if commit is None else max(sources.now_ms() - commit.at_ms, 0)
    return {"commit_age_ms": age, "silent": age is None or age > OLD_COMMIT_MS}


Standings = Mapping[tuple[str, Key], Standing]


def _standings(sources: Sources) -> Standings:
    return {
        (one.rule, key): standing
        for one in sources.store.standings()
        for key, standing in standings_of(one.state).items()
    }


def one(sources: Sources, number: int, file: Tables | None = None) -> dict[str, Any]:
    """{alert, effects}: an alert, and those that fired because of it; ParameterError where there is none."""
    alert = sources.store.alert(number)
    if alert is None:
        raise ParameterError(f"There is no alert {number}.", 404)
    now = sources.now_ms()
    firing = {one.id for one in sources.store.alerts(AlertFilter(firing=True))}
    silences, stand = sources.store.silences(now), _standings(sources)
    around = sources.store.alerts(AlertFilter(start_ms=alert.fired_ms, end_ms=alert.ended_ms))
    book = rulebook_to_read(sources, file or {})
    effects = [alert_json(other, firing, stand, silences, now, book) for other in around if other.cause == number]
    return {"alert": alert_json(alert, firing, stand, silences, now, book), "effects": effects}


def alert_json(
    alert: Alert, firing: set[int], stand: Standings, silences: Sequence[Silence], now_ms: int, book: Rulebook
) -> dict[str, Any]:
    """An alert. known: whether its condition was known to hold when it was looked at last; null of one that is over."""
    silence = silenced_by(alert, silences, now_ms) if alert.firing else None
    standing = stand.get((alert.rule, alert.key)) if alert.firing else None
    number, state = None if silence is None else silence.id, state_of(alert, firing, silence)
    runbook = book.rules[alert.rule].runbook if alert.rule in book.rules else ""
    return {
        "id": alert.id,
        "rule": alert.rule,
        "title": alert.title,
        "place": alert.place,
        "key": list(alert.key),
        "severity": alert.severity,
        "deployment": alert.deployment,
        "state": state,
        "began": alert.began_ms,
        "fired": alert.fired_ms,
        "ended": alert.ended_ms,
        "why_ended": alert.ended,
        "message": alert.message,
        "values": [dict(value) for value in alert.values],
        "known": None if standing is None else standing.holds,
        "cause": alert.cause,
        "silence": number,
        "acknowledged": alert.acknowledged_ms,
        "acknowledged_by": alert.acknowledged_by,
        "run": alert.run,
        "revision": alert.revision,
        **shape(alert, state, number, runbook),
    }


def state_of(alert: Alert, firing: set[int], silence: Silence | None) -> str:
    """firing, acknowledged, silenced, inhibited (its cause fires), resolved."""
    if not alert.firing:
        return "resolved"
    if alert.cause in firing:
        return "inhibited"
    if silence is not None:
        return "silenced"
    return "firing" if alert.acknowledged_ms is None else "acknowledged"


def _pending(stand: Standings, book: Rulebook) -> list[dict[str, Any]]:
    """What holds, and has not for long enough."""
    return [
        {
            "rule": name,
            "title": book.rules[name].title,
            "key": list(key),
            "subject": subject(book.rules[name], key),
            "severity": book.rules[name].severity.value,
            "since": standing.began_ms,
            "fires_after_ms": book.rules[name].timing.for_ms,
        }
        for (name, key), standing in stand.items()
        if standing.phase is Phase.PENDING and name in book.rules
    ]


# Rules and silences ---------------------------------------------------------------------------------------------------


def rules(sources: Sources, file: Tables) -> dict[str, Any]:
    """{rules, problems}: every rule with where each of its fields comes from."""
    book = rulebook_to_read(sources, file)
    unknown = "" if sources.store.runs(RunFilter(baseline=True)) else NO_BASELINE
    told = [(one, unknown if _asks(one, BASELINE_SPEED) else "") for one in book.rules.values()]
    return {"rules": [{**rule_json(one, book), "unknown": why} for one, why in told], "problems": book.problems}


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


def log(sources: Sources) -> dict[str, Any]:
    """{changes}: what people changed of rules, the newest first."""
    return {
        "changes": [
            {"id": one.id, "rule": one.name, "table": one.table, "at": one.at_ms, "by": one.by}
            for one in reversed(sources.store.rule_changes())
        ]
    }


def checked(sources: Sources, file: Tables, given: Any) -> dict[str, Any]:
    """{problems}: what is wrong with fields of a rule, a sentence each; nothing is changed."""
    name, table = _named_table(given)
    try:
        rulebook(sources, file).changed(name, table)
    except RuleError as error:
        return {"problems": error.problems}
    return {"problems": []}


def replayed(
    sources: Sources, file: Tables, name: str, table: Table | None, given: Mapping[str, str]
) -> dict[str, Any]:
    """{rule, start, end, fired, per_week, cut}: when a rule would have fired, as it is or with these fields over it."""
    book = rulebook(sources, file)
    if table is not None:
        try:
            book.apply(name, book.changed(name, table))
        except RuleError as error:
            raise ParameterError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
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
    }


def replayed_table(sources: Sources, file: Tables, given: Any) -> dict[str, Any]:
    """The same of fields that are not saved: {name, table, start, end}."""
    name, table = _named_table(given)
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


def silences(sources: Sources) -> dict[str, Any]:
    """{silences}: those that hold or are to come first, then the newest."""
    now = sources.now_ms()
    found = sorted(sources.store.silences(), key=lambda one: (one.end_ms <= now, -one.start_ms, -one.id))
    return {"silences": [silence_json(one, now) for one in found]}


def silence_json(one: Silence, now_ms: int) -> dict[str, Any]:
    """A silence."""
    state = "active" if one.active(now_ms) else "planned" if one.end_ms > now_ms else "over"
    return {
        "id": one.id,
        "state": state,
        "start": one.start_ms,
        "end": one.end_ms,
        **{name: getattr(one, name) for name in MATCHERS},
        "weekly": None if one.weekly is None else one.weekly.to_json(),
        "comment": one.comment,
        "by": one.by,
        "made": one.made_ms,
    }


# Orders ---------------------------------------------------------------------------------------------------------------


def order(sources: Sources, file: Tables, given: Any) -> tuple[dict[str, Any], int]:
    """Queue what a request's body asks for and wait a moment for it: (answer, status)."""
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str):
        raise ParameterError("Send an object: {“kind”: “acknowledge”, “alert”: 1}.")
    kind = given["kind"]
    try:
        payload = alert_orders.check(kind, {name: value for name, value in given.items() if name != "kind"})
        if kind == "rule":
            rulebook(sources, file).changed(payload["name"], payload["table"])
    except ValueError as error:
        raise ParameterError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
    number = sources.store.enqueue(alert_orders.PREFIX + kind, payload, sources.now_ms())
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        found = outcome(sources, number)
        if found["applied"] is not None:
            return found, 200 if found["error"] is None else 409
        time.sleep(LOOK_S)
    return {**outcome(sources, number), "why": SILENT}, 202


def outcome(sources: Sources, number: int) -> dict[str, Any]:
    """{command, applied, error} of a command; ParameterError where there is none about alerts."""
    found = sources.store.command(number)
    if found is None or not found.kind.startswith(alert_orders.PREFIX):
        raise ParameterError(f"There is no command {number}.", 404)
    return {"command": number, "applied": found.applied_ms, "error": found.error}
