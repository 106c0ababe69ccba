"""Explore: any metrics of any scopes over any stretch of time, as charts on one time axis.

The page is drawn by `assets/explore`; here stand its frame, what the browser needs of the one formatter, and the text
that answers "what is this number". The view is its address, so the frame is the same for all of them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import dash
import orjson
from dash import html
from dash.development.base_component import Component

from dashboard.components.fragment import serve
from dashboard.figures.explore import DEFAULT_METRICS, GROUPS, SERIES_COLOURS
from dashboard.pages.explore_text import about
from exchange.formats import FORMS, is_writable
from telemetry import catalog, formatting

PATH = "/explore"


def configuration() -> dict[str, Any]:
    """{ladders, clock, groups, metrics, colours}: what the scripts need to know before they ask for anything.

    `forms` are those in which files can be written here. `ladders` and `seconds` are the formatter's own tables, so
    that a number under the cursor reads as everywhere else.
    """
    return {
        "ladders": {unit.value: asdict(ladder) for unit, ladder in formatting.LADDERS.items()},
        "seconds": {
            "short": formatting.SHORT_SECONDS,
            "clock": formatting.CLOCK,
            "ends": formatting.CLOCK_ENDS,
        },
        "words": {
            "unknown": formatting.UNKNOWN_TEXT,
            "minus": formatting.MINUS,
            "too_much": formatting.TOO_MUCH,
            "most_open": formatting.MOST_OPEN,
        },
        "groups": [list(group) for group in GROUPS],
        "metrics": [metric.name for metric in DEFAULT_METRICS],
        "colours": list(SERIES_COLOURS),
        "forms": [form for form in FORMS if is_writable(form)],
    }


def page() -> Component:
    """The frame. What stands in it before the scripts have run says what is coming."""
    return html.Div(
        [html.H1("Explore", className="unseen"), html.P("Loading the charts", className="explore-wait note")],
        className="page explore",
        **{"data-explore": orjson.dumps(configuration()).decode()},
    )


def described(name: str) -> tuple[Component, int]:
    """What a metric is, and the HTTP status."""
    metric = catalog.find(name)
    if metric is None:
        return html.P(f"There is no metric “{name[:80]}”."), 404
    return about(metric), 200


def register(app: dash.Dash) -> None:
    """Bind the page to /explore, and the texts of the catalogue to /fragment/metric."""
    dash.register_page("explore", path=PATH, title="Explore · Tachograph", name="Explore", layout=lambda **_: page())
    serve(app.server, "metric", described, "name")
