"""What can be taken away of a run: its report, and what another installation imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

FILES = (
    ("report.html", "Report", "One HTML file with numbers, charts and nodes; opens anywhere"),
    ("report.md", "Text for a forum", "Markdown with the key numbers"),
    ("bundle", "For another Tachograph", "Everything that is kept of the run, to be imported elsewhere"),
)
NAMELESS = "anonymous=1"


def report(run: Mapping[str, Any]) -> Component:
    """A small menu: each file, with names of machines or with numbers in their place."""
    files = [one for one in FILES if one[0] != "bundle" or not run["live"]]
    rows = [_row(f"/api/v1/runs/{run['id']}/{path}", label, title) for path, label, title in files]
    return html.Details(
        [html.Summary("Report", className="plain"), html.Div(rows, className="report-files")], className="report-menu"
    )


def _row(address: str, label: str, title: str) -> Component:
    return html.Div(
        [
            html.A(label, href=address, title=title),
            html.A("without names", href=f"{address}?{NAMELESS}", title="Machines have numbers", className="note"),
        ]
    )
