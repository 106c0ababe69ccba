"""Alerts: what is wrong now by its cause, what may come to fire, silences, who is told, rules, and what is over."""

from __future__ import annotations

from collections.abc import Mapping

import dash
import orjson
from dash import html
from dash.development.base_component import Component

from dashboard.api.parameters import ParameterError
from dashboard.components import alert_channels, alert_rules
from dashboard.components import alert_forms as forms
from dashboard.components import alert_lists as lists
from dashboard.components import alert_still as still
from dashboard.components.alert_words import instant
from dashboard.components.fragment import fragment, serve
from dashboard.components.table import panel
from dashboard.pages.explore import configuration
from dashboard.services import Answer, Services

PATH = "/alerts"
REFRESH_MS = 3_000
SLOW_MS, RULES_MS = 15_000, 60_000
MOST_OVER = 200
FILTERS = ("severity", "rule", "node", "start", "end", "text")
"""What the list of earlier alerts may be asked for; each stands in the page's address, too."""


def now(answer: Answer, rules: Answer, read: still.Now = lambda _target, _metric: ()) -> list[Component]:
    """What fires, what may, and who does not want to hear of it. read: values of now."""
    now_ms, going, monitor = answer["now"], answer["alerts"], answer["monitor"]
    at_ms = now_ms - ((monitor["commit_age_ms"] or 0) if monitor["silent"] else 0)
    quiet = [one for one in answer["silences"] if one["state"] != "over"]
    named = {rule["name"]: rule for rule in rules["rules"]}
    never = monitor["commit_age_ms"] is None
    cards = [] if never else [lists.firing(going, at_ms, named, quiet, silent=monitor["silent"], read=read)]
    aside = "not known" if monitor["silent"] and not going else count(going)
    parts = [panel("Firing", *silent(monitor, at_ms), *cards, aside=aside, key="firing")]
    if answer["pending"]:
        parts.append(panel("Pending", lists.pending(answer["pending"], at_ms), key="pending"))
    listed = [lists.silences(quiet)] if quiet else []
    ways = (
        ("silence", "Silence alerts, or plan a maintenance …", forms.silence),
        ("weekly", "Silence alerts in a window of every week …", forms.weekly),
    )
    made = [
        html.Details([html.Summary(words), make(rules["rules"], now_ms)], **{"data-key": key})
        for key, words, make in ways
    ]
    return [*parts, panel("Silences", *listed, *made, key="silences")]


def silent(monitor: Answer, since_ms: int) -> list[Component]:
    """That nobody looks any more, where that is so. since_ms: when something was written last."""
    if not monitor["silent"]:
        return []
    if monitor["commit_age_ms"] is None:
        words = "The collector has not written anything yet: no rule was evaluated."
        return [html.P(words, className="reason")]
    told = ["Nobody has evaluated rules since ", instant(since_ms), ", when the collector fell silent. "]
    return [html.P([*told, "What stands here is of then, and nothing new fires."], className="reason critical")]


def count(going: list[Answer]) -> str:
    """How many cards there are, how many of them *Alerts* in the menu does not count, and how many alerts."""
    if not going:
        return "all quiet"
    firsts = [first for first, *_ in lists.groups(going)]
    words = "1 cause" if len(firsts) == 1 else f"{len(firsts)} causes"
    quiet = sum(one["state"] == "silenced" for one in firsts)
    light = sum(one["severity"] == "info" and one["state"] != "silenced" for one in firsts)
    apart = [f"{count} {what}" for count, what in ((light, "for information"), (quiet, "silenced")) if count]
    words += f" ({', '.join(apart)})" if apart else ""
    return words if len(firsts) == len(going) else f"{words}, {len(going)} alerts"


def over(given: Mapping[str, str], services: Services) -> tuple[list[Component], int]:
    """What is over, the newest first, and the HTTP status. given: of what is listed."""
    asked = {name: value for name, value in given.items() if value}
    form = forms.filters(asked, services.rules()["rules"])
    try:
        answer = services.alerts_over({**asked, "limit": str(MOST_OVER + 1)})
    except ParameterError as error:
        return [panel("Earlier", form, html.P(str(error), className="reason critical"), key="earlier")], 200
    return [
        panel("Earlier", form, *past(answer, filtered=bool(asked)), aside=found(answer["alerts"]), key="earlier")
    ], 200


def past(answer: Answer, *, filtered: bool) -> list[Component]:
    """The list, or why there is none."""
    if answer["alerts"]:
        return [lists.history(answer["alerts"][:MOST_OVER], answer["now"])]
    words = "No alert that is over is like that." if filtered else "No alert has fired and ended yet."
    return [html.P(words, className="note")]


def found(alerts: list[Answer]) -> str:
    """How many there are, in words."""
    if len(alerts) > MOST_OVER:
        return f"the newest {MOST_OVER}"
    return "" if not alerts else "1 alert" if len(alerts) == 1 else f"{len(alerts)} alerts"


def rules(answer: Answer, channels: Answer) -> list[Component]:
    """Every rule, and what is wrong with those of the settings file."""
    wrong = [html.P(problem, className="reason critical") for problem in answer["problems"]]
    on = sum(rule["enabled"] for rule in answer["rules"])
    names = [one["name"] for one in channels["channels"] if one["enabled"]]
    make = html.Details([html.Summary("Make a rule …"), forms.create()], **{"data-key": "create"})
    listed = alert_rules.rules(answer["rules"], names)
    return [panel("Rules", *wrong, make, listed, aside=f"{on} of {len(answer['rules'])} on", key="rules")]


def told(channels: Answer, rules: Answer) -> list[Component]:
    """Who is told."""
    listed = alert_channels.channels(channels["channels"], rules["rules"])
    failing = sum(one["failing"] for one in channels["channels"])
    return [panel("Channels", listed, aside=f"{failing} failing" if failing else None, key="channels")]


def changed(answer: Answer, rules: Answer) -> list[Component]:
    """What people changed of rules."""
    titles = {rule["name"]: rule["title"] for rule in rules["rules"]}
    return [panel("Changes of rules", alert_rules.log(answer["changes"], titles), key="log")]


def page(**query: str) -> Component:
    """The page: fragments, each looking again at its own pace. query: of the address, for the list of what is over."""
    head = html.Div(html.H1("Alerts"), className="page-head")
    asked = {name: query[name] for name in FILTERS if query.get(name)}
    return html.Div(
        [
            head,
            fragment("alerts", REFRESH_MS),
            fragment("alerts-over", SLOW_MS, **asked),
            fragment("alert-channels", SLOW_MS),
            fragment("alert-rules", RULES_MS),
            fragment("rule-log", RULES_MS),
        ],
        className="page alerts",
        **{"data-tables": orjson.dumps(configuration()).decode()},
    )


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /alerts and its contents to the services."""

    def earlier(*values: str) -> tuple[list[Component], int]:
        return over(dict(zip(FILTERS, values, strict=True)), services)

    dash.register_page("alerts", path=PATH, title="Alerts · Tachograph", name="Alerts", layout=page)
    serve(app.server, "alerts", lambda: (now(services.alerts(), services.rules(), services.reading), 200))
    serve(app.server, "alerts-over", earlier, *FILTERS)
    serve(app.server, "alert-channels", lambda: (told(services.channels(), services.rules()), 200))
    serve(app.server, "alert-rules", lambda: (rules(services.rules(), services.channels()), 200))
    serve(app.server, "rule-log", lambda: (changed(services.rule_log(), services.rules()), 200))
