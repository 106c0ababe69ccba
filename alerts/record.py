"""What is kept of alerts: one that fired, a silence, a change of a rule, and where a rule's instances stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from alerts.machine import Phase, Standing
from alerts.places import Key
from alerts.weekly import Weekly


@dataclass(frozen=True, slots=True)
class Alert:
    """An instance of a rule that fired.

    place: name of the rule's place; key: the instance there. deployment: that it belonged to, "" where none is known.
    began_ms: since when the condition held; fired_ms: when it fired; ended_ms: None while it fires. ended: why it is
    over. cause: number of the alert that explains it, None of one that stands for itself.
    values: what the condition read when it fired, see `alerts.operands`. message: the sentence.
    run: the run that went on. revision: rises with each change.
    """

    id: int
    rule: str
    title: str
    place: str
    key: Key
    severity: str
    deployment: str
    began_ms: int
    fired_ms: int
    message: str
    values: tuple[Mapping[str, Any], ...] = ()
    ended_ms: int | None = None
    ended: str = ""
    cause: int | None = None
    acknowledged_ms: int | None = None
    acknowledged_by: str = ""
    run: int | None = None
    revision: int = 1

    @property
    def firing(self) -> bool:
        """Whether it goes on."""
        return self.ended_ms is None

    @property
    def owner(self) -> str:
        """The node, target or deployment that it is about, "" of the cluster."""
        return self.key[0] if self.key else ""


@dataclass(frozen=True, slots=True)
class Silence:
    """From when to when nobody is told of alerts that match. Each field of the matcher that is "" matches all.

    rule: a rule's name. node: a node or another target. deployment, severity: of the alert. weekly: it holds in this
    window of every week between start and end, None for all of the time. unread: what was kept of it, and nobody
    understands.
    """

    id: int
    start_ms: int
    end_ms: int
    rule: str = ""
    node: str = ""
    deployment: str = ""
    severity: str = ""
    comment: str = ""
    by: str = ""
    made_ms: int = 0
    weekly: Weekly | None = None
    unread: tuple[str, ...] = ()

    @property
    def problem(self) -> str:
        """Why it hides nothing, "" of one that does: what it is about, or when it holds, cannot be read."""
        if self.unread:
            return f"it says {', '.join(self.unread)}, which is not understood"
        return "" if self.weekly is None else self.weekly.problem()

    def active(self, at_ms: int) -> bool:
        """Whether it holds at an instant; never one with a `problem`."""
        if self.problem or not self.start_ms <= at_ms < self.end_ms:
            return False
        return self.weekly is None or self.weekly.holds(at_ms)

    def matches(self, alert: Alert) -> bool:
        """Whether an alert is meant, whenever."""
        asked = (
            (self.rule, alert.rule),
            (self.node, alert.owner),
            (self.deployment, alert.deployment),
            (self.severity, alert.severity),
        )
        return all(wanted in ("", value) for wanted, value in asked)


MATCHERS = ("rule", "node", "deployment", "severity")
"""Fields of a silence that say which alerts it is about."""


def silenced_by(alert: Alert, silences: Sequence[Silence], at_ms: int) -> Silence | None:
    """The silence that hides an alert at an instant: the first made."""
    return next((one for one in silences if one.active(at_ms) and one.matches(alert)), None)


def speaking(firing: Iterable[Alert], silences: Sequence[Silence], at_ms: int) -> dict[int, str]:
    """Numbers and severities of alerts that fire and are told, so that others can be what follows from them.

    A silence hides what it matches and nothing else: what follows from an alert that is silenced stands for itself.
    """
    return {alert.id: alert.severity for alert in firing if silenced_by(alert, silences, at_ms) is None}


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What people made of a rule: their fields of it from then on (None: what came with the product and the file)."""

    id: int
    name: str
    table: Mapping[str, Any] | None
    at_ms: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class RuleState:
    """Where the instances of a rule stand that are not simply inactive (JSON, see `standings_json`)."""

    rule: str
    state: Sequence[Any]


FAULT = "?"
"""In front of a rule's name: this is not where it stands, but why it cannot be worked out."""
WRITTEN = "="
"""In place of a rule's name: what decides of all rules, see `alerts.renewed`."""


def of_instances(states: Iterable[RuleState]) -> list[RuleState]:
    """Those that say where instances of a rule stand."""
    return [one for one in states if one.rule[:1] not in (FAULT, WRITTEN)]


def fault_state(rule: str, why: str) -> RuleState:
    """What is kept of a rule that cannot be worked out; of one that can be again, where `why` is ""."""
    return RuleState(FAULT + rule, [why] if why else [])


def faults(states: Iterable[RuleState]) -> dict[str, str]:
    """Why rules cannot be worked out, by name."""
    return {
        one.rule.removeprefix(FAULT): str(one.state[0]) for one in states if one.rule.startswith(FAULT) and one.state
    }


@dataclass(frozen=True, slots=True)
class AlertPart:
    """Something that is kept with an alert (JSON)."""

    alert: int
    kind: str
    value: Any


_FIELDS = tuple(one.name for one in fields(Standing) if one.name != "phase")


def standings_json(standings: Mapping[Key, Standing]) -> list[Any]:
    """[[key, phase, …], …], by key."""
    return [
        [list(key), one.phase.value, *(getattr(one, name) for name in _FIELDS)]
        for key, one in sorted(standings.items())
    ]


def standings_of(state: Sequence[Any]) -> dict[Key, Standing]:
    """What `standings_json` wrote. ValueError, TypeError for what it did not."""
    return {tuple(key): Standing(Phase(phase), **_told(rest)) for key, phase, *rest in state}


def _told(rest: Sequence[Any]) -> dict[str, Any]:
    """Fields of a standing; earlier versions did not write the last one."""
    if len(rest) not in (len(_FIELDS), len(_FIELDS) - 1):
        raise ValueError(f"{len(rest)} values say where a rule stands, not {len(_FIELDS)}")
    return dict(zip(_FIELDS, rest, strict=False))
