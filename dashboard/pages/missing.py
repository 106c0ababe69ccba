"""An address that leads nowhere."""

from __future__ import annotations

import dash
from dash import dcc, html
from dash.development.base_component import Component


def page() -> Component:
    """Says so, and leads back."""
    return html.Div(
        [
            html.H1("There is no such page"),
            html.P("The address may be old, or mistyped."),
            html.P(dcc.Link("To the cluster", href="/")),
        ],
        className="page lost",
    )


def register() -> None:
    """Stand in for every address that no page has."""
    dash.register_page("not_found_404", title="Not found · Tachograph", layout=lambda **_: page())
