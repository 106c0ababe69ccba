"""One alert per cause: which firing alerts follow from another that fires."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from alerts.expression import readings
from alerts.given import TARGET_STATE
from alerts.machine import Standing
from alerts.places import EVERYWHERE, OWN, Key, Members, level
from alerts.rule import Rule
from telemetry.model import Scope

Firing = tuple[str, Key]
LAG_MS = 60_000
"""What was well again for longer than this before something else began has not led to it, though its alert may still
wait for its end."""

LATER_MS = 120_000
"""What began for longer than this after something else has not led to it. Not all is seen at once: a node is called
silent after other things have said so."""


def causes(
    firing: Collection[Firing],
    rules: Mapping[str, Rule],
    members: Members,
    standings: Mapping[Firing, Standing] | None = None,
) -> dict[Firing, Firing]:
    """For each firing alert that another explains, the one that does, at the end of the chain.

    A rule names those that it may be because of. One of them explains it when it fires on the same owner (node, target,
    engine), on its deployment, on one of its members, or on the whole cluster; that of an engine's server also when it
    fires on a node of the deployment. Of several the first named counts, then
    the first by name: the order in which they are given changes nothing.

    standings: where they stand, as far as it is known: what ended well before an alert began explains nothing of it,
    and so does what began well after it, except where both are stages of one thing,
    or nothing is known of its own node or engine any more.
    """
    standings = standings or {}
    direct: dict[Firing, Firing] = {}
    by_rule: dict[str, list[Firing]] = {}
    for alert in sorted(firing):
        by_rule.setdefault(alert[0], []).append(alert)
    for alert in sorted(firing):
        found = _cause(alert, by_rule, rules, members, standings)
        if found is not None:
            direct[alert] = found
    roots = {alert: _root(alert, direct) for alert in direct}
    return {alert: root for alert, root in roots.items() if alert != root}


def _cause(
    alert: Firing,
    by_rule: Mapping[str, Sequence[Firing]],
    rules: Mapping[str, Rule],
    members: Members,
    standings: Mapping[Firing, Standing],
) -> Firing | None:
    if alert[0] not in rules:
        return None
    for name in rules[alert[0]].because_of:
        for other in by_rule.get(name, ()):
            if other == alert or name not in rules or not _touch(alert, other, rules, members):
                continue
            cause, then = standings.get(other), standings.get(alert)
            late = _came_later(cause, then) and not _one_thing(rules[name], rules[alert[0]])
            if not _was_over(cause, then) and (not late or _hides(rules[name], other, alert)):
                return other
    return None


def _was_over(cause: Standing | None, then: Standing | None) -> bool:
    """Whether a cause was well again, for longer than may lie between the two, when something else began."""
    return cause is not None and then is not None and cause.lasted_to_ms + LAG_MS < then.began_ms


def _came_later(cause: Standing | None, then: Standing | None) -> bool:
    """Whether a cause began well after what it would explain."""
    return cause is not None and then is not None and later(cause.began_ms, then.began_ms)


def later(cause_ms: int, then_ms: int) -> bool:
    """Whether what began at one instant began too late to have led to what began at the other."""
    return cause_ms > then_ms + LATER_MS


def _hides(rule: Rule, cause: Firing, alert: Firing) -> bool:
    """Whether nothing is known of an alert's own node or engine while the cause lasts, whenever it began."""
    silent = any(reading.metric.name == TARGET_STATE.name for reading in readings(rule.condition))
    return silent and cause[1][:1] == alert[1][:1]


def _one_thing(one: Rule, other: Rule) -> bool:
    """Whether two rules whose alerts touch are of the same part, such as a GPU, or read a metric in common: what they
    tell of are stages of one thing, and the graver one may come later."""
    read = [{reading.metric.name for reading in readings(rule.condition)} for rule in (one, other)]
    return bool(one.place is other.place and one.place.labels) or not read[0].isdisjoint(read[1])


def _touch(alert: Firing, cause: Firing, rules: Mapping[str, Rule], members: Members) -> bool:
    """Whether two alerts speak of the same thing, or of parts of the same."""
    one, other = rules[alert[0]].place, rules[cause[0]].place
    how = level(one, other.owner)
    if how == EVERYWHERE:
        return True
    if how == OWN and (alert[1][:1] == cause[1][:1] or Scope.TARGET not in (one.owner, other.owner)):
        return alert[1][:1] == cause[1][:1] and all(
            alert[1][1 + one.labels.index(label)] == cause[1][1 + other.labels.index(label)]
            for label in one.labels
            if label in other.labels
        )
    deployment = members.deployment_of(one.owner, alert[1])
    return deployment is not None and deployment == members.deployment_of(other.owner, cause[1])


def _root(alert: Firing, direct: Mapping[Firing, Firing]) -> Firing:
    """The end of a chain; where it goes in a circle the first of that by name, which is told."""
    way = [alert]
    while (found := direct.get(way[-1])) is not None:
        if found in way:
            return min(way[way.index(found) :])
        way.append(found)
    return way[-1]
