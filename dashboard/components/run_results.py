"""Results of benchmarks on the page of a run: the client's numbers beside the engine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.run_entries import value
from dashboard.components.run_forms import entry, fixed, form
from dashboard.components.table import Row, pairs, panel, table
from exchange.benchmarks.beside import apart
from exchange.benchmarks.record import APART

LEFT_OUT = ("_std", "_median")
"""Ends the keys of numbers that are kept, and would only make the page long."""


def results(run: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> list[Component]:
    """A panel per result of a run."""
    return [_result(run, one) for one in found]


def _result(run: Mapping[str, Any], one: Mapping[str, Any]) -> Component:
    where = one["overlay"]["how"] if one["overlay"] is not None else APART
    parts: list[Component] = [html.P([f"{one['file'] or 'imported'}: {where}", *_minutes(one)], className="note")]
    tool = one["tool"]
    if one["beside"] and all(pair["server"] is None for pair in one["beside"]):
        rows = [Row(pair["label"], [value(pair["client"])]) for pair in one["beside"]]
        parts.append(table(("", "Client"), rows, f"{tool}, the client", "results alone"))
    elif one["beside"]:
        rows = [_pair(pair) for pair in one["beside"]]
        parts.append(
            table(
                ("", "Client", "Engine", "Apart", "Why they differ"), rows, f"{tool}, client and engine", "results both"
            )
        )
    rest = [entry for entry in one["rest"] if not entry["key"].endswith(LEFT_OUT)]
    if rest:
        rows = [Row(_label(entry), [value(entry), entry.get("note", "")]) for entry in rest]
        parts.append(table(("Only the client tells", "Value", "Note"), rows, f"{tool}, the client alone", "results"))
    if one["protocol"]:
        parts.append(html.Details([html.Summary("How it was measured"), pairs(sorted(one["protocol"].items()))]))
    if run["by"] != "foreign":
        parts.append(html.Details([html.Summary("It belongs elsewhere …"), _moves(run, one["key"])]))
    return panel(f"Benchmark: {one['tool']}", *parts)


def _minutes(one: Mapping[str, Any]) -> list[Any]:
    """Of when the engine's numbers beside are; nothing where there are none."""
    if one.get("engine") is None or all(pair["server"] is None for pair in one["beside"]):
        return []
    start, end = (html.Time("", **{"data-instant": str(one["engine"][name])}) for name in ("start", "end"))
    return [f"; the engine's numbers are of {one['engine']['of']}, ", start, " – ", end]


def _moves(run: Mapping[str, Any], key: str) -> Component:
    """Where else a result can go. A run that was nothing but the result is gone then."""
    number, own, which = run["id"], run["by"] != "benchmark", fixed("key", key, "text")
    to = entry("to", "Number of its run", "", "7", "json", needed=True)
    forms = [form("move", number, which, to, button="Move it there", then="" if own else "/runs")]
    if own:
        ask = "Keep this result as a run of its own, without telemetry?"
        forms.append(form("move", number, which, fixed("to", "null"), button="Keep it apart", ask=ask))
    return html.Div(forms, className="orders typed")


def _pair(pair: Mapping[str, Any]) -> Row:
    return Row(pair["label"], [value(pair["client"]), _server(pair), apart(pair["difference"]), pair["note"]])


def _server(pair: Mapping[str, Any]) -> Any:
    return "–" if pair["server"] is None else value(pair["server"])


def _label(entry: Mapping[str, Any]) -> str:
    return f"{entry['of']}: {entry['label']}" if entry.get("of") else str(entry["label"])
