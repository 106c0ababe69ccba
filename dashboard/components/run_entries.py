"""Numbers of a run's summary on the page: value, count and note, each with its definition one click away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.latest import number_cell, value_cell
from dashboard.components.table import Row, table
from telemetry import formatting
from telemetry.model import Unit

Entry = Mapping[str, Any]


def value(entry: Entry) -> Component:
    """An entry's value with its unit, a bound with its sign; a dash with the reason where it is not known."""
    number, unit = formatting.show(entry["value"], Unit(entry["unit"]))
    sign = "" if entry.get("relation", "=") == "=" else f"{entry['relation']}\u00a0"
    known = number != formatting.UNKNOWN_TEXT
    return value_cell(sign + number, unit, "ok" if known else "unknown", "" if known else entry.get("note", ""))


def named(entry: Entry) -> Component:
    """An entry's label, which tells on hover, and on one click, how the number is worked out."""
    label = f"{entry['label']} · {entry['of']}" if entry.get("of") else entry["label"]
    text = entry.get("definition", "")
    return html.Details([html.Summary(label, title=text), html.P(text)], className="definition")


def entries(found: Sequence[Entry], caption: str) -> Component:
    """Numbers of a section."""
    rows = [
        Row(
            named(one),
            [value(one), number_cell(one.get("count"), Unit.COUNT) if "count" in one else "", one.get("note", "")],
        )
        for one in found
    ]
    return table(("", "Value", "Of", "Note"), rows, caption, "entries")
