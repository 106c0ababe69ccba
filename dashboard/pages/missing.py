"""An address that leads nowhere."""

from __future__ import annotations

from collections.abc import Mapping

import dash
from dash import dcc, html
from dash.development.base_component import Component


def page(
    heading: str = "There is no such page",
    words: str = "The address may be old, or mistyped.",
    others: Mapping[str, str] | None = None,
) -> Component:
    """Says so, and leads back; others: what there is in its place, words to addresses."""
    links = [html.Li(dcc.Link(label, href=address)) for label, address in (others or {}).items()]
    known = [html.Ul(links)] if links else []
    return html.Div(
        [html.H1(heading), html.P(words), *known, html.P(dcc.Link("To the cluster", href="/"))], className="page lost"
    )


def register() -> None:
    """Stand in for every address that no page has."""
    dash.register_page("not_found_404", title="Not found · Tachograph", layout=lambda **_: page())
