"""The numbers of a run as CSV: a row per entry of the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exchange.csv import line

HEAD = ("section", "key", "of", "label", "value", "unit", "relation", "count", "note")
"""value: in the unit's base, empty where it is not known; the note says why. relation: < or > where it is a bound."""


def rows(found: Mapping[str, Any]) -> Iterator[bytes]:
    """The head, then the numbers in their order. found: an answer about one run."""
    yield line(HEAD)
    for section in found["summary"]:
        for entry in section["entries"]:
            own = {"section": section["key"], **entry}
            yield line(_text(own.get(name)) for name in HEAD)


def _text(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
