"""Answers about alerts and silences, and what people ask to be done. docs/api.md describes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from alerts.defaults import Tables
from alerts.machine import Phase, Standing
from alerts.message import subject
from alerts.places import Key
from alerts.record import MATCHERS, Alert, Silence, of_instances, silenced_by, speaking, standings_of
from alerts.rule import Rule
from alerts.rulebook import Rulebook
from dashboard.api import parameters
from dashboard.api.alert_shape import shape
from dashboard.api.awaited import UNHEARD, WAIT_S, awaited
from dashboard.api.known import METRICS
from dashboard.api.parameters import ParameterError
from dashboard.api.rule_answers import rule_json, rulebook
from dashboard.api.rule_limits import rulebook_to_read
from dashboard.sources import Sources
from pipeline import alert_orders
from storage.alerts import AlertFilter

KNOWN = ("state", "rule", "node", "deployment", "severity", "run", "start", "end", "text", "limit")
DEFAULT_LIMIT, MOST = 1_000, 10_000
OLD_COMMIT_MS = 10_000
OF_TARGETS = METRICS["node"] | METRICS["engine"]


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
        limit=MOST if given.get("text") else limit,
    )
    every = {  # by number: one may end between the two looks
        alert.id: alert
        for goes_on in ((True, False) if wanted.firing is None else (wanted.firing,))
        for alert in sources.store.alerts(replace(wanted, firing=goes_on))
    }
    found = _matching([*every.values()], given.get("text", ""))[:limit]
    beside = _beside(sources, file)
    return {
        "alerts": [alert_json(alert, beside) for alert in found],
        "pending": _pending(beside.stand, beside.book),
        "monitor": monitor(sources),
    }


def _matching(found: Sequence[Alert], text: str) -> list[Alert]:
    """Those in whose sentence, title, rule, instance or end each word of a text is found, in whatever letters."""
    words = text.casefold().split()

    def told(alert: Alert) -> str:
        return " ".join((alert.title, alert.rule, alert.message, *alert.key, alert.deployment, alert.ended)).casefold()

    return [alert for alert in found if all(word in told(alert) for word in words)] if words else list(found)


def monitor(sources: Sources) -> dict[str, Any]:
    """{commit_age_ms, silent}: how old the last commit is, None where there is none; whether that is too old for what
    is told of alerts to be of now."""
    commit = sources.store.latest_commit()
    age = None if commit is None else max(sources.now_ms() - commit.at_ms, 0)
    return {"commit_age_ms": age, "silent": age is None or age > OLD_COMMIT_MS}


def silent_since(sources: Sources) -> int | None:
    """The instant of the newest commit of a collector that is silent; None of one that is not, or never wrote."""
    found = monitor(sources)
    return sources.now_ms() - found["commit_age_ms"] if found["silent"] and found["commit_age_ms"] is not None else None


Standings = Mapping[tuple[str, Key], Standing]


@dataclass(frozen=True, slots=True)
class Beside:
    """What an alert is told with. firing: numbers of those that fire and are not silenced. stand: where instances
    stand. silences: that hold or are to come. held: alert → channels to which the limit of messages in an hour holds
    something of it back."""

    now_ms: int
    firing: frozenset[int]
    stand: Standings
    silences: Sequence[Silence]
    book: Rulebook
    held: Mapping[int, Sequence[str]] = field(default_factory=dict)


def _beside(sources: Sources, file: Tables) -> Beside:
    now = sources.now_ms()
    silences = sources.store.silences(now)
    firing = frozenset(speaking(sources.store.alerts(AlertFilter(firing=True)), silences, now))
    return Beside(now, firing, _standings(sources), silences, rulebook_to_read(sources, file), _held(sources))


def _held(sources: Sources) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for one in sources.store.memories():
        for number in one.memory.held:
            found.setdefault(number, []).append(one.channel)
    return found


def _standings(sources: Sources) -> Standings:
    return {
        (one.rule, key): standing
        for one in of_instances(sources.store.standings())
        for key, standing in standings_of(one.state).items()
    }


def one(sources: Sources, file: Tables, number: int) -> dict[str, Any]:
    """{alert, effects, because, silenced, rule, now}: an alert, those that fired because of it, the one that it follows
    from and the silence that hides it (None of none), and its rule as it is now; ParameterError where there is none."""
    alert = known(sources, number)
    beside = _beside(sources, file)
    around = sources.store.alerts(AlertFilter(start_ms=alert.fired_ms, end_ms=alert.ended_ms))
    cause = None if alert.cause is None else sources.store.alert(alert.cause)
    silence = _silence_of(alert, beside)
    rule = beside.book.rules.get(alert.rule)
    return {
        "alert": alert_json(alert, beside),
        "effects": [alert_json(other, beside) for other in around if other.cause == number],
        "because": None if cause is None else alert_json(cause, beside),
        "silenced": None if silence is None else silence_json(silence, beside.now_ms),
        "rule": None if rule is None else rule_json(rule, beside.book),
        "now": beside.now_ms,
    }


def known(sources: Sources, number: int) -> Alert:
    """An alert by its number; ParameterError where there is none."""
    alert = sources.store.alert(number)
    if alert is None:
        raise ParameterError(f"There is no alert {number}.", 404)
    return alert


def _silence_of(alert: Alert, beside: Beside) -> Silence | None:
    return silenced_by(alert, beside.silences, beside.now_ms) if alert.firing else None


def _subject(alert: Alert, book: Rulebook) -> str:
    """What it is about in words; of a rule that is gone or is about something else now, the names alone."""
    rule = book.rules.get(alert.rule)
    return subject(rule, alert.key) if rule is not None and rule.place.name == alert.place else ", ".join(alert.key)


def alert_json(alert: Alert, beside: Beside) -> dict[str, Any]:
    """An alert. known: whether anything is known of its condition; condition: what (see `Standing.condition`).

    ends_in_s: how much longer it must be well until it is over. All three are null where they say nothing.
    """
    silence = _silence_of(alert, beside)
    standing = beside.stand.get((alert.rule, alert.key)) if alert.firing else None
    number, state = None if silence is None else silence.id, state_of(alert, beside.firing, silence)
    runbook = beside.book.rules[alert.rule].runbook if alert.rule in beside.book.rules else ""
    return {
        "id": alert.id,
        "rule": alert.rule,
        "title": alert.title,
        "place": alert.place,
        "key": list(alert.key),
        "subject": _subject(alert, beside.book),
        "severity": alert.severity,
        "deployment": alert.deployment,
        "state": state,
        "began": alert.began_ms,
        "fired": alert.fired_ms,
        "ended": alert.ended_ms,
        "why_ended": alert.ended,
        "message": alert.message,
        "values": [dict(value) for value in alert.values],
        **_standing(standing, beside.book.rules.get(alert.rule)),
        "cause": alert.cause,
        "silence": number,
        "acknowledged": alert.acknowledged_ms,
        "acknowledged_by": alert.acknowledged_by,
        "held_back": list(beside.held.get(alert.id, ())),
        "run": alert.run,
        "revision": alert.revision,
        **shape(alert, state, number, runbook),
    }


def _standing(standing: Standing | None, rule: Rule | None) -> dict[str, Any]:
    if standing is None:
        return {"known": None, "condition": None, "ends_in_s": None}
    ending = standing.condition == "ending" and rule is not None
    left_ms = max(rule.timing.clear_for_ms - standing.counted_ms, 0) if ending and rule is not None else None
    return {
        "known": standing.known,
        "condition": standing.condition,
        "ends_in_s": None if left_ms is None else left_ms / 1000,
    }


def state_of(alert: Alert, firing: Collection[int], silence: Silence | None) -> str:
    """firing, acknowledged, silenced, inhibited (its cause is in `firing`), resolved. firing: of `Beside`."""
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


# Silences -------------------------------------------------------------------------------------------------------------


def silences(sources: Sources) -> dict[str, Any]:
    """{silences}: those that hold or are to come first, then the newest."""
    now = sources.now_ms()
    found = sorted(sources.store.silences(), key=lambda one: (one.end_ms <= now, -one.start_ms, -one.id))
    return {"silences": [silence_json(one, now) for one in found]}


def silence_json(one: Silence, now_ms: int) -> dict[str, Any]:
    """A silence. problem: why it hides nothing, "" of one that does, or is over."""
    problem = one.problem if one.end_ms > now_ms else ""
    state = "broken" if problem else "active" if one.active(now_ms) else "planned" if one.end_ms > now_ms else "over"
    return {
        "id": one.id,
        "state": state,
        "problem": problem,
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
    (found,) = awaited(sources, [number], lambda one: outcome(sources, one), WAIT_S)
    if kind == "silence" and found["applied"] is not None and found["error"] is None:
        found = {**found, "note": strangers(sources, payload)}
    if found["error"] is not None:
        return found, 409
    return found, 200 if found["applied"] is not None else UNHEARD


def strangers(sources: Sources, silence: Mapping[str, Any]) -> str:
    """What a silence is about and nobody knows here, "" of none: it is taken all the same, since a machine may be
    planned, and said, since it may be misspelt."""
    targets = {one.name for one in sources.store.targets()}
    there: Mapping[str, Callable[[str], bool]] = {
        "node": lambda name: name in targets or name in sources.store.recorded(OF_TARGETS),
        "deployment": lambda name: any(one.deployment == name for one in sources.store.detectors()),
    }
    asked: Mapping[str, Callable[[str], AlertFilter]] = {
        "node": lambda name: AlertFilter(owner=name, limit=1),
        "deployment": lambda name: AlertFilter(deployment=name, limit=1),
    }
    unknown = [
        f"no {kind} {name} is known"
        for kind, known_here in there.items()
        if (name := silence.get(kind)) and not known_here(name) and not sources.store.alerts(asked[kind](name))
    ]
    return ", ".join(unknown)


def outcome(sources: Sources, number: int) -> dict[str, Any]:
    """{command, applied, error} of a command; ParameterError where there is none about alerts."""
    found = sources.store.command(number)
    if found is None or not found.kind.startswith(alert_orders.PREFIX):
        raise ParameterError(f"There is no command {number}.", 404)
    return {"command": number, "applied": found.applied_ms, "error": found.error}
