"""What a summary is made of: numbers with their unit, count, doubt and definition, as plain data.

The page, the API, CSV and the report show these and work nothing out of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telemetry.model import Unit


@dataclass(frozen=True, slots=True)
class Entry:
    """One number. key: unique in its section together with `of`, what it is of (a node, a cage, an outcome …).

    value: in the base unit; None is not known, and the note says why. relation: "<" or ">" where the value is a bound.
    count: observations it rests on, None where there is no such number. note: what touches it, "" nothing.
    since, until: from when to when it was so, epoch milliseconds; None: from the start, or up to the end.
    """

    key: str
    label: str
    value: float | None
    unit: Unit
    count: float | None = None
    note: str = ""
    definition: str = ""
    of: str = ""
    relation: str = "="
    since: int | None = None
    until: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is not said is left out."""
        data: dict[str, Any] = {"key": self.key, "label": self.label, "value": self.value, "unit": self.unit.value}
        told: dict[str, Any] = {"count": self.count, "note": self.note, "definition": self.definition, "of": self.of}
        told |= {"since": self.since, "until": self.until}
        data |= {name: value for name, value in told.items() if value not in (None, "")}
        return data if self.relation == "=" else {**data, "relation": self.relation}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Entry:
        """The reverse of `to_json`."""
        return cls(**{**data, "unit": Unit(data["unit"])})


@dataclass(frozen=True, slots=True)
class Section:
    """Numbers that belong together."""

    key: str
    label: str
    entries: Sequence[Entry]

    def find(self, key: str, of: str = "") -> Entry | None:
        """An entry by its key."""
        return next((one for one in self.entries if (one.key, one.of) == (key, of)), None)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"key": self.key, "label": self.label, "entries": [one.to_json() for one in self.entries]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Section:
        """The reverse of `to_json`."""
        return cls(data["key"], data["label"], tuple(Entry.from_json(one) for one in data["entries"]))


def find(sections: Iterable[Section], path: str, of: str = "") -> Entry | None:
    """An entry by "section.key", for example "speed.decode_mean"."""
    section, _, key = path.partition(".")
    found = next((one for one in sections if one.key == section), None)
    return None if found is None else found.find(key, of)


def known(value: float | None) -> float | None:
    """A number of an entry: None for NaN and infinity."""
    return None if value is None or not math.isfinite(value) else float(value)


@dataclass(frozen=True, slots=True)
class Number:
    """A kind of entry: what it is called and how it is worked out, written once."""

    key: str
    label: str
    unit: Unit
    definition: str

    def entry(
        self,
        value: float | None,
        *,
        count: float | None = None,
        note: str = "",
        of: str = "",
        relation: str = "=",
        why: str = "not known",
    ) -> Entry:
        """An entry of this kind. why: said of a value that is not known, where no note says more."""
        number = known(value)
        told = note if number is not None or note else why
        return Entry(self.key, self.label, number, self.unit, known(count), told, self.definition, of, relation)
