"""Whether a condition makes sense where it looks: units, kinds, windows and scopes, each refusal a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from alerts import expression as ex
from alerts.expression import QUANTILES
from alerts.places import Place
from alerts.units import PER_SECOND, plain
from telemetry.model import Kind, Scope, Unit
from telemetry.percentiles import WINDOW_MS

LONGEST_S = 30 * 86_400
USUAL_S = 3600
COUNTERS = ("increase", "rate")
GAUGES = ("min", "max", "usual")


def problems(condition: ex.Condition, place: Place) -> list[str]:
    """Why a condition may not stand in a rule of this place; empty when it may."""
    found = [problem for part in _walk(condition) for problem in _of(part, place)]
    if not ex.readings(condition) and not ex.facts(condition):
        found.append("a condition reads something")
    return list(dict.fromkeys(found))


def _walk(of: ex.Condition | ex.Value) -> Iterator[ex.Condition | ex.Value]:
    yield of
    for part in ex.parts(of):
        yield from _walk(part)


def _of(part: ex.Condition | ex.Value, place: Place) -> Iterator[str]:
    match part:
        case ex.Reading():
            yield from _reading(part)
        case ex.Compare(_, left, right):
            yield from _units(left, right, "compared with")
        case ex.Arithmetic("+" | "-", left, right):
            yield from _units(left, right, "added to")
        case ex.Across(larger, _) if not set(larger.labels) <= set(place.labels):
            yield f"a {larger.name} is no part of a {place.name}'s surroundings: it has more labels"
        case ex.Peers() | ex.Count() if place.owner in (Scope.CLUSTER, Scope.DEPLOYMENT):
            yield f"a {place.name} has no peers: there is nothing to compare it with or to count"
        case ex.Differs() if place.name not in ("deployment", "cluster", "node"):
            yield f"a {place.name} has no members that could differ"


def _reading(reading: ex.Reading) -> Iterator[str]:
    metric, how = reading.metric, reading.how
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


def unit_of(value: ex.Value) -> Unit | None:
    """Unit of a value; None for a bare number, which takes that of what it meets."""
    match value:
        case ex.Number(_, unit):
            return unit
        case ex.Reading():
            unit = plain(value.metric.unit)
            return PER_SECOND.get(unit, unit) if value.how == "rate" else unit
        case ex.Peers(inner, _) | ex.Across(_, inner):
            return unit_of(inner)
        case ex.Count():
            return Unit.COUNT
        case ex.Arithmetic("+" | "-", left, right):
            return unit_of(left) or unit_of(right)
        case ex.Arithmetic("*", left, right):
            units = [unit for unit in (unit_of(left), unit_of(right)) if unit not in (None, Unit.RATIO)]
            return units[0] if len(units) == 1 else None
        case ex.Arithmetic(_, left, right):
            return unit_of(left) if unit_of(right) in (None, Unit.RATIO) else None


def _units(left: ex.Value, right: ex.Value, how: str) -> Iterator[str]:
    one, other = unit_of(left), unit_of(right)
    if one is not None and other is not None and plain(one) is not plain(other):
        yield f"{one.value} may not be {how} {other.value}"
