"""Runs: the list of them. The grid is filled by `assets/runs`, which asks the API; no callback of Dash is involved."""

from __future__ import annotations

from typing import Any

import dash
import dash_ag_grid
import orjson
from dash import html
from dash.development.base_component import Component

from dashboard.components.fragment import fragment, serve
from dashboard.components.run_forms import begin
from dashboard.pages.explore import configuration
from dashboard.services import Services
from runs.speed import DECODE_MEAN, DECODE_PEAK, LENGTH, PREFILL_THROUGHPUT
from telemetry.model import Unit

PATH = "/runs"
GRID = "runs-grid"
START_MS = 60_000
NUMBERS: tuple[tuple[str, str, Unit, str], ...] = (
    ("speed.decode_mean", "Decode", Unit.TOKENS_PER_SECOND, DECODE_MEAN.definition),
    ("phases.running_mean", "Running", Unit.REQUESTS, "Requests running, mean over time."),
    ("speed.decode_peak", "Peak 10 s", Unit.TOKENS_PER_SECOND, DECODE_PEAK.definition),
    ("speed.prefill_throughput", "Prefill", Unit.TOKENS_PER_SECOND, PREFILL_THROUGHPUT.definition),
    ("speed.seconds", "Length", Unit.SECONDS, LENGTH.definition),
    ("requests.output", "Tokens out", Unit.TOKENS, "Output tokens of the run."),
    ("requests.finished", "Requests", Unit.REQUESTS, "Requests that finished in the run."),
    ("nodes.took_part", "Nodes", Unit.COUNT, "Nodes that took part."),
)
"""Columns of numbers: key in the API's answer, head, unit, and what they mean."""
TOUCHED = (
    "speed.decode_mean",
    "speed.decode_left_out",
    "Nobody looked, or the engine restarted, while {} came: they and their time are left out of this mean",
)
"""A number, the one that says how many tokens it leaves out, and how that is told."""
AGAINST = (
    "Decode, mean while decoding, against that of the deployment's baseline. Whether a difference is more than noise, "
    "and at equal concurrency, says the comparison. Grey: at another load."
)
OTHER_LOAD = "Another load: {} running on average here, {} in the baseline. The comparison tells of equal concurrency."
COURSE = "Decode speed from the run's beginning to its end; each row from 0 to its own highest point."


def columns() -> dict[str, Any]:
    """What the script needs to draw the grid: numbers with their units, and the formatter's tables."""
    told = [{"path": path, "head": head, "unit": unit.value, "told": text} for path, head, unit, text in NUMBERS]
    known = configuration()
    return {
        "numbers": told,
        "against": AGAINST,
        "load": OTHER_LOAD,
        "course": COURSE,
        "touched": TOUCHED,
        **{name: known[name] for name in ("ladders", "seconds", "words", "clock") if name in known},
    }


def page(grid: bool = True) -> Component:
    """The page. grid: False while scripts are not there yet, so that it can be written as plain HTML."""
    inner = (
        dash_ag_grid.AgGrid(
            id=GRID,
            columnDefs=[],
            rowData=[],
            getRowId="params.data.key",
            dashGridOptions={"animateRows": False, "suppressFieldDotNotation": True, "loading": True},
            style={"height": None, "width": "100%"},
        )
        if grid
        else html.P("Loading the runs", className="note")
    )
    head = html.Div(
        [
            html.H1("Runs"),
            html.Div("", className="runs-search", **{"data-runs-search": ""}),
            html.Span("", className="note", role="status", **{"data-runs-count": ""}),
            html.Details([html.Summary("Start a run"), fragment("runs-start", START_MS)], className="runs-start"),
        ],
        className="page-head",
    )
    models = html.Div("", className="runs-models", role="group", **{"data-runs-models": "", "aria-label": "Models"})
    chosen = html.Div("", className="runs-chosen", role="group", **{"data-runs-chosen": "", "aria-label": "Selected"})
    data = orjson.dumps(columns()).decode()
    bars = html.Div([models, chosen], className="runs-bars")
    return html.Div([head, bars, html.Div(inner, className="runs-grid")], className="page runs", **{"data-runs": data})


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /runs, and its form to the deployments that there are."""
    dash.register_page("runs", path=PATH, title="Runs · Tachograph", name="Runs", layout=lambda **_: page())
    serve(app.server, "runs-start", lambda: (begin([one["name"] for one in services.status()["deployments"]]), 200))
