"""HTML as text. What is not made here is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from telemetry import formatting
from telemetry.model import Unit

Entry = Mapping[str, Any]


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def inner(*parts: str) -> Html:
    """Parts one after the other, those that are no HTML escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def tag(name: str, *parts: str, **attributes: object) -> Html:
    """An element. Attributes: a name's trailing underscore goes, others become dashes; None and False are left out."""
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{said}>{inner(*parts)}</{name}>")


WORDS = frozenset({"Why they differ", "Spread", "What", "Where", "Text"})
"""Heads of columns that hold words."""


def table(heads: Sequence[str], rows: Iterable[Html], **attributes: object) -> Html:
    """A table that may be wider than the page."""
    numbers = [place > 0 and one not in WORDS for place, one in enumerate(heads)]
    cells = [
        tag("th", one, scope="col", class_="number" if number else None)
        for one, number in zip(heads, numbers, strict=True)
    ]
    head = tag("thead", tag("tr", *cells)) if any(heads) else Html("")
    return tag("div", tag("table", head, tag("tbody", *rows), **attributes), class_="wide")


def shown(entry: Entry | None) -> Html:
    """A number with its unit; a dash where it is not known, with the reason on hover."""
    if entry is None:
        return tag("span", formatting.UNKNOWN_TEXT, class_="unknown")
    number, unit = formatting.show(entry["value"], Unit(entry["unit"]))
    if number == formatting.UNKNOWN_TEXT:
        return tag("span", number, class_="unknown", title=entry.get("note") or None)
    sign = "" if entry.get("relation", "=") == "=" else f"{entry['relation']}\u00a0"
    return inner(sign + number, tag("i", unit) if unit else "")


def cell(path: str, entry: Entry | None) -> Html:
    """The same as a cell, which says exactly what it shows."""
    value = None if entry is None else entry["value"]
    return tag(
        "td",
        shown(entry),
        class_="number",
        data_key=path or None,
        data_of=(entry or {}).get("of") or None,
        data_value=None if value is None else repr(value),
    )


def in_unit(text: str, unit: str | None) -> str:
    """A text that is a number of a unit, as people read it."""
    try:
        return text if unit is None else formatting.text(float(text), Unit(unit))
    except ValueError:
        return text
