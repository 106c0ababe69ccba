"""Conditions over arrays: 1 true, 0 false, NaN unknown, for every instance at every tick."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from alerts import expression as ex
from alerts.bounds import members
from alerts.places import Key, Place, level, shared
from alerts.view import View, of_samples
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
Numbers = npt.NDArray[np.intp]
ROUNDING = 1e-9
"""Two values this close, as a share of the larger, are equal: 0.3 is the same as 3 × 0.1."""


def instances(condition: ex.Condition | ex.Value, place: Place, view: View) -> list[Key]:
    """The instances that a condition, or a value, can speak of: those for which one of its readings of the place is
    there."""
    memory = view.memory
    mine, fixed = memory.of(("owned", id(condition), place.name), condition, lambda: _owned(condition, place))
    groups = () if fixed else tuple(view.keys(reading, place) for reading in mine)
    name = ("instances", id(condition), place.name, *map(id, groups))
    return memory.of(name, (condition, groups), lambda: _instances(mine, place, view))


def owned(condition: ex.Condition | ex.Value, place: Place) -> list[ex.Reading]:
    """The readings of a condition that instances of the place have of their own."""
    return _owned(condition, place)[0]


def _owned(condition: ex.Condition | ex.Value, place: Place) -> tuple[list[ex.Reading], bool]:
    """Readings that instances of the place have of their own, and whether whose they are follows from series alone."""
    found = [
        reading
        for reading in ex.readings(condition)
        if level(place, reading.metric.scope) in _OWNED.get(place.owner, ("own",))
        and shared(place, reading.metric) == place.labels
    ]
    return found, all(of_samples(reading) for reading in found)


def _instances(mine: Sequence[ex.Reading], place: Place, view: View) -> list[Key]:
    found = dict.fromkeys(key for reading in mine for key in view.keys(reading, place))
    if place.owner is Scope.DEPLOYMENT:
        found.update(dict.fromkeys((name,) for name in {*view.members.nodes.values(), *view.members.engines.values()}))
    if place.owner is Scope.CLUSTER:
        found[()] = None
    keys = sorted(key for key in found if len(key) == len(place.labels) + (place.owner is not Scope.CLUSTER))
    return view.memory.of(("keys", place.name, *keys), None, lambda: keys)  # which rules share


_OWNED: Mapping[Scope, tuple[str, ...]] = {Scope.DEPLOYMENT: ("own", "together"), Scope.CLUSTER: ("everywhere",)}


def truth(condition: ex.Condition, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    """Whether a condition holds: float64[instance, tick] of 0, 1 and NaN."""
    with np.errstate(invalid="ignore"):
        return _truth(condition, place, view, keys)


def value(of: ex.Value, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    """A value for each instance: float64[instance, tick]; of a number alone it is one."""
    with np.errstate(invalid="ignore"):
        return _value(of, place, view, keys)


def _truth(condition: ex.Condition, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    match condition:
        case ex.Compare(sign, left, right):
            return _compared(sign, _value(left, place, view, keys), _value(right, place, view, keys))
        case ex.All(terms):
            return _joined(terms, place, view, keys, decides=0.0)
        case ex.Some(terms):
            return _joined(terms, place, view, keys, decides=1.0)
        case ex.Not(term):
            return 1.0 - _truth(term, place, view, keys)
        case ex.Maybe(term):
            return _truth(term, place, view, keys)
        case ex.Is(reading, codes):
            code = _value(reading, place, view, keys)
            return _where_known(functools.reduce(np.logical_or, [code == one for one in codes]), code)
        case ex.Has(masked, bits):
            mask = _value(masked, place, view, keys)
            return _where_known((np.where(np.isnan(mask), 0.0, mask).astype(np.int64) & bits) != 0, mask)
        case ex.Absent(reading):
            return np.isnan(_value(reading, place, view, keys)).astype(np.float64)
        case ex.Differs():
            found = differing(condition, place, view, keys)
            return np.broadcast_to(found, (len(keys), len(view.ticks))).copy()


def _value(of: ex.Value, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    match of:
        case ex.Number(number):
            return np.array(number)
        case ex.Reading():
            return view.values(of, place, keys)
        case ex.Arithmetic("/", left, right):
            above, below = _value(left, place, view, keys), _value(right, place, view, keys)
            return np.asarray(above / np.where(below == 0, np.nan, below))
        case ex.Arithmetic(sign, left, right):
            return np.asarray(OPERATORS[sign](_value(left, place, view, keys), _value(right, place, view, keys)))
        case ex.Across(larger, inner):
            wholes, rows = around(of, place, view, keys)
            found = _value(inner, larger, view, wholes)
            return found[rows] if found.ndim else found
        case ex.Count(where):
            return _counted(_truth(where, place, view, keys), _deployments(keys, place, view))
        case ex.Peers(inner, where):
            found = _value(inner, place, view, keys)
            if where is not None:
                found = np.where(_truth(where, place, view, keys) == 1.0, found, np.nan)
            return _peers(found, _deployments(keys, place, view))


def _joined(terms: Sequence[ex.Condition], place: Place, view: View, keys: Sequence[Key], decides: float) -> Floats:
    """Several terms, one of which is enough to decide. Of those that only corroborate, the unknown ones do not count;
    where nothing else is left, nothing is known."""
    shape = (len(keys), len(view.ticks))
    decided, rest = np.array(False), []
    for term in terms:
        row = _truth(term, place, view, keys)
        decided = decided | (row == decides)
        if decided.all():
            return np.full(shape, decides)
        rest.append(row)
    missing = _unknown(terms, rest)
    return np.broadcast_to(np.where(decided, decides, np.where(missing, np.nan, 1.0 - decides)), shape)


def _unknown(terms: Sequence[ex.Condition], rows: Sequence[Floats]) -> Bools:
    """Where a term that is needed is unknown; all of them, where none is needed."""
    needed = [np.isnan(row) for term, row in zip(terms, rows, strict=True) if not isinstance(term, ex.Maybe)]
    if needed:
        return functools.reduce(np.logical_or, needed)
    return functools.reduce(np.logical_and, [np.isnan(row) for row in rows])


def _compared(sign: str, left: Floats, right: Floats) -> Floats:
    apart = np.asarray(left - right)
    found = np.asarray(OPERATORS[sign](apart, 0.0), dtype=np.float64)
    # of two values that are as good as equal half their sum is as good as the larger
    clear = np.asarray(np.abs(apart) > ROUNDING / 2 * (np.abs(left) + np.abs(right)))
    if not clear.all():
        found[~clear] = float(sign not in ("<", ">", "!="))
        found[np.isnan(apart)] = np.nan
    return found


def _where_known(found: Bools, of: Floats) -> Floats:
    return np.where(np.isnan(of), np.nan, found)


def around(of: ex.Across, place: Place, view: View, keys: Sequence[Key]) -> tuple[Sequence[Key], Numbers]:
    """The different larger things that instances are part of, and for each instance the number of its own.

    Each is there once, however many instances it has. Where one is compared with others, or these are counted, those
    are there, too, of which no instance is part.
    """
    others = instances(of.value, of.place, view) if _looks_at_others(of.value) else ()

    def make() -> tuple[Sequence[Key], Numbers]:
        own = [larger_of(key, place, of.place, view) for key in keys]
        wholes = sorted({*own, *others})
        numbers = {key: number for number, key in enumerate(wholes)}
        return wholes, np.array([numbers[key] for key in own], dtype=np.intp)

    return view.memory.of(("around", id(keys), place.name, of.place.name, id(others)), (keys, others), make)


def _looks_at_others(of: ex.Condition | ex.Value) -> bool:
    return isinstance(of, ex.Peers | ex.Count) or any(_looks_at_others(part) for part in ex.parts(of))


def larger_of(key: Key, place: Place, larger: Place, view: View) -> Key:
    """The instance of a larger place that an instance is part of."""
    if larger.owner is Scope.CLUSTER:
        return ()
    if larger.owner is Scope.DEPLOYMENT and place.owner is not Scope.DEPLOYMENT:
        return (view.members.deployment_of(place.owner, key) or "",)
    return key[:1] + tuple(value for label, value in zip(place.labels, key[1:], strict=True) if label in larger.labels)


def _deployments(keys: Sequence[Key], place: Place, view: View) -> list[Numbers]:
    """The rows of each deployment, of those that have one."""

    def make() -> list[Numbers]:
        groups: dict[str, list[int]] = {}
        for row, key in enumerate(keys):
            if (name := view.members.deployment_of(place.owner, key)) is not None:
                groups.setdefault(name, []).append(row)
        return [np.array(rows, dtype=np.intp) for rows in groups.values()]

    return view.memory.of(("deployments", id(keys), place.name), keys, make)


def _counted(held: Floats, groups: Sequence[Numbers]) -> Floats:
    """How many rows of each row's group are known to hold; unknown for what belongs to none."""
    result = np.full(held.shape, np.nan)
    for rows in groups:
        result[rows] = (held[rows] == 1.0).sum(axis=0)
    return result


def _peers(values: Floats, groups: Sequence[Numbers]) -> Floats:
    """Median of the others of each row's group: NaN where fewer than PEERS_NEEDED − 1 of them are known, or it has no
    group."""
    result = np.full(values.shape, np.nan)
    for rows in groups:
        result[rows] = _others(values[rows])
    return result


def _others(values: Floats) -> Floats:
    """Median over the other rows at each tick, out of one sort of all."""
    count, columns = len(values), np.arange(values.shape[1])
    order = np.argsort(values, axis=0, kind="stable")  # unknown ones come last
    ordered = values[order, columns]
    place = np.empty_like(order)
    place[order, columns] = np.arange(count)[:, np.newaxis]
    known = ~np.isnan(values)
    others = known.sum(axis=0) - known
    place = np.where(known, place, count)

    def ranked(rank: Any) -> Floats:
        wanted = np.clip(rank + (place <= rank), 0, count - 1)
        return np.asarray(ordered[wanted, columns])

    middle = (ranked((others - 1) // 2) + ranked(others // 2)) / 2
    return np.where(others >= PEERS_NEEDED - 1, middle, np.nan)


# What differs --------------------------------------------------------------------------------------------------------


def differing(of: ex.Differs, place: Place, view: View, keys: Sequence[Key]) -> Floats:
    """Whether the members of each instance disagree, now: float64[instance, 1]; NaN with fewer than two of them."""
    if not isinstance(of.of, str):
        return _numbers_apart(of.of, of.where, place, view, keys)
    told = _told(of, view)
    name = ("differs", of.of, place.name, id(keys))
    return view.memory.latest(name, told, lambda: (keys, _texts_apart(told, place, view, keys)))[1]


def _texts_apart(told: Mapping[Key, Any], place: Place, view: View, keys: Sequence[Key]) -> Floats:
    found = [_answers(key, place, view, told) for key in keys]
    return np.array([[float(len(set(texts)) > 1) if len(texts) > 1 else np.nan] for texts in found]).reshape(-1, 1)


def _numbers_apart(
    reading: ex.Reading, where: ex.Condition | None, place: Place, view: View, keys: Sequence[Key]
) -> Floats:
    """Whether the least and the largest of what each instance's members say are two."""
    named, values = _newest(reading, where, view)
    name = ("members", id(named), place.name, id(keys))
    order, starts, at = view.memory.of(name, (named, keys), lambda: _by_instance(named, place, view, keys))
    result = np.full((len(keys), 1), np.nan)
    if len(order):
        found = values[order]
        known = np.add.reduceat((~np.isnan(found)).astype(np.intp), starts)
        apart = np.fmax.reduceat(found, starts) > np.fmin.reduceat(found, starts)
        result[at, 0] = np.where(known > 1, apart, np.nan)
    return result


def _by_instance(
    named: Sequence[Key], place: Place, view: View, keys: Sequence[Key]
) -> tuple[Numbers, Numbers, Numbers]:
    """Members one instance after the other, where each instance's begin, and which instances these are."""
    rows = [[row for row, of in enumerate(named) if _is_of(of, key, place, view)] for key in keys]
    some = [at for at, own in enumerate(rows) if own]
    starts = np.cumsum([0, *(len(rows[at]) for at in some)])[:-1]
    order = [row for at in some for row in rows[at]]
    return np.array(order, dtype=np.intp), starts.astype(np.intp), np.array(some, dtype=np.intp)


def answers(of: ex.Differs, place: Place, key: Key, view: View) -> list[Any]:
    """What the members of an instance say now: the values of a reading, or the different texts of matching facts."""
    return _answers(key, place, view, _told(of, view))


def _told(of: ex.Differs, view: View) -> Mapping[Key, Any]:
    """What each member says: its texts, or its number where it is meant."""
    if isinstance(of.of, str):
        pattern = of.of
        return view.memory.latest(("facts", pattern), view.facts, lambda: _facts(pattern, view))
    named, values = _newest(of.of, of.where, view)
    return {key: value for key, value in zip(named, values.tolist(), strict=True) if value == value}


def _facts(pattern: str, view: View) -> Mapping[Key, tuple[str, ...]]:
    """What each node says in the facts whose names match: the different texts, in order."""
    told: dict[Key, set[str]] = {}
    for name, by_node in view.facts.items():
        if fnmatchcase(name, pattern):
            for node, text in by_node.items():
                told.setdefault((node,), set()).add(text)
    return {node: tuple(sorted(texts)) for node, texts in told.items()}


def _newest(reading: ex.Reading, where: ex.Condition | None, view: View) -> tuple[Sequence[Key], Floats]:
    """Each member and what it says at the last tick; NaN of those that are not meant."""
    place = members(reading)
    table = view.table(reading, place)
    values = table.values[:, -1]
    if where is not None:
        values = np.where(truth(where, place, view, table.keys)[:, -1] == 1.0, values, np.nan)
    return table.keys, values


def _answers(key: Key, place: Place, view: View, told: Mapping[Key, Any]) -> list[Any]:
    """What the members of an instance say."""
    return [answer for of, answer in told.items() if _is_of(of, key, place, view)]


def _is_of(member: Key, key: Key, place: Place, view: View) -> bool:
    """Whether a member is one of an instance: the nodes of a deployment have one, and all series of a node."""
    if place.owner is Scope.DEPLOYMENT:
        return view.members.nodes.get(member[0]) == key[0]
    return member[: len(key)] == key or place.owner is Scope.CLUSTER
