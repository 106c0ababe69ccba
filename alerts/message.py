"""The sentence of an alert: who, what with values and units, for how long, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from alerts import written
from alerts.holes import HOLE, limits
from alerts.operands import Operand
from alerts.places import Key, Place
from alerts.rule import Rule
from telemetry import formatting
from telemetry.model import Scope

MOST = 4
"""What was read, of a rule without a message of its own."""


def subject(rule: Rule, key: Key) -> str:
    """What an instance is called.

    >>> from alerts.rule import rule
    >>> hot = rule("hot", {"title": "Hot", "place": "gpu", "when": "gpu_power_watts > 1 W", "severity": "info"})
    >>> subject(hot, ("spark-07", "0"))
    'spark-07, GPU 0'
    """
    return called(rule.place, key)


def called(place: Place, key: Key) -> str:
    """What an instance of a place is called: "spark-07, GPU 0"."""
    if place.owner is Scope.CLUSTER:
        return "the cluster"
    if place.owner is Scope.DEPLOYMENT:
        return f"deployment {key[0]}"
    if place.owner is Scope.ENGINE:
        return f"{key[0]}, engine {key[1]}"
    last = {"gpu": "GPU"}.get(place.name, place.name)
    return f"{key[0]}, {last} {key[-1]}" if place.labels else key[0]


def message(rule: Rule, key: Key, read: Sequence[Operand], seconds: float) -> str:
    """One sentence. seconds: for how long it has been so."""
    told = _filled(rule, key, read) if rule.message else _listed(rule, key, read)
    lasted = f", for {formatting.span(seconds)}" if seconds >= 1 else ""
    missing = list(dict.fromkeys(one.label for one in read if one.missing))
    unknown = f"; {_joined(missing)} {'is' if len(missing) == 1 else 'are'} not known" if missing else ""
    return told + lasted + unknown


def _filled(rule: Rule, key: Key, read: Sequence[Operand]) -> str:
    """The rule's own words; "spark-07: GPU 0 draws 24 W"."""
    holes = dict(zip(rule.place.labels, key[-len(rule.place.labels) :], strict=True)) if rule.place.labels else {}
    for one in read:
        for name in one.names:
            holes.setdefault(name, one.text)
    holes = {**limits(rule.condition), **written.settings(rule.condition, rule.settings), **holes}
    owner = key[0] if key else "the cluster"
    return f"{owner}: " + HOLE.sub(lambda hole: holes.get(hole[1], formatting.UNKNOWN_TEXT), rule.message)


def _listed(rule: Rule, key: Key, read: Sequence[Operand]) -> str:
    known = [f"{one.label} {one.text}" for one in read if one.value is not None][:MOST]
    return f"{subject(rule, key)}: {rule.title}" + (f" ({', '.join(known)})" if known else "")


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(texts[:-1]) + (" and " if len(texts) > 1 else "") + texts[-1]
