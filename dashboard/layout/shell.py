"""The frame around every page: header with the sentence, navigation, age of the data, zone and theme."""

from __future__ import annotations

import dash
from dash import dcc, html
from dash.development.base_component import Component

MARKS = {"ok": "●", "idle": "●", "info": "◆", "warning": "▲", "critical": "■", "unknown": "○", "empty": "○"}
"""Shape of each level and of alerts for information, so that colour is never the only sign; `age.js` uses the same."""
MENU = (("Cluster", "/"), ("Runs", "/runs"), ("Explore", "/explore"), ("Alerts", "/alerts"), ("Status", "/status"))


def bar(demo: bool = False, level: str = "unknown", sentence: str = "") -> Component:
    """Content of the header. The browser keeps sentence and age up to date, and names its zone."""
    links: list[Component] = [dcc.Link(label, href=address, className="menu-link") for label, address in MENU]
    if demo:
        links.append(html.Button("Faults", className="menu-link", type="button", **{"data-faults-toggle": ""}))
    pill = html.Div(
        [html.Span(MARKS[level], className="mark", **{"aria-hidden": "true"}), html.Span(sentence, className="words")],
        className="sentence",
        role="status",
        **{"data-sentence": "", "data-level": level},
    )
    about = html.Div(
        [html.Span("", className="age", **{"data-age": ""}), html.Span("", className="zone", **{"data-zone": ""})],
        className="about",
    )
    theme = html.Button(
        "◐", className="theme", type="button", **{"data-theme-toggle": "", "aria-label": "Change theme"}
    )
    brand = dcc.Link(
        [html.Span("", className="logo"), html.Span("Tachograph", className="brand-name")], href="/", className="brand"
    )
    menu = html.Nav(links, className="menu", **{"aria-label": "Pages"})
    return html.Div([brand, pill, menu, about, theme], className="bar")


def shell(demo: bool = False) -> Component:
    """The layout of the app: header, page, and in the demo the panel of faults."""
    header = html.Header(bar(demo), className="header")
    panel = [html.Div("", className="faults", hidden=True, **{"data-faults": ""})] if demo else []
    return html.Div([header, html.Main(dash.page_container), *panel])
