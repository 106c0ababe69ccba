"""What a condition is made of. Made by `language.parse`, judged by `check`, worked out by `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from alerts.places import Place
from telemetry.model import Metric, Ratio, Unit

How = Literal["now", "mean", "min", "max", "increase", "rate", "change", "usual", "p50", "p95", "p99"]
"""What is taken of a reading: its value now, or a fold, growth, median or percentile over a trailing window."""

WINDOWED: tuple[How, ...] = ("mean", "min", "max", "increase", "rate", "change", "usual", "p50", "p95", "p99")
QUANTILES: Mapping[How, float] = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Number:
    """A constant, in base units when it was written with a unit."""

    value: float
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric of the catalogue, of those of its series whose labels match.

    window_s: length of the trailing window; 0 for the value now.
    labels: pairs of label and the texts it may have.
    """

    metric: Metric | Ratio
    how: How = "now"
    window_s: float = 0.0
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Peers:
    """Median of a value over the other instances of the same deployment for which the condition holds."""

    value: Value
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """For how many instances of the same deployment a condition holds, this one included."""

    where: Condition


@dataclass(frozen=True, slots=True)
class Across:
    """A value of the larger thing that an instance is part of: the cage of a function, the node of a cage."""

    place: Place
    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two values made one; a division by 0 is unknown."""

    operator: Literal["+", "-", "*", "/"]
    left: Value
    right: Value


Value = Number | Reading | Peers | Count | Across | Arithmetic


@dataclass(frozen=True, slots=True)
class Compare:
    """Unknown where either side is."""

    operator: Literal["<", "<=", ">", ">=", "==", "!="]
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Is:
    """A state is one of these, as codes."""

    reading: Reading
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Has:
    """A mask of bits has at least one of these."""

    value: Value
    bits: int


@dataclass(frozen=True, slots=True)
class Differs:
    """The members of an instance do not agree: a fact of their nodes, or the value of a reading.

    where: of a reading, only those members for which this holds now.
    """

    of: Reading | str
    where: Condition | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """No value is known, though the instance is."""

    reading: Reading


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; unknown stays unknown."""

    term: Condition


@dataclass(frozen=True, slots=True)
class All:
    """False where one term is false, else unknown where one is unknown."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """True where one term is true, else unknown where one is unknown."""

    terms: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Maybe:
    """A corroborating condition: where it is unknown, what it stands in goes on as if it were not there."""

    term: Condition


Condition = Compare | Is | Has | Differs | Absent | Not | All | Some | Maybe


def parts(of: Condition | Value) -> tuple[Condition | Value, ...]:
    """What this is made of, one level down."""
    match of:
        case Arithmetic(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Count(where):
            return (where,)
        case Across(_, value):
            return (value,)
        case Peers(value, where):
            return (value,) if where is None else (value, where)
        case Is(reading, _) | Absent(reading):
            return (reading,)
        case Has(value, _):
            return (value,)
        case Differs(reading, where) if isinstance(reading, Reading):
            return (reading,) if where is None else (reading, where)
        case Not(term) | Maybe(term):
            return (term,)
        case All(terms) | Some(terms):
            return terms
    return ()


def readings(of: Condition | Value) -> tuple[Reading, ...]:
    """Every reading in it, each once, in the order of the text."""
    found = [of] if isinstance(of, Reading) else [one for part in parts(of) for one in readings(part)]
    return tuple(dict.fromkeys(found))


def facts(of: Condition | Value) -> tuple[str, ...]:
    """Names of the facts that it compares."""
    found = [of.of] if isinstance(of, Differs) and isinstance(of.of, str) else []
    return tuple(dict.fromkeys(found + [one for part in parts(of) for one in facts(part)]))
