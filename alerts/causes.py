"""One alert per cause: which firing alerts follow from another that fires."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from alerts.places import EVERYWHERE, OWN, Key, Members, level
from alerts.rule import Rule
from telemetry.model import Scope

Firing = tuple[str, Key]


def causes(firing: Collection[Firing], rules: Mapping[str, Rule], members: Members) -> dict[Firing, Firing]:
    """For each firing alert that another explains, the one that does, at the end of the chain.

    A rule names those that it may be because of. One of them explains it when it fires on the same owner (node, target,
    engine), on its deployment, on one of its members, or on the whole cluster; that of an engine's server also when it
    fires on a node of the deployment. Of several the first named counts, then
    the first by name: the order in which they are given changes nothing.
    """
    direct: dict[Firing, Firing] = {}
    by_rule: dict[str, list[Firing]] = {}
    for alert in sorted(firing):
        by_rule.setdefault(alert[0], []).append(alert)
    for alert in sorted(firing):
        found = _cause(alert, by_rule, rules, members)
        if found is not None:
            direct[alert] = found
    return {alert: _root(alert, direct) for alert in direct}


def _cause(
    alert: Firing, by_rule: Mapping[str, Sequence[Firing]], rules: Mapping[str, Rule], members: Members
) -> Firing | None:
    if alert[0] not in rules:
        return None
    for name in rules[alert[0]].because_of:
        for other in by_rule.get(name, ()):
            if other != alert and name in rules and _touch(alert, other, rules, members):
                return other
    return None


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
    seen = {alert}
    while (found := direct.get(alert)) is not None and found not in seen:
        seen.add(found)
        alert = found
    return alert
