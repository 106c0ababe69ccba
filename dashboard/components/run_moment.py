"""All nodes of a run at one moment, as a table; what stands apart from the others is marked and said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.latest import value_cell
from dashboard.components.run_nodes import picker
from dashboard.components.table import Content, Row, panel, table
from dashboard.live.fleet import MAP, Reading
from telemetry import formatting
from telemetry.model import Unit

CHOSEN = (html.Span("chosen", className="tag"),)
SIDES = {1: ("▲", "above"), -1: ("▼", "below")}


def moment(found: Mapping[str, Any], chosen: str = "") -> Component:
    """The table. found: as /api/v1/runs/ID/moment; chosen: the node that is looked at."""
    when = html.Time("", **{"data-instant": str(found["at"])})
    gone = html.Button("Close", type="button", className="plain", **{"data-unpick": "at"})
    rows = [Row(name(one["node"], chosen), [cell(one, reading) for reading in MAP]) for one in found["nodes"]]
    shown = table(("Node", *(reading.label for reading in MAP)), rows, "All nodes at that moment", "moment")
    words = html.P(found["why"] or said(found), className="note")
    return panel("All nodes at one moment", words, shown, aside=html.Span([when, gone]))


def name(node: str, chosen: str) -> Component:
    """A node's name, which leads to its numbers."""
    return html.Span([picker(node), *(CHOSEN if node == chosen else ())])


def cell(one: Mapping[str, Any], reading: Reading) -> Content:
    """A value, marked where it stands apart."""
    value, side = one["values"].get(reading.key), one["apart"].get(reading.key)
    number, unit = formatting.show(value, Unit(reading.unit))
    shown = value_cell(number, unit, "unknown" if value is None else "ok", "no reading" if value is None else "")
    if side is None:
        return shown
    mark, word = SIDES[side]
    sign = html.Span(mark, className="outlier", title=f"{word} the middle node", role="img")
    return html.Span([shown, sign], className="apart-cell")


def said(found: Mapping[str, Any]) -> str:
    """Who stands apart, in words."""
    labels = {reading.key: reading.label for reading in MAP}
    parts = []
    for one in found["nodes"]:
        words = ", ".join(f"{labels[key]} {SIDES[side][1]} the others" for key, side in one["apart"].items())
        parts += [f"{one['node']}: {words}"] if words else []
    return f"{'; '.join(parts)}." if parts else "No node stands apart at that moment."
