"""Where a rule looks: what its instances are, and which series of the catalogue speak of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from telemetry.catalog.cluster import DEPLOYMENT_PREFIX
from telemetry.model import Metric, Ratio, Scope, Series

Key = tuple[str, ...]
"""An instance: its owner (a node, a target, a deployment; nothing for the cluster), then the values of the labels."""


@dataclass(frozen=True, slots=True)
class Place:
    """A kind of thing that rules are about.

    labels: what tells two of one owner apart.
    only: of what is known of every target (its state, its skew), that of nodes or of engines' servers alone.
    passing: whether its instances come and go without a fault, as what is mounted does.
    """

    name: str
    owner: Scope
    labels: tuple[str, ...] = ()
    only: Scope | None = None
    passing: bool = False

    @property
    def owner_label(self) -> str:
        """What the owner of an instance is called: that of an engine is the server it is in."""
        if self.owner is Scope.ENGINE:
            return Scope.TARGET.value
        return self.name if self.name == "channel" else self.owner.value


PLACES: Mapping[str, Place] = {
    place.name: place
    for place in (
        Place("node", Scope.NODE, (), Scope.NODE),
        Place("gpu", Scope.NODE, ("gpu",), Scope.NODE),
        Place("cage", Scope.NODE, ("cage",), Scope.NODE),
        Place("function", Scope.NODE, ("cage", "function"), Scope.NODE),
        Place("sensor", Scope.NODE, ("sensor",), Scope.NODE, passing=True),
        Place("mount", Scope.NODE, ("mount",), Scope.NODE, passing=True),
        Place("target", Scope.TARGET),
        Place("server", Scope.TARGET, (), Scope.ENGINE),
        Place("engine", Scope.ENGINE, ("engine", "model")),
        Place("deployment", Scope.DEPLOYMENT),
        Place("channel", Scope.TARGET),
        Place("cluster", Scope.CLUSTER),
    )
}


@dataclass(frozen=True)
class Members:
    """Who belongs together. engines: (target, engine, model) → deployment; nodes: node → deployment.

    targets: whether a target is a node or an engine's server. servers: an engine's server → deployment of its engines,
    also while it does not answer. channels: names of those that are told of alerts; None where nobody says.
    """

    engines: Mapping[Key, str] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[str, Scope] = field(default_factory=dict)
    servers: Mapping[str, str] = field(default_factory=dict)
    channels: frozenset[str] | None = None

    def deployment_of(self, scope: Scope, key: Key) -> str | None:
        """The deployment of what a key of this scope names; None when it has none, or is none."""
        if scope is Scope.NODE:
            return self.nodes.get(key[0])
        if scope is Scope.ENGINE:
            return self.engines.get(key[:3])
        if scope is Scope.TARGET:
            return self.nodes.get(key[0], self.servers.get(key[0]))
        return key[0] if scope is Scope.DEPLOYMENT else None


OWN, TOGETHER, EVERYWHERE = "own", "together", "everywhere"


def reaches(place: Place, larger: Place) -> bool:
    """Whether an instance of a place can be part of one of a larger place."""
    if larger.owner is Scope.CLUSTER:
        return True
    if larger.owner is Scope.DEPLOYMENT:
        return place.owner is not Scope.CLUSTER and place.name != "channel"
    if place.owner in (Scope.DEPLOYMENT, Scope.CLUSTER) or "channel" in (place.name, larger.name):
        return place is larger
    return len({kind for kind in (_kind(place), _kind(larger)) if kind is not None}) < 2


def _kind(place: Place) -> Scope | None:
    """Of what the owner of its instances is, a node's or an engine's target; None of one that may be both."""
    return place.only if place.owner is Scope.TARGET else place.owner


def level(place: Place, scope: Scope) -> str:
    """How series of a scope reach a place: they are its own, its deployment's, or the whole cluster's."""
    if Scope.CLUSTER in (place.owner, scope):
        return EVERYWHERE
    if place.owner is scope or Scope.TARGET in (place.owner, scope):
        return OWN
    return TOGETHER


def shared(place: Place, metric: Metric | Ratio) -> tuple[str, ...]:
    """The labels by which a metric tells the instances of a place apart: the rest of its labels is folded."""
    return tuple(label for label in place.labels if label in metric.by) if level(place, metric.scope) == OWN else ()


def owner_of(series: Series, scope: Scope) -> Key:
    """Owner of a series as a key of its scope."""
    if scope is Scope.ENGINE:
        return series.target, series.label("engine") or "", series.label("model") or ""
    if scope is Scope.DEPLOYMENT:
        return (series.target.removeprefix(DEPLOYMENT_PREFIX),)
    return (series.label("watched") or series.target,)


def group_of(series: Series, place: Place, metric: Metric | Ratio, members: Members) -> Key | None:
    """The group in which a series is folded for a place; None when it speaks of nothing there."""
    match level(place, metric.scope):
        case "everywhere":
            return ()
        case "together":
            found = members.deployment_of(metric.scope, owner_of(series, metric.scope))
            return None if found is None else (found,)
    owner = owner_of(series, metric.scope)[:1]
    if metric.scope is Scope.TARGET and place.only is not None and members.targets.get(owner[0]) is not place.only:
        return None
    return owner + tuple(series.label(label) or "" for label in shared(place, metric))


def seen_from(key: Key, place: Place, metric: Metric | Ratio, members: Members) -> Key | None:
    """The group that an instance of a place looks at for a metric."""
    match level(place, metric.scope):
        case "everywhere":
            return ()
        case "together":
            found = members.deployment_of(place.owner, key)
            return None if found is None else (found,)
    kept = shared(place, metric)
    return key[:1] + tuple(value for label, value in zip(place.labels, key[1:], strict=True) if label in kept)


def is_gone(place: Place, key: Key, members: Members) -> bool:
    """Whether an instance is surely there no more: not merely silent, nor not heard of yet."""
    if place.owner is Scope.DEPLOYMENT:
        names = {*members.engines.values(), *members.servers.values()}
        return bool(names) and key[0] not in names
    if place is PLACES["channel"]:
        return members.channels is not None and key[0] not in members.channels
    if place.owner is Scope.CLUSTER or not members.targets:
        return False
    if key[0] not in members.targets:
        return True
    answered = {target for target, _, _ in members.engines}
    return place.owner is Scope.ENGINE and key[0] in answered and key[:3] not in members.engines
