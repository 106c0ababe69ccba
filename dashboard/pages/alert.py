"""One alert: what is wrong, since when, how sure that is, what to do first; then the minutes around it as charts, what
was read, what follows from it, and what is kept."""

from __future__ import annotations

from urllib.parse import urlencode

import dash
import orjson
from dash import dcc, html
from dash.development.base_component import Component

from alerts.given import GIVEN
from dashboard.components import alert_evidence as kept
from dashboard.components import alert_lists as lists
from dashboard.components import alert_still as still
from dashboard.components import alert_words as words
from dashboard.components.fragment import fragment, serve
from dashboard.components.table import Content, Row, pairs, panel, table
from dashboard.pages import missing
from dashboard.pages.explore import configuration
from dashboard.services import Answer, Services

PREFIX = "/alerts/"
REFRESH_MS = 5_000
SLOW_MS = 15_000
AROUND_MS = 600_000
OF = {
    **dict.fromkeys(("node", "gpu", "cage", "function", "sensor", "mount"), "node"),
    "server": "engine",
    "engine": "engine",
}
"""Places, and by what Explore limits to the thing that such an alert is about."""


def body(
    answer: Answer | None, now_ms: int, read: still.Now = lambda _target, _metric: ()
) -> tuple[list[Component], int]:
    """What it is: (content, HTTP status). read: values of now."""
    if answer is None:
        return [missing.page("There is no such alert", "It may have been given up with the samples of its time.")], 404
    alert = answer["alert"]
    head = html.Div(
        [
            words.mark(alert["severity"]),
            html.H1(alert["title"]),
            html.Span(alert["severity"], className="chip"),
            html.Span(words.STATES[alert["state"]], className="chip"),
        ],
        className="page-head alert-head",
    )
    parts: list[Content] = [words.message(alert), cells(answer, now_ms, read)]
    parts += words.first(answer["rule"], alert, whole=True)
    parts += reasons(answer)
    doing = [lists.doing(alert, now_ms)] if alert["ended"] is None else []
    parts.append(html.Div([*doing, ways(alert)], className="alert-do"))
    now = html.Section(
        [head, *parts],
        className="panel alert-now",
        **{"data-severity": alert["severity"], "data-state": alert["state"]},
    )
    return [now], 200


def cells(answer: Answer, now_ms: int, read: still.Now = lambda _target, _metric: ()) -> Component:
    """Since when, where, how sure: one glance each."""
    alert = answer["alert"]
    short, sentence = words.sure(alert, answer["rule"], still.words(alert, answer["effects"], read))
    until: list[Content] = [" – ", words.instant(alert["ended"])] if alert["ended"] is not None else []
    since = words.instant(alert["began"])
    found = (
        ("Lasted" if until else "For", words.lasted(alert, now_ms), [since, *until] if until else ["since ", since]),
        ("Where", alert["subject"] or "the cluster", [alert["deployment"]]),
        ("How sure", short, [sentence]),
    )
    shown = [
        html.Div(
            [html.Div(label, className="label"), html.Div(value, className="value"), html.Div(note, className="note")],
            className="alert-cell",
            **{"data-doubt": "true"} if label == "How sure" and alert["condition"] == "unknown" else {},
        )
        for label, value, note in found
    ]
    return html.Div(shown, className="alert-cells")


def reasons(answer: Answer) -> list[Component]:
    """Why nobody is told of it, where that is so."""
    found: list[Component] = []
    because, silence = answer["because"], answer["silenced"]
    if because is not None:
        over = "" if because["ended"] is None else ", which is over"
        found.append(html.P(["Follows from ", words.link(because), f": {because['message']}{over}"], className="note"))
    if silence is not None:
        found.append(words.hidden(silence))
    if answer["alert"]["held_back"]:
        found.append(words.held_back(answer["alert"]))
    return found


def more(answer: Answer | None, evidence: Answer | None, now_ms: int) -> list[Component]:
    """What was read, its course, what follows from it, and what is kept but samples."""
    if answer is None or evidence is None:
        return []
    alert = answer["alert"]
    effects = [panel("Follows from it", lists.history(answer["effects"], now_ms))] if answer["effects"] else []
    owner = alert["key"][0] if alert["key"] else ""
    read = panel("Read when it fired", values(alert), key="read")
    course = panel("When", pairs([*times(alert, now_ms), *kept.run(evidence)]), key="when")
    return [
        *effects,
        html.Div([read, course], className="sections"),
        panel("What happened around it", *kept.happened(evidence, owner), key="happened"),
        *kept.facts(evidence),
    ]


def times(alert: Answer, now_ms: int) -> list[tuple[str, Content]]:
    """Its course, and what it belongs to."""
    found: list[tuple[str, Content]] = [
        ("Since", words.instant(alert["began"])),
        ("Fired", words.instant(alert["fired"])),
        ("Ended", words.instant(alert["ended"], "not yet")),
        ("Lasted, from Since on", words.lasted(alert, now_ms)),
    ]
    if alert["why_ended"]:
        found.append(("Ended because", alert["why_ended"]))
    if alert["acknowledged"] is not None:
        who = words.by(alert["acknowledged_by"])
        found.append(("Acknowledged", html.Span([words.instant(alert["acknowledged"]), who])))
    found.append(("Rule", dcc.Link(alert["rule"], href=f"/alerts#rule-{alert['rule']}")))
    if alert["deployment"]:
        found.append(("Deployment", alert["deployment"]))
    return found


def values(alert: Answer) -> Component:
    """Each reading of the condition, as it was then."""
    rows = [
        Row(one["label"], [one["text"], "may be unknown" if one["corroborates"] else "must be known"], "ok")
        for one in alert["values"]
    ]
    return table(("Reading", "Value", "For the rule"), rows, "Readings")


def explore(alert: Answer) -> Component | None:
    """The same readings of its node or engine around that time, in Explore; of all, where it compares with peers."""
    metrics = dict.fromkeys(one["metric"] for one in alert["values"] if one["metric"] and one["metric"] not in GIVEN)
    if not metrics:
        return None
    start, end = alert["fired"] - AROUND_MS, (alert["ended"] or alert["fired"]) + AROUND_MS
    query = {"metric": ",".join(metrics), "start": str(start), "end": str(end)}
    compares = any(one["label"].startswith("peers'") for one in alert["values"])
    if alert["key"] and alert["place"] in OF and not compares:
        query[OF[alert["place"]]] = alert["key"][0]
    return dcc.Link("Open in Explore", href=f"/explore?{urlencode(query, safe=',')}", className="plain")


def ways(alert: Answer) -> Component:
    """To Explore, and files to take along."""
    found = [explore(alert), kept.files(alert["id"])]
    return html.Div([one for one in found if one is not None], className="alert-ways")


def page(number: str) -> Component:
    """The page: fragments, and between them the place of the charts, which `assets/alert` draws."""
    tables = {"data-tables": orjson.dumps(configuration()).decode()}
    return html.Div(
        [
            fragment("alert", REFRESH_MS, number=number),
            html.Div("", className="alert-evidence", **{"data-alert-evidence": number, **tables}),
            fragment("alert-more", SLOW_MS, number=number),
        ],
        className="page alerts",
    )


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /alerts/NUMBER and its contents to the services."""

    def content(number: str) -> tuple[list[Component], int]:
        answer = services.alert(number)
        return body(answer, 0 if answer is None else answer["now"], services.reading)

    def rest(number: str) -> tuple[list[Component], int]:
        answer = services.alert(number)
        if answer is None:
            return [], 404
        return more(answer, services.alert_evidence(number), answer["now"]), 200

    dash.register_page(
        "alert",
        path_template=f"{PREFIX}<number>",
        title="Alert · Tachograph",
        name="Alert",
        layout=lambda number="", **_: page(number),
    )
    serve(app.server, "alert", content, "number")
    serve(app.server, "alert-more", rest, "number")
