"""Whether a condition can have held anywhere, judged by between what its readings lay: at a tick by the samples at hand
(`extents`), in an hour of the past by what hours keep (least, largest, growth).

Never wrong on the quiet side: what does not follow from the bounds may have been so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alerts import expression as ex
from alerts.places import Place
from telemetry.model import Fold, Kind, Metric

INFINITE = float("inf")
EVERYTHING = (-INFINITE, INFINITE)
NOTHING = (INFINITE, -INFINITE)
"""Bounds of what is known of nobody."""
Bounds = tuple[float, float]
Ask = Callable[[ex.Reading, Place], Bounds]
"""Between what a reading of the instances of a place lies; EVERYTHING where nobody can say."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What an hour says of all series of a reading together: least and largest value, and what they gained in it and in
    the hour before. many: whether several series may be summed."""

    least: float
    largest: float
    gained: float
    many: bool


def may_hold(condition: ex.Condition, place: Place, ask: Ask) -> bool:
    """Whether it may have held for some instance at some tick."""
    match condition:
        case ex.Compare(sign, left, right):
            return _compared(sign, bounds(left, place, ask), bounds(right, place, ask))
        case ex.All(terms):  # what corroborates and is not known does not block: it may always hold
            return all(may_hold(term, place, ask) for term in terms)
        case ex.Some(terms):
            return any(may_hold(term.term if isinstance(term, ex.Maybe) else term, place, ask) for term in terms)
        case ex.Is(reading, codes):
            low, high = bounds(reading, place, ask)
            return any(low <= code <= high for code in codes)
        case ex.Has(value, bits):
            low, high = bounds(value, place, ask)
            return low < 0 or high >= (bits & -bits)  # what is less than the lowest bit has none of them
        case ex.Differs(ex.Reading(how="now") as reading):
            low, high = ask(reading, members(reading))
            return low < high
    return True


def members(reading: ex.Reading) -> Place:
    """Whose values are compared where a reading differs: each node's, or each cage's or function's."""
    return Place("member", reading.metric.scope, reading.metric.by)


def bounds(value: ex.Value, place: Place, ask: Ask) -> Bounds:
    """Between what a value lay."""
    match value:
        case ex.Number(number):
            return number, number
        case ex.Reading():
            return ask(value, place)
        case ex.Across(larger, inner):
            return bounds(inner, larger, ask)
        case ex.Peers(inner, _):
            return bounds(inner, place, ask)
        case ex.Count(where):
            return 0.0, INFINITE if may_hold(where, place, ask) else 0.0
        case ex.Arithmetic(sign, left, right):
            return _calculated(sign, bounds(left, place, ask), bounds(right, place, ask))


def of_hour(reading: ex.Reading, extent: Extent | None) -> Bounds:
    """Between what a reading lay in an hour. extent: None where the hour does not tell it."""
    metric = reading.metric
    if extent is None or not isinstance(metric, Metric):
        return EVERYTHING
    if metric.kind is Kind.COUNTER and reading.how in ("increase", "rate"):
        return 0.0, extent.gained / (reading.window_s if reading.how == "rate" else 1.0)
    if metric.kind not in (Kind.GAUGE, Kind.STATE) or reading.how not in ("now", "min", "max", "mean"):
        return EVERYTHING
    if metric.across is Fold.SUM and extent.many:
        return EVERYTHING
    return extent.least, extent.largest


def _calculated(sign: str, left: Bounds, right: Bounds) -> Bounds:
    match sign:
        case "+":
            found = left[0] + right[0], left[1] + right[1]
        case "-":
            found = left[0] - right[1], left[1] - right[0]
        case "*":
            products = [one * other for one in left for other in right]
            found = min(products), max(products)
            if any(one != one for one in products):
                return EVERYTHING
        case _:
            return EVERYTHING
    return found if found[0] == found[0] and found[1] == found[1] else EVERYTHING


def _compared(sign: str, left: Bounds, right: Bounds) -> bool:
    low, high = left[0] - right[1], left[1] - right[0]
    if low != low or high != high:  # of two infinite ones
        return True
    near = 1e-9 * max((abs(one) for one in (*left, *right) if abs(one) != INFINITE), default=0.0)
    match sign:
        case "<":
            return low < near
        case "<=":
            return low <= near
        case ">":
            return high > -near
        case ">=":
            return high >= -near
        case "==":
            return low <= near and high >= -near
    return True
