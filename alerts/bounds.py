"""Whether a condition can have held anywhere in an hour, judged by what hours keep: least, largest, growth.

Never wrong on the quiet side: what does not follow from summaries may have been so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alerts import expression as ex
from telemetry.model import Fold, Kind, Metric

EVERYTHING = (float("-inf"), float("inf"))
Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Extent:
    """What an hour says of all series of a reading together: least and largest value, and what they gained in it and in
    the hour before. many: whether several series may be summed."""

    least: float
    largest: float
    gained: float
    many: bool


Ask = Callable[[ex.Reading], Extent | None]
"""Extent of a reading; None where an hour does not tell it."""


def may_hold(condition: ex.Condition, ask: Ask) -> bool:
    """Whether it may have held for some instance at some tick."""
    match condition:
        case ex.All(terms):
            return all(may_hold(term, ask) for term in terms)
        case ex.Some(terms):
            return any(may_hold(term, ask) for term in terms)
        case ex.Compare(sign, left, right):
            return _compared(sign, bounds(left, ask), bounds(right, ask))
        case ex.Is(reading, codes):
            low, high = bounds(reading, ask)
            return any(low <= code <= high for code in codes)
        case ex.Has(value, _):
            return bounds(value, ask) != (0.0, 0.0)
    return True


def bounds(value: ex.Value, ask: Ask) -> Bounds:
    """Between what a value lay."""
    match value:
        case ex.Number(number):
            return number, number
        case ex.Across(_, inner):
            return bounds(inner, ask)
        case ex.Reading():
            return _reading(value, ask(value))
    return EVERYTHING


def _reading(reading: ex.Reading, extent: Extent | None) -> Bounds:
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


def _compared(sign: str, left: Bounds, right: Bounds) -> bool:
    low, high = left[0] - right[1], left[1] - right[0]
    if low != low or high != high:  # of two infinite ones
        return True
    near = 1e-9 * max((abs(one) for one in (*left, *right) if abs(one) != float("inf")), default=0.0)
    return {
        "<": low < near,
        "<=": low <= near,
        ">": high > -near,
        ">=": high >= -near,
        "==": low <= near and high >= -near,
        "!=": True,
    }[sign]
