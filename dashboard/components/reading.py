"""A reading: one cell of the live message with its label. The browser fills cells by key, and only when they change."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

Children = list[Component | str]


def cell(key: str, class_name: str = "") -> Component:
    """Place of one cell of the live message: number and unit."""
    return html.Span([html.B("–"), html.I("")], className=f"cell {class_name}".strip(), **{"data-cell": key})


def noted(*parts: str | Component) -> Component:
    """A line of words and cells below a reading; gives way to the reading's reason while that is unknown."""
    return html.Div(list(parts), className="note")


def reading(label: str | Children, key: str, *note: str | Component, class_name: str = "") -> Component:
    """A labelled reading with a note below it. The reason why it is unknown stands where the note stood."""
    return html.Div(
        [
            html.Div(label, className="label"),
            cell(key, "value"),
            html.Div([noted(*note), html.Div("", className="reason", **{"data-reason": key})], className="below"),
        ],
        className=f"reading {class_name}".strip(),
        **{"data-reading": key},
    )
