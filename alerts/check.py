"""Whether a condition makes sense where it looks: units, kinds, windows and scopes, each refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator

from alerts import expression as ex
from alerts.constants import constant
from alerts.expression import QUANTILES
from alerts.given import GIVEN
from alerts.masks import MASKS
from alerts.places import Place, reaches
from alerts.units import BASES, Dimension, alike, name_of, product
from telemetry.model import Kind, Scope, Unit
from telemetry.percentiles import WINDOW_MS

LONGEST_S = 30 * 86_400
USUAL_S = 3600
SHORTEST_S = 1.0
COUNTERS = ("increase", "rate")
GAUGES = ("min", "max", "usual")


def problems(condition: ex.Condition, place: Place) -> list[str]:
    """Why a condition may not stand in a rule of this place; empty when it may."""
    found = [problem for part, seen_from in _walk(condition, place) for problem in _of(part, seen_from)]
    if not ex.readings(condition) and not ex.facts(condition):
        found.append("a condition reads something")
    return list(dict.fromkeys(found))


def _walk(of: ex.Condition | ex.Value, place: Place) -> Iterator[tuple[ex.Condition | ex.Value, Place]]:
    """Every part, and the place from which it looks."""
    yield of, place
    for part in ex.parts(of):
        yield from _walk(part, of.place if isinstance(of, ex.Across) else place)


def _of(part: ex.Condition | ex.Value, place: Place) -> Iterator[str]:
    match part:
        case ex.Reading():
            yield from _reading(part)
        case ex.Compare(_, left, right):
            yield from _units(left, right, "compared with")
        case ex.Arithmetic("/", _, right) if (number := constant(right)) is not None and number.value == 0:
            yield "what is divided by 0 is never known"
        case ex.Arithmetic() if (number := constant(part)) is not None and not math.isfinite(number.value):
            yield "what is worked out is more than a number can be"
        case ex.Arithmetic("+" | "-", left, right):
            yield from _units(left, right, "added to")
        case ex.Has(value, _) if not _is_mask(value):
            yield f"has asks for bits of a mask, such as {', '.join(MASKS)}"
        case ex.Across(larger, _) if not set(larger.labels) <= set(place.labels):
            yield f"a {larger.name} is no part of a {place.name}'s surroundings: it has more labels"
        case ex.Across(larger, _) if not reaches(place, larger):
            yield f"{_a(place)} is part of no {larger.name}: nothing would ever be known across it"
        case ex.Peers() | ex.Count() if place.owner in (Scope.CLUSTER, Scope.DEPLOYMENT):
            yield f"a {place.name} has no peers: there is nothing to compare it with or to count"
        case ex.Differs() if place.name not in ("deployment", "cluster", "node"):
            yield f"a {place.name} has no members that could differ"


def _a(place: Place) -> str:
    return f"{'an' if place.name[0] in 'aeiou' else 'a'} {place.name}"


def _is_mask(value: ex.Value) -> bool:
    inner = value.value if isinstance(value, ex.Across) else value
    return isinstance(inner, ex.Reading) and inner.how == "now" and inner.metric.name in MASKS


def _reading(reading: ex.Reading) -> Iterator[str]:
    metric, how = reading.metric, reading.how
    if metric.name in GIVEN:
        if how != "now":
            yield f"{metric.name} is known only as it is now: it has no {how}"
        return
    if metric.kind is Kind.HISTOGRAM and how not in QUANTILES:
        yield f"{metric.name} is a histogram: ask for p50, p95 or p99 of it, or for {metric.name}_count"
    if metric.kind is not Kind.HISTOGRAM and how in QUANTILES:
        yield f"{metric.name} is no histogram and has no {how}"
    if how in QUANTILES and reading.window_s * 1000 != WINDOW_MS:
        yield f"percentiles are taken over {WINDOW_MS // 60_000}min"
    if how in COUNTERS and metric.kind is not Kind.COUNTER:
        yield f"{metric.name} is no counter and has no {how}"
    if metric.kind is Kind.COUNTER and how in (*GAUGES, "mean", "change", "now"):
        yield f"{metric.name} is a counter: ask for its increase or rate"
    if metric.kind is Kind.RATIO and how in ("min", "max", "change"):
        yield f"{metric.name} is a quotient: it has a value, a mean and a usual value"
    if how == "usual" and reading.window_s < USUAL_S:
        yield "a usual value needs a window of at least 1h"
    if reading.window_s > LONGEST_S:
        yield "a window is at most 30d"
    if how != "now" and reading.window_s < SHORTEST_S:
        yield f"a window is at least {SHORTEST_S:g}s: it has no two samples else"


def dimension_of(value: ex.Value) -> Dimension | None:
    """Of a value; None for a bare number, which takes that of what it meets.

    A product with a bare number keeps its dimension; a bare number over a value has the inverse of the value's."""
    match value:
        case ex.Number(_, unit):
            return None if unit is None else BASES[unit]
        case ex.Reading():
            own = BASES[value.metric.unit]
            return product(own, BASES[Unit.SECONDS], -1) if value.how == "rate" else own
        case ex.Peers(inner, _) | ex.Across(_, inner):
            return dimension_of(inner)
        case ex.Count():
            return BASES[Unit.COUNT]
        case ex.Arithmetic(sign, left, right):
            return _combined(sign, dimension_of(left), dimension_of(right))


def _combined(sign: str, one: Dimension | None, other: Dimension | None) -> Dimension | None:
    if sign in "+-" or one is other is None:
        return other if one is None else one
    return product(one or {}, other or {}, 1 if sign == "*" else -1)


def _units(left: ex.Value, right: ex.Value, how: str) -> Iterator[str]:
    one, other = dimension_of(left), dimension_of(right)
    if one is not None and other is not None and not alike(one, other):
        yield f"{name_of(one)} may not be {how} {name_of(other)}"
