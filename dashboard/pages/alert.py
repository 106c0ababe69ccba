"""One alert: what was read when it fired, what follows from it, and what is kept of the minutes around."""

from __future__ import annotations

from urllib.parse import urlencode

import dash
from dash import dcc, html
from dash.development.base_component import Component

from alerts.given import GIVEN
from dashboard.components import alert_lists as lists
from dashboard.components.fragment import fragment, serve
from dashboard.components.table import Content, Row, pairs, panel, table
from dashboard.pages import missing
from dashboard.services import Answer, Services

PREFIX = "/alerts/"
REFRESH_MS = 5_000
AROUND_MS = 600_000


def body(answer: Answer | None, now_ms: int) -> tuple[list[Component], int]:
    """(content, HTTP status)."""
    if answer is None:
        return [missing.page("There is no such alert", "It may have been given up with the samples of its time.")], 404
    alert = answer["alert"]
    effects = [panel("Follows from it", lists.history(answer["effects"], now_ms))] if answer["effects"] else []
    head = html.Div(
        [html.H1(alert["title"]), html.Span(lists.STATES[alert["state"]], className="chip")], className="page-head"
    )
    return [
        head,
        html.Div(
            lists.card(alert, (), now_ms) if alert["ended"] is None else html.P(alert["message"]), className="panel"
        ),
        panel("When", pairs(times(alert, now_ms)), aside=explore(alert)),
        panel("Read when it fired", values(alert)),
        *effects,
    ], 200


def times(alert: Answer, now_ms: int) -> list[tuple[str, Content]]:
    """Its course, and what it belongs to."""
    found: list[tuple[str, Content]] = [
        ("Began to be wrong", lists.instant(alert["began"])),
        ("Fired", lists.instant(alert["fired"])),
        ("Over", lists.instant(alert["ended"], "not yet")),
        ("Lasted", lists.lasted(alert, now_ms)),
        ("Rule", dcc.Link(alert["rule"], href=f"/alerts#rule-{alert['rule']}")),
    ]
    if alert["deployment"]:
        found.append(("Deployment", alert["deployment"]))
    if alert["run"] is not None:
        found.append(("Run", dcc.Link(f"run {alert['run']}", href=f"/runs/{alert['run']}")))
    if alert["cause"] is not None:
        found.append(("Because of", dcc.Link(f"alert {alert['cause']}", href=f"/alerts/{alert['cause']}")))
    if alert["why_ended"]:
        found.append(("Ended because", alert["why_ended"]))
    return found


def values(alert: Answer) -> Component:
    """Each reading of the condition, as it was then."""
    rows = [
        Row(one["label"], [one["text"], "goes without" if one["corroborates"] else "needed"], "ok")
        for one in alert["values"]
    ]
    return table(("Reading", "Value", "The rule"), rows, "Readings")


def explore(alert: Answer) -> Component | None:
    """The same readings around that time, in Explore."""
    metrics = dict.fromkeys(one["metric"] for one in alert["values"] if one["metric"] and one["metric"] not in GIVEN)
    if not metrics:
        return None
    start, end = alert["fired"] - AROUND_MS, (alert["ended"] or alert["fired"]) + AROUND_MS
    query = {"metric": ",".join(metrics), "start": str(start), "end": str(end)}
    return dcc.Link("Open in Explore", href=f"/explore?{urlencode(query, safe=',')}", className="plain")


def page(number: str) -> Component:
    """The page: one fragment."""
    return html.Div([fragment("alert", REFRESH_MS, number=number)], className="page alerts")


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /alerts/NUMBER and its content to the services."""

    def content(number: str) -> tuple[list[Component], int]:
        return body(services.alert(number), services.alerts()["now"])

    dash.register_page(
        "alert",
        path_template=f"{PREFIX}<number>",
        title="Alert · Tachograph",
        name="Alert",
        layout=lambda number="", **_: page(number),
    )
    serve(app.server, "alert", content, "number")
