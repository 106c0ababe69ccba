"""One alert per cause: which firing alerts follow from another that fires."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from alerts.machine import Standing
from alerts.places import EVERYWHERE, OWN, Key, Members, level
from alerts.rule import Rule
from telemetry.model import Scope

Firing = tuple[str, Key]
LAG_MS = 60_000
"""What was well again for longer than this before something else began has not led to it, though its alert may still
wait for its end."""


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

    standings: where they stand, as far as it is known: what ended well before an alert began explains nothing of it.
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
            if not _was_over(standings.get(other), standings.get(alert)):
                return other
    return None


def _was_over(cause: Standing | None, then: Standing | None) -> bool:
    """Whether a cause was well again, for longer than may lie between the two, when something else began."""
    return cause is not None and then is not None and cause.lasted_to_ms + LAG_MS < then.began_ms


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
