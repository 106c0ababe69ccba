"""Conditions over arrays: 1 true, 0 false, NaN unknown, for every instance at every tick."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from alerts import expression as ex
from alerts.places import Key, Place, level, shared
from alerts.view import View
from telemetry.fleet import PEERS_NEEDED
from telemetry.frame import Bools, Floats
from telemetry.model import Scope

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
ROUNDING = 1e-9
"""Two values this close, as a share of the larger, are equal: 0.3 is the same as 3 × 0.1."""


def instances(condition: ex.Condition, place: Place, view: View) -> list[Key]:
    """The instances that a condition can speak of: those for which one of its readings of the place is there."""
    owned = [
        reading
        for reading in view.memory.of(("readings", id(condition)), condition, lambda: ex.readings(condition))
        if level(place, reading.metric.scope) in _OWNED.get(place.owner, ("own",))
        and shared(place, reading.metric) == place.labels
    ]
    tables = [view.table(reading, place).keys for reading in owned]
    name = ("instances", id(condition), place.name, *map(id, tables))
    return view.memory.of(name, (condition, tables), lambda: _instances(tables, place, view))


def _instances(tables: Sequence[Sequence[Key]], place: Place, view: View) -> list[Key]:
    found = dict.fromkeys(key for keys in tables for key in keys)
    if place.owner is Scope.DEPLOYMENT:
        found.update(dict.fromkeys((name,) for name in {*view.members.nodes.values(), *view.members.engines.values()}))
    if place.owner is Scope.CLUSTER:
        found[()] = None
    return sorted(key for key in found if len(key) == len(place.labels) + (place.owner is not Scope.CLUSTER))


_OWNED: Mapping[Scope, tuple[str, ...]] = {Scope.DEPLOYMENT: ("own", "together"), Scope.CLUSTER: ("everywhere",)}


def truth(condition: ex.Condition, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    """Whether a condition holds: float64[instance, tick] of 0, 1 and NaN."""
    shape = (len(keys), len(view.ticks))
    match condition:
        case ex.All(terms):
            return _joined(terms, place, view, keys, decides=0.0)
        case ex.Some(terms):
            return _joined(terms, place, view, keys, decides=1.0)
        case ex.Not(term):
            return 1.0 - truth(term, place, view, keys)
        case ex.Maybe(term):
            return truth(term, place, view, keys)
        case ex.Compare(sign, left, right):
            return _compared(sign, value(left, place, view, keys), value(right, place, view, keys))
        case ex.Is(reading, codes):
            code = value(reading, place, view, keys)
            return _where_known(np.isin(code, codes), code)
        case ex.Has(masked, bits):
            mask = value(masked, place, view, keys)
            return _where_known((np.nan_to_num(mask).astype(np.int64) & bits) != 0, mask)
        case ex.Absent(reading):
            return np.isnan(value(reading, place, view, keys)).astype(np.float64)
        case ex.Differs():
            return np.broadcast_to(_differing(condition, place, view, keys), shape).copy()


def value(of: ex.Value, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    """A value for each instance: float64[instance, tick]."""
    match of:
        case ex.Number(number):
            return np.array([[number]])
        case ex.Reading():
            return view.values(of, place, keys)
        case ex.Arithmetic("/", left, right):
            above, below = value(left, place, view, keys), value(right, place, view, keys)
            return np.asarray(above / np.where(below == 0, np.nan, below))
        case ex.Arithmetic(sign, left, right):
            return np.asarray(OPERATORS[sign](value(left, place, view, keys), value(right, place, view, keys)))
        case ex.Across(larger, inner):
            return value(inner, larger, view, _larger(keys, place, larger, view))
        case ex.Count(where):
            return _counted(truth(where, place, view, keys), _deployments(keys, place, view))
        case ex.Peers(inner, where):
            found = value(inner, place, view, keys)
            if where is not None:
                found = np.where(truth(where, place, view, keys) == 1.0, found, np.nan)
            return _peers(found, _deployments(keys, place, view))


def _joined(terms: Sequence[ex.Condition], place: Place, view: View, keys: Sequence[Key], decides: float) -> Floats:
    """Several terms, one of which is enough to decide. Of those that only corroborate, the unknown ones do not count;
    where nothing else is left, nothing is known."""
    rows: list[Floats] = []
    shape = (len(keys), len(view.ticks))
    for term in terms:
        row = truth(term, place, view, keys)
        rows.append(row if row.shape == shape else np.broadcast_to(row, shape))
        if (rows[-1] == decides).all():
            return rows[-1].copy()
    found = np.stack(rows)
    asked = np.stack(
        [~np.isnan(row) | (not isinstance(term, ex.Maybe)) for row, term in zip(found, terms, strict=True)]
    )
    decided = (found == decides).any(axis=0)
    unknown = (np.isnan(found) & asked).any(axis=0) | ~asked.any(axis=0)
    return np.where(decided, decides, np.where(unknown, np.nan, 1.0 - decides))


def _compared(sign: str, left: Floats, right: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        apart = left - right
        found = OPERATORS[sign](apart, 0.0).astype(np.float64)
        # of two values that are as good as equal half their sum is as good as the larger
        near = np.abs(apart) <= ROUNDING * (np.abs(left) + np.abs(right)) / 2
    if near.any():
        found[near] = float(sign not in ("<", ">", "!="))
    unknown = np.isnan(apart)
    if unknown.any():
        found[unknown] = np.nan
    return np.asarray(found)


def _where_known(found: Bools, of: Floats) -> Floats:
    return np.where(np.isnan(of), np.nan, found.astype(np.float64))


def _larger(keys: Sequence[Key], place: Place, larger: Place, view: View) -> list[Key]:
    name = ("larger", id(keys), place.name, larger.name)
    return view.memory.of(name, keys, lambda: [larger_of(key, place, larger, view) for key in keys])


def larger_of(key: Key, place: Place, larger: Place, view: View) -> Key:
    """The instance of a larger place that an instance is part of."""
    if larger.owner is Scope.CLUSTER:
        return ()
    if larger.owner is Scope.DEPLOYMENT and place.owner is not Scope.DEPLOYMENT:
        return (view.members.deployment_of(place.owner, key) or "",)
    return key[:1] + tuple(value for label, value in zip(place.labels, key[1:], strict=True) if label in larger.labels)


def _deployments(keys: Sequence[Key], place: Place, view: View) -> list[str | None]:
    name = ("deployments", id(keys), place.name)
    return view.memory.of(name, keys, lambda: [view.members.deployment_of(place.owner, key) for key in keys])


def _counted(held: Floats, groups: Sequence[str | None]) -> Floats:
    """How many rows of each row's group are known to hold; unknown for what belongs to none."""
    result = np.full(held.shape, np.nan)
    for group in dict.fromkeys(groups):
        if group is None:
            continue
        rows = [row for row, of in enumerate(groups) if of == group]
        result[rows] = (held[rows] == 1.0).sum(axis=0)
    return result


def _peers(values: Floats, groups: Sequence[str | None]) -> Floats:
    """Median of the others of each row's group: NaN where fewer than PEERS_NEEDED − 1 of them are known, or it has no
    group."""
    result = np.full(values.shape, np.nan)
    for group in dict.fromkeys(groups):
        if group is None:
            continue
        rows = [row for row, of in enumerate(groups) if of == group]
        result[rows] = _others(values[rows])
    return result


def _others(values: Floats) -> Floats:
    """Median over the other rows at each tick, out of one sort of all."""
    order = np.argsort(values, axis=0, kind="stable")  # unknown ones come last
    ordered = np.take_along_axis(values, order, axis=0)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(len(values))[:, np.newaxis], axis=0)
    known = ~np.isnan(values)
    others = known.sum(axis=0) - known
    place = np.where(known, place, len(values))

    def ranked(rank: Any) -> Floats:
        wanted = np.clip(rank + (place <= rank), 0, len(values) - 1)
        return np.take_along_axis(ordered, wanted, axis=0)

    middle = (ranked((others - 1) // 2) + ranked(others // 2)) / 2
    return np.where(others >= PEERS_NEEDED - 1, middle, np.nan)


def _differing(of: ex.Differs, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    """Whether the members of each instance disagree, now: float64[instance, 1]; NaN with fewer than two of them."""
    told = _told(of, view)
    found = [_answers(key, place, view, told) for key in keys]
    return np.array([[float(len(set(texts)) > 1) if len(texts) > 1 else np.nan] for texts in found]).reshape(-1, 1)


def answers(of: ex.Differs, place: Place, key: Key, view: View) -> list[Any]:
    """What the members of an instance say now: the values of a reading, or the different texts of matching facts."""
    return _answers(key, place, view, _told(of, view))


def _told(of: ex.Differs, view: View) -> Mapping[Key, Any]:
    return _facts(of.of, view) if isinstance(of.of, str) else _newest(of.of, of.where, view)


def _facts(pattern: str, view: View) -> Mapping[Key, tuple[str, ...]]:
    """What each node says in the facts whose names match: the different texts, in order."""
    told: dict[Key, set[str]] = {}
    for name, by_node in view.facts.items():
        if fnmatchcase(name, pattern):
            for node, text in by_node.items():
                told.setdefault((node,), set()).add(text)
    return {node: tuple(sorted(texts)) for node, texts in told.items()}


def _newest(reading: ex.Reading, where: ex.Condition | None, view: View) -> Mapping[Key, float]:
    """What each node, and each cage or function of it, says at the last tick; of those that are meant."""
    place = Place("member", reading.metric.scope, reading.metric.by)
    table = view.table(reading, place)
    known = ~np.isnan(table.values[:, -1])
    if where is not None:
        known &= truth(where, place, view, table.keys)[:, -1] == 1.0
    found = zip(table.keys, table.values[:, -1].tolist(), known.tolist(), strict=True)
    return {key: value for key, value, meant in found if meant}


def _answers(key: Key, place: Place, view: View, told: Mapping[Key, Any]) -> list[Any]:
    """What the members of an instance say: the nodes of a deployment, or all series of a node."""
    if place.owner is Scope.DEPLOYMENT:
        return [answer for of, answer in told.items() if view.members.nodes.get(of[0]) == key[0]]
    return [answer for of, answer in told.items() if of[: len(key)] == key or place.owner is Scope.CLUSTER]
