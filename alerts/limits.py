"""Values at which rules begin to hold, for the charts of what they compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from alerts import expression as ex
from alerts.constants import constant
from alerts.rule import RANK, Rule, Severity

TURNED: dict[str, str] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""An order, read from its other side."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A rule holds where the metric lies above (below) a value, in its base unit; whatever else is so.

    labels: of which of the metric's series, all of them where there is none.
    """

    rule: str
    title: str
    severity: Severity
    side: Literal["above", "below"]
    value: float
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()


def limits(rules: Iterable[Rule], metric: str) -> list[Limit]:
    """Limits of a metric in enabled rules, the gravest first.

    Only a comparison of the reading now with a number counts, and only where it decides by itself: at a value that
    needs other things to be so as well nothing happens by itself, and a line there would say that it does.
    """
    found = [limit for rule in rules if rule.enabled for limit in _of(rule, metric)]
    return sorted(dict.fromkeys(found), key=lambda limit: (-RANK[limit.severity], limit.rule, limit.value))


def _of(rule: Rule, metric: str) -> Iterator[Limit]:
    for compare in _deciding(rule.condition):
        told = _told(compare)
        if told is not None and told[0].metric.name == metric and told[0].how == "now":
            reading, operator, number = told
            side: Literal["above", "below"] = "above" if operator in (">", ">=") else "below"
            yield Limit(rule.name, rule.title, rule.severity, side, number.value, reading.labels)


def _deciding(condition: ex.Condition) -> Iterator[ex.Compare]:
    """Comparisons each of which is enough for a condition to hold."""
    if isinstance(condition, ex.Compare):
        yield condition
    elif isinstance(condition, ex.Some):
        for term in condition.terms:
            yield from _deciding(term)
    elif isinstance(condition, ex.Maybe):
        yield from _deciding(condition.term)
    elif isinstance(condition, ex.All):
        asked = [term for term in condition.terms if not isinstance(term, ex.Maybe)]
        if len(asked) == 1:  # the others only corroborate
            yield from _deciding(asked[0])


def _told(compare: ex.Compare) -> tuple[ex.Reading, str, ex.Number] | None:
    """(reading, order, number); None of another comparison."""
    left, operator, right = compare.left, compare.operator, compare.right
    if operator not in TURNED:
        return None
    number = constant(right)
    if isinstance(left, ex.Reading) and number is not None:
        return left, operator, number
    number = constant(left)
    if isinstance(right, ex.Reading) and number is not None:
        return right, TURNED[operator], number
    return None
