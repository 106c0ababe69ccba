"""Alerts: what is wrong now, grouped by cause; what may come to fire, silences, rules, and what is over."""

from __future__ import annotations

import dash
from dash import html
from dash.development.base_component import Component

from dashboard.components import alert_forms as forms
from dashboard.components import alert_lists as lists
from dashboard.components.fragment import fragment, serve
from dashboard.components.table import panel
from dashboard.services import Answer, Services

PATH = "/alerts"
REFRESH_MS = 3_000
SLOW_MS = 15_000
MOST_OVER = 200


def now(answer: Answer, rules: Answer) -> list[Component]:
    """What fires, what may, and who does not want to hear of it."""
    at_ms, found = answer["now"], answer["alerts"]
    going = [alert for alert in found if alert["state"] != "resolved"]
    quiet = [one for one in answer["silences"] if one["state"] != "over"]
    parts = [panel("Firing", lists.firing(going, at_ms), aside=count(going), key="firing")]
    if answer["pending"]:
        parts.append(panel("Pending", lists.pending(answer["pending"], at_ms), key="pending"))
    listed = [lists.silences(quiet)] if quiet else []
    words = html.Summary("Silence alerts, or plan a maintenance …")
    make = html.Details([words, forms.silence(rules["rules"], at_ms)], **{"data-key": "silence"})
    return [*parts, panel("Silences", *listed, make, key="silences")]


def count(going: list[Answer]) -> str:
    """How many there are, in words."""
    causes = sum(alert["state"] != "inhibited" for alert in going)
    if not going:
        return "all quiet"
    words = "1 cause" if causes == 1 else f"{causes} causes"
    return words if causes == len(going) else f"{words}, {len(going)} alerts"


def over(answer: Answer) -> list[Component]:
    """What is over, the newest first."""
    found = [alert for alert in answer["alerts"] if alert["state"] == "resolved"][:MOST_OVER]
    if not found:
        return [panel("Earlier", html.P("No alert has fired and ended yet.", className="note"))]
    return [panel("Earlier", lists.history(found, answer["now"]))]


def rules(answer: Answer) -> list[Component]:
    """Every rule, and what is wrong with those of the settings file."""
    wrong = [html.P(problem, className="reason critical") for problem in answer["problems"]]
    on = sum(rule["enabled"] for rule in answer["rules"])
    return [panel("Rules", *wrong, lists.rules(answer["rules"]), aside=f"{on} of {len(answer['rules'])} on")]


def page() -> Component:
    """The page: three fragments, each looking again at its own pace."""
    head = html.Div(html.H1("Alerts"), className="page-head")
    return html.Div(
        [
            head,
            fragment("alerts", REFRESH_MS),
            fragment("alerts-over", SLOW_MS),
            fragment("alert-rules", SLOW_MS),
        ],
        className="page alerts",
    )


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /alerts and its contents to the services."""
    dash.register_page("alerts", path=PATH, title="Alerts · Tachograph", name="Alerts", layout=lambda **_: page())
    serve(app.server, "alerts", lambda: (now(services.alerts(), services.rules()), 200))
    serve(app.server, "alerts-over", lambda: (over(services.alerts()), 200))
    serve(app.server, "alert-rules", lambda: (rules(services.rules()), 200))
