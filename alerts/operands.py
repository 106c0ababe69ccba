"""What a condition read of one instance at one tick: names, values and units, for the sentence and for the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alerts import expression as ex
from alerts import masks
from alerts.evaluate import answers, around, instances, truth, value
from alerts.given import TARGET_STATE
from alerts.holes import PEERS, spelled
from alerts.places import Key, Place
from alerts.view import View
from telemetry import formatting
from telemetry.catalog import network
from telemetry.model import Kind, Metric, Scope, Unit
from telemetry.rates import rate
from telemetry.states import TargetState

MOST_ANSWERS = 4
NODE_WORDS: Mapping[str, str] = {
    TargetState.REFUSED.value: "refused (the host is alive, the agent is down)",
    TargetState.TIMED_OUT.value: "timed out (the host is unreachable)",
}
"""What a state of a node's agent means, where it means more than it says."""


@dataclass(frozen=True, slots=True)
class Operand:
    """metric: name of what was read, or of a fact. label: in words. value: None where it is not known. text: as shown,
    with its unit. corroborates: a rule fires without it. missing: it is not known, and the rule went without.
    how: how it was taken."""

    metric: str
    label: str
    value: float | None
    unit: str
    text: str
    corroborates: bool = False
    missing: bool = False
    how: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called in a rule's message."""
        return spelled(self.metric, self.how)

    def to_json(self) -> dict[str, Any]:
        """As it is kept with an alert."""
        return {
            "metric": self.metric,
            "label": self.label,
            "value": self.value,
            "unit": self.unit,
            "text": self.text,
            "corroborates": self.corroborates,
        }


@dataclass(frozen=True, slots=True)
class _Seat:
    """From where something is read: one instance of all of them, since some values are of the others."""

    place: Place
    keys: Sequence[Key]
    at: int
    view: View
    corroborates: bool = False

    @property
    def key(self) -> Key:
        """The instance."""
        return self.keys[self.at]


def operands(condition: ex.Condition, place: Place, key: Key, view: View) -> list[Operand]:
    """What a condition read at the last tick, in the order of its text; each once."""
    keys: Sequence[Key] = instances(condition, place, view)
    if key not in keys:
        keys = [key]
    found: dict[tuple[str, str], Operand] = {}
    for one in _walk(condition, _Seat(place, keys, keys.index(key), view)):
        found.setdefault((one.metric, one.label), one)
    return list(found.values())


def _walk(of: ex.Condition | ex.Value, seat: _Seat) -> Iterator[Operand]:
    match of:
        case ex.Reading():
            yield _reading(of, seat)
        case ex.Has(ex.Reading() as reading, _):
            yield _mask(_reading(reading, seat))
        case ex.Maybe(term):
            inside = replace(seat, corroborates=True)
            unknown = bool(np.isnan(truth(term, seat.place, seat.view, seat.keys)[seat.at, -1]))
            yield from (_without(one) if unknown and one.value is None else one for one in _walk(term, inside))
        case ex.Across(larger, inner):
            wholes, rows = around(of, seat.place, seat.view, seat.keys)
            yield from _walk(inner, replace(seat, place=larger, keys=wholes, at=int(rows[seat.at])))
        case ex.Peers(ex.Reading() as reading, _):
            yield _peers(of, reading, seat)
        case ex.Count() | ex.Peers():
            return
        case ex.Differs():
            yield _differing(of, seat)
        case _:
            for part in ex.parts(of):
                yield from _walk(part, seat)


def _without(one: Operand) -> Operand:
    return replace(one, corroborates=True, missing=True)


def _last(of: ex.Value, seat: _Seat) -> float | None:
    found = float(value(of, seat.place, seat.view, seat.keys)[seat.at, -1])
    return None if np.isnan(found) else found


def _reading(reading: ex.Reading, seat: _Seat) -> Operand:
    found, unit = _last(reading, seat), unit_of(reading)
    text = shown(reading, found)
    if reading.metric is TARGET_STATE and seat.place.only is Scope.NODE:
        text = NODE_WORDS.get(text, text)
    label = label_of(reading)
    return Operand(reading.metric.name, label, found, unit.value, text, corroborates=seat.corroborates, how=reading.how)


def _mask(one: Operand) -> Operand:
    return replace(one, text=masks.said(one.metric, one.value))


def _peers(of: ex.Peers, reading: ex.Reading, seat: _Seat) -> Operand:
    found, unit = _last(of, seat), unit_of(reading)
    label = f"peers' {label_of(reading)}"
    text = shown(reading, found)
    return Operand(reading.metric.name, label, found, unit.value, text, corroborates=seat.corroborates, how=PEERS)


def _differing(condition: ex.Differs, seat: _Seat) -> Operand:
    told = condition.of
    found = sorted(set(answers(condition, seat.place, seat.key, seat.view)), key=str)
    if isinstance(told, str):
        texts, name, label = ["/".join(one) for one in found], told, told.replace("_", " ")
    else:
        texts, name, label = [shown(told, one) for one in found], told.metric.name, label_of(told)
    more = [f"and {len(texts) - MOST_ANSWERS} more"] if len(texts) > MOST_ANSWERS else []
    text = " or ".join([*texts[:MOST_ANSWERS], *more]) or formatting.UNKNOWN_TEXT
    return Operand(name, label, float(len(texts)) if texts else None, Unit.COUNT.value, text, seat.corroborates)


def unit_of(reading: ex.Reading) -> Unit:
    """Unit in which a reading is shown."""
    if reading.how == "rate" and isinstance(reading.metric, Metric):
        return rate(reading.metric).unit
    return reading.metric.unit


def shown(reading: ex.Reading, found: float | None) -> str:
    """A value of a reading as text."""
    if reading.metric.kind is Kind.STATE:
        return formatting.state(found, getattr(reading.metric, "states", ()))
    if reading.metric.name in masks.MASKS and reading.how == "now":
        return masks.said(reading.metric.name, found)
    if reading.metric is network.MTU:
        return formatting.whole_bytes(found)
    return formatting.text(found, unit_of(reading))


WORDS: Mapping[str, str] = {
    "now": "{label}",
    "mean": "{label}, mean of {window}",
    "min": "{label}, least of {window}",
    "max": "{label}, most of {window}",
    "increase": "{label} in {window}",
    "rate": "{label}",
    "change": "{label}, change in {window}",
    "usual": "{label}, usual in {window}",
    "p50": "{label}, median",
    "p95": "{label}, p95",
    "p99": "{label}, p99",
}


def label_of(reading: ex.Reading) -> str:
    """A reading in words."""
    label = reading.metric.label
    if reading.labels:
        label += f" ({'; '.join(_texts(texts) for _, texts in reading.labels)})"
    return WORDS[reading.how].format(label=label, window=formatting.span(reading.window_s))


def _texts(texts: Sequence[str]) -> str:
    return ", ".join(texts)
