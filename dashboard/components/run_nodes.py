"""The nodes of a run: all of them in a table with those that stand apart named, and everything of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.run_entries import Entry, entries, value
from dashboard.components.table import Content, Row, panel, table
from telemetry import formatting
from telemetry.model import Unit

ON = "_on"
"""Ends the keys of a node's own entries."""
PER_NODE = (
    ("utilization_mean", "Utilisation"),
    ("power_mean", "Power"),
    ("power_max", "Power, most"),
    ("temperature_mean", "Temperature"),
    ("temperature_max", "Temperature, most"),
    ("clock_min", "Clock, least"),
    ("clock_mean", "Clock"),
    ("throttled", "Throttled"),
)
STANDS_OUT = {"slowest": ("Slowest", "below"), "hottest": ("Hottest", "above")}


def of_node(entry: Entry) -> bool:
    """Whether an entry of the section of nodes is of one node."""
    return str(entry["key"]).endswith(ON)


def nodes(summary: Sequence[Mapping[str, Any]]) -> Component | None:
    """Node by node; the slowest and the hottest are named."""
    section = next((one for one in summary if one["key"] == "nodes"), None)
    every = section["entries"] if section is not None else ()
    found: dict[str, dict[str, Entry]] = {}
    for one in every:
        if of_node(one):
            found.setdefault(one.get("of", ""), {})[one["key"].removesuffix(ON)] = one
    if not found:
        return None
    apart = [one for one in every if one["key"] in STANDS_OUT]
    rows = []
    for name, own in sorted(found.items()):
        marks = [html.Span(one["key"], className="tag") for one in apart if one.get("of") == name]
        rows.append(
            Row(html.Span([picker(name), *marks]), [value(own[key]) if key in own else "" for key, _ in PER_NODE])
        )
    columns = ("Node", *(label for _, label in PER_NODE))
    return panel("Node by node", table(columns, rows, "Nodes of the run", "figures"))


def stand_out(summary: Sequence[Mapping[str, Any]]) -> Component:
    """The slowest and the hottest node in words; nothing where none can be named: why not stands among the numbers."""
    section = next((one for one in summary if one["key"] == "nodes"), None)
    apart = [one for one in (section["entries"] if section is not None else ()) if one["key"] in STANDS_OUT]
    said = [words for one in apart if one["value"] is not None for words in told(one)]
    return html.P(said, className="note stand-out")


def told(one: Entry) -> list[Content]:
    """Who stands out, by how much and since when, in words."""
    label, side = STANDS_OUT[one["key"]]
    by = formatting.text(abs(one["value"]), Unit(one["unit"]))
    return [f"{label}: ", picker(one.get("of", "")), f", {by} {side} the middle node, ", *when(one), ". "]


def when(one: Entry) -> list[Content]:
    """The time in which it did, in words."""
    since, until = (
        html.Time("", **{"data-instant": str(one[name])}) if name in one else None for name in ("since", "until")
    )
    if since is None and until is None:
        return ["all along"]
    parts: list[Content] = ["since " if until is None else "from ", since] if since is not None else []
    return [*parts, " until " if since is not None else "until ", until] if until is not None else parts


def picker(name: str) -> Component:
    """A node's name as a button that shows its run."""
    return html.Button(name, type="button", className="picker", title=f"{name} in this run", **{"data-pick-node": name})


def node(summary: Sequence[Mapping[str, Any]], name: str) -> Component:
    """Every number of one node in the stretch, from all sections."""
    found = [one for section in summary for one in section["entries"] if one.get("of") == name or cage_of(one, name)]
    gone = html.Button("Close", type="button", className="plain", **{"data-unpick": "node"})
    aside = html.Span([dcc.Link("Node now", href=f"/node/{name}"), gone])
    shown = [{**one, "of": one.get("of", "").removeprefix(name).strip()} for one in found]
    content = (
        entries(shown, f"Numbers of {name}")
        if shown
        else html.P("Nothing is known of this node in this stretch.", className="note")
    )
    return panel(f"{name} in this stretch", content, aside=aside, class_name="run-node-numbers")


def cage_of(entry: Entry, name: str) -> bool:
    """Whether an entry is of a cage of the node."""
    return str(entry["key"]).startswith("cage_") and str(entry.get("of", "")).startswith(f"{name} ")
