"""What a rule reads, and the numbers that it compares each reading with, for the charts of one of its alerts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from alerts import expression as ex
from alerts.constants import constant
from alerts.limits import TURNED
from alerts.operands import unit_of
from alerts.places import Place, level
from alerts.rule import Rule
from telemetry import formatting
from telemetry.model import Kind, Metric, Ratio

WORDS = {">": "above", ">=": "from", "<": "below", "<=": "up to", "==": "at"}
BELOW = ("<", "<=")


@dataclass(frozen=True, slots=True)
class Line:
    """A number that a reading is compared with, in its own unit. over: it is the end of an alert that it tells of."""

    value: float
    side: str
    text: str
    severity: str
    over: bool = False

    def to_json(self) -> dict[str, Any]:
        """As charts have it."""
        return {
            "value": self.value,
            "side": self.side,
            "title": self.text,
            "severity": self.severity,
            "over": self.over,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """A reading of a rule, and where it is read. codes, bits: states and bits of a mask that the rule asks for."""

    reading: ex.Reading
    place: Place
    limits: tuple[Line, ...] = ()
    codes: tuple[int, ...] = ()
    bits: int = 0


def asked(rule: Rule) -> list[Asked]:
    """What a rule reads, each reading once, in the order of its text."""
    found: dict[tuple[ex.Reading, str], Asked] = {}
    for reading, place in _readings(rule.condition, rule.place):
        home = place if level(place, reading.metric.scope) == "own" else each(reading.metric)
        found.setdefault((reading, home.name), Asked(reading, home))
    for place, reading, line in _lines(rule):
        _add(found, place, reading, limits=(line,))
    for place, reading, codes, bits in _states(rule.condition, rule.place):
        _add(found, place, reading, codes=codes, bits=bits)
    return list(found.values())


def each(metric: Metric | Ratio) -> Place:
    """Every series of a metric by itself."""
    return Place(f"each {metric.name}", metric.scope, metric.by)


def _add(
    found: dict[tuple[ex.Reading, str], Asked],
    place: Place,
    reading: ex.Reading,
    limits: tuple[Line, ...] = (),
    codes: tuple[int, ...] = (),
    bits: int = 0,
) -> None:
    for key in ((reading, place.name), (reading, each(reading.metric).name)):
        if key in found:
            old = found[key]
            lines = tuple(dict.fromkeys((*old.limits, *limits)))
            found[key] = replace(old, limits=lines, codes=old.codes + codes, bits=old.bits | bits)
            return


def _readings(of: ex.Condition | ex.Value, place: Place) -> Iterator[tuple[ex.Reading, Place]]:
    match of:
        case ex.Reading():
            yield of, place
        case ex.Across(larger, inner):
            yield from _readings(inner, larger)
        case _:
            for part in ex.parts(of):
                yield from _readings(part, place)


def _lines(rule: Rule) -> Iterator[tuple[Place, ex.Reading, Line]]:
    for condition, over in ((rule.condition, False), (rule.clear_condition, True)):
        for compare in _compares(condition) if condition is not None else ():
            yield from _told(compare, rule, over=over)


def _compares(condition: ex.Condition) -> Iterator[ex.Compare]:
    """Comparisons that speak for a condition; of what is asked not to be so, and of the others, no line tells."""
    match condition:
        case ex.Compare():
            yield condition
        case ex.All(terms) | ex.Some(terms):
            for term in terms:
                yield from _compares(term)
        case ex.Maybe(term):
            yield from _compares(term)


def _told(compare: ex.Compare, rule: Rule, *, over: bool) -> Iterator[tuple[Place, ex.Reading, Line]]:
    turned = TURNED.get(compare.operator, compare.operator)
    for value, operator, other in (
        (compare.left, compare.operator, compare.right),
        (compare.right, turned, compare.left),
    ):
        place, number = rule.place, constant(other)
        if isinstance(value, ex.Across):
            place, value = value.place, value.value
        if not isinstance(value, ex.Reading) or number is None or operator not in WORDS:
            continue
        if value.metric.kind is Kind.STATE:
            continue
        text = f"{'over' if over else 'wrong'} {WORDS[operator]} {formatting.text(number.value, unit_of(value))}"
        side = "below" if operator in BELOW else "above"
        yield place, value, Line(number.value, side, text, "" if over else rule.severity.value, over)


def _states(of: ex.Condition, place: Place) -> Iterator[tuple[Place, ex.Reading, tuple[int, ...], int]]:
    match of:
        case ex.Is(reading, codes):
            yield place, reading, codes, 0
        case ex.Has(ex.Reading() as reading, bits):
            yield place, reading, (), bits
        case ex.All(terms) | ex.Some(terms):
            for term in terms:
                yield from _states(term, place)
        case ex.Maybe(term):
            yield from _states(term, place)
