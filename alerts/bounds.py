"""Whether a condition can have held anywhere, judged by between what its readings lay: at a tick by the samples at hand
(`extents`), in an hour of the past by what hours keep (least, largest, growth).

Never wrong on the quiet side: what does not follow from the bounds may have been so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
Between = Callable[[], Bounds]
Of = Callable[[ex.Reading, Place], Between]
"""What tells it, again and again."""
Decider = Callable[[], bool]


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
    return decider(condition, place, lambda reading, where: lambda: ask(reading, where))()


def decider(condition: ex.Condition, place: Place, of: Of) -> Decider:
    """What tells whether a condition may hold, made once for all the times that it is asked."""
    match condition:
        case ex.Compare(sign, left, right):
            return partial(_compared, sign, between(left, place, of), between(right, place, of))
        case ex.All(terms):  # what corroborates and is not known does not block: it may always hold
            return _every([decider(term, place, of) for term in terms if not isinstance(term, ex.Maybe)])
        case ex.Some(terms):
            return _any([decider(term.term if isinstance(term, ex.Maybe) else term, place, of) for term in terms])
        case ex.Is(reading, codes):
            return partial(_is, codes, of(reading, place))
        case ex.Has(value, bits):  # what is less than the lowest bit has none of them
            return partial(_has, bits & -bits, between(value, place, of))
        case ex.Differs(ex.Reading(how="now") as reading):
            return partial(_differ, of(reading, members(reading)))
    return lambda: True


def _every(every: Sequence[Decider]) -> Decider:
    return every[0] if len(every) == 1 else lambda: all(one() for one in every)


def _any(every: Sequence[Decider]) -> Decider:
    return lambda: any(one() for one in every)


def _is(codes: Sequence[int], value: Between) -> bool:
    low, high = value()
    return any(low <= code <= high for code in codes)


def _has(lowest: int, value: Between) -> bool:
    low, high = value()
    return low < 0 or high >= lowest


def _differ(value: Between) -> bool:
    low, high = value()
    return low < high


def members(reading: ex.Reading) -> Place:
    """Whose values are compared where a reading differs: each node's, or each cage's or function's."""
    return Place("member", reading.metric.scope, reading.metric.by)


def between(value: ex.Value, place: Place, of: Of) -> Between:
    """What tells between what a value lies."""
    match value:
        case ex.Number(number):
            return lambda: (number, number)
        case ex.Reading():
            return of(value, place)
        case ex.Across(larger, inner):
            return between(inner, larger, of)
        case ex.Peers(inner, _):
            return between(inner, place, of)
        case ex.Count(where):
            counted = decider(where, place, of)
            return lambda: (0.0, INFINITE if counted() else 0.0)
        case ex.Arithmetic(sign, left, right):
            return partial(_calculated, sign, between(left, place, of), between(right, place, of))


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


def _calculated(sign: str, one: Between, other: Between) -> Bounds:
    left, right = one(), other()
    match sign:
        case "+":
            found = left[0] + right[0], left[1] + right[1]
        case "-":
            found = left[0] - right[1], left[1] - right[0]
        case "*":
            products = [some * more for some in left for more in right]
            if any(product != product for product in products):
                return EVERYTHING
            found = min(products), max(products)
        case _:
            return EVERYTHING
    return found if found[0] == found[0] and found[1] == found[1] else EVERYTHING


def _compared(sign: str, one: Between, other: Between) -> bool:
    left, right = one(), other()
    low, high = left[0] - right[1], left[1] - right[0]
    if low != low or high != high:  # of two infinite ones
        return True
    near = 1e-9 * max(-left[0], left[1], -right[0], right[1])
    match sign:
        case ">":
            return high > -near
        case ">=":
            return high >= -near
        case "<":
            return low < near
        case "<=":
            return low <= near
        case "==":
            return low <= near and high >= -near
    return True
