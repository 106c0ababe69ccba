"""What stands on the pages of alerts: what fires, what may come to, silences, rules, and what is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components import alert_forms as forms
from dashboard.components.table import Content, Row, pairs, table
from dashboard.layout.shell import MARKS
from telemetry import formatting
from telemetry.model import Unit

Answer = Mapping[str, Any]
LEVELS = {"critical": "critical", "warning": "warning", "info": "ok"}
ORIGINS = {"default": "as delivered", "file": "from tachograph.toml", "page": "changed here"}
STATES = {
    "firing": "fires",
    "acknowledged": "fires, acknowledged",
    "silenced": "fires, silenced",
    "inhibited": "fires because of another",
    "resolved": "over",
}


def instant(at_ms: int | None, none: str = "–") -> Content:
    """The browser writes it in the viewer's zone."""
    return none if at_ms is None else html.Time("", **{"data-instant": str(at_ms)})


def lasted(alert: Answer, now_ms: int) -> str:
    """How long it has been wrong, or was."""
    return formatting.text(((alert["ended"] or now_ms) - alert["began"]) / 1000, Unit.SECONDS)


def mark(severity: str) -> Component:
    """Shape and colour of a severity."""
    return html.Span(MARKS[LEVELS.get(severity, "unknown")], className="mark", **{"aria-hidden": "true"})


def link(alert: Answer) -> Component:
    """To an alert's own page."""
    return dcc.Link(alert["title"], href=f"/alerts/{alert['id']}")


def firing(alerts: Sequence[Answer], now_ms: int) -> Component:
    """A card per cause, with what follows from it; what nobody wants to hear of last."""
    roots = [alert for alert in alerts if alert["state"] != "inhibited"]
    effects: dict[int, list[Answer]] = {}
    for alert in alerts:
        if alert["state"] == "inhibited":
            effects.setdefault(alert["cause"], []).append(alert)
    if not roots:
        return html.P("Nothing is wrong that a rule knows of.", className="note well")
    order = sorted(roots, key=lambda one: (one["state"] == "silenced", *_badness(one)))
    return html.Div([card(alert, effects.get(alert["id"], ()), now_ms) for alert in order], className="alert-cards")


def _badness(alert: Answer) -> tuple[int, int]:
    return (("critical", "warning", "info").index(alert["severity"]), -alert["fired"])


def card(alert: Answer, effects: Sequence[Answer], now_ms: int) -> Component:
    """One alert: what, where, since when, with what can be done about it."""
    head = html.Div(
        [
            mark(alert["severity"]),
            html.H3(link(alert)),
            html.Span(alert["severity"], className="chip"),
            *([html.Span(STATES[alert["state"]], className="chip")] if alert["state"] != "firing" else []),
            html.Span([f"for {lasted(alert, now_ms)}, since ", instant(alert["began"])], className="note since"),
        ],
        className="alert-head",
    )
    known = (
        [] if alert["known"] is not False else [html.P("Not known any more; it counts as going on.", className="note")]
    )
    followed = [_effects(effects)] if effects else []
    return html.Article(
        [head, html.P(alert["message"], className="alert-message"), *known, *followed, _doing(alert, now_ms)],
        className="alert-card",
        **{"data-severity": alert["severity"], "data-state": alert["state"], "data-key": f"alert {alert['id']}"},
    )


def _effects(effects: Sequence[Answer]) -> Component:
    words = "1 more alert follows from it" if len(effects) == 1 else f"{len(effects)} more alerts follow from it"
    lines = [html.Li([link(one), ": ", one["message"]]) for one in effects]
    return html.Details([html.Summary(words), html.Ul(lines)])


def _doing(alert: Answer, now_ms: int) -> Component:
    if alert["acknowledged"] is None:
        seen: list[Content] = [forms.acknowledge(alert)]
    else:
        who = f" by {alert['acknowledged_by']}" if alert["acknowledged_by"] else ""
        seen = [html.Span([f"acknowledged{who}, ", instant(alert["acknowledged"])], className="note")]
    quiet = [] if alert["state"] == "silenced" else [forms.quieten(alert, now_ms)]
    return html.Div([*seen, *quiet], className="orders")


def pending(found: Sequence[Answer], now_ms: int) -> Component:
    """What holds, and has not for long enough."""
    rows = [
        Row(
            html.Span([mark(one["severity"]), one["title"]]),
            [one["subject"], formatting.text((now_ms - one["since"]) / 1000, Unit.SECONDS), _after(one)],
            "pending",
        )
        for one in found
    ]
    return table(("Rule", "Where", "For", "Fires after"), rows, "Pending")


def _after(one: Answer) -> str:
    return formatting.text(one["fires_after_ms"] / 1000, Unit.SECONDS)


def silences(found: Sequence[Answer]) -> Component:
    """Those that hold or are to come."""
    rows = []
    for one in found:
        about = [f"{key} {one[key]}" for key in ("rule", "node", "deployment", "severity") if one[key]]
        rows.append(
            Row(
                ", ".join(about) or "everything",
                [one["state"], instant(one["start"]), instant(one["end"]), one["comment"] or "–", forms.end(one)],
            )
        )
    return table(("About", "State", "From", "To", "Why", ""), rows, "Silences", "silences")


def history(alerts: Iterable[Answer], now_ms: int) -> Component:
    """What is over."""
    rows = [
        Row(
            html.Span([mark(one["severity"]), link(one)]),
            [one["message"], instant(one["fired"]), lasted(one, now_ms), one["why_ended"] or "–"],
        )
        for one in alerts
    ]
    return table(
        ("Alert", "What was wrong", "Fired", "Lasted", "Ended because"), rows, "Earlier alerts", "alert-history"
    )


def rules(found: Sequence[Answer]) -> Component:
    """Every rule behind its title."""
    return html.Div([rule(one) for one in found], className="rule-list")


def rule(one: Answer) -> Component:
    """A rule: what it says, where each of its values comes from, and how to change it."""
    changed = [name for name, origin in one["origins"].items() if origin != "default"]
    chips = [html.Span(one["severity"], className="chip")]
    chips += [] if one["enabled"] else [html.Span("off", className="chip")]
    chips += [html.Span("changed", className="chip")] if changed else []
    summary = html.Summary([mark(one["severity"] if one["enabled"] else ""), html.Span(one["title"]), *chips])
    where = [(name, ORIGINS.get(one["origins"][name], one["origins"][name])) for name in changed]
    return html.Details(
        [
            summary,
            *([html.P(one["text"], className="note")] if one["text"] else []),
            *([html.P(dcc.Link("Runbook", href=one["runbook"]))] if one["runbook"].startswith("https://") else []),
            *([pairs(where)] if where else []),
            forms.edit(one),
            html.Div(
                [forms.enable(one), *([forms.reset(one)] if "page" in one["origins"].values() else [])],
                className="orders",
            ),
        ],
        className="rule",
        **{"data-rule": one["name"], "data-key": one["name"]},
    )
