"""What stands on the page of alerts: what fires, what may come to, silences, and what is over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from alerts.together import together
from dashboard.components import alert_forms as forms
from dashboard.components import alert_words as words
from dashboard.components.alert_words import Answer, instant, lasted, link, mark
from dashboard.components.table import Content, Row, table
from telemetry import formatting
from telemetry.model import Unit

PAST = (
    "Alert",
    "What was wrong",
    ("Since", "since when it was wrong, without a break"),
    ("Fired", "when it had been wrong for long enough, and people were told"),
    "Ended",
    ("Lasted", "from Since to Ended"),
    "Ended because",
)
MOST_NAMES = 8
"""Of those that the same alert fires on."""
WELL, THEN = "Nothing is wrong that a rule knows of.", "Nothing fired then."


def firing(
    alerts: Sequence[Answer],
    now_ms: int,
    rules: Mapping[str, Answer] | None = None,
    silences: Sequence[Answer] = (),
    *,
    silent: bool = False,
) -> Component:
    """A card per cause, with what follows from it; what nobody wants to hear of last.

    rules: by name, for what they say to do. silences: that hold, for who does not want to hear of it. silent: nobody
    looks any more, so that what stands here is of the past.
    """
    roots = [alert for alert in alerts if alert["state"] != "inhibited"]
    effects: dict[int, list[Answer]] = {}
    for alert in alerts:
        if alert["state"] == "inhibited":
            effects.setdefault(alert["cause"], []).append(alert)
    if not roots:
        return html.P(THEN if silent else WELL, className="note" if silent else "note well")
    order = sorted(roots, key=lambda one: (one["state"] == "silenced", *_badness(one)))
    quiet = {one["id"]: one for one in silences}
    cards = []
    for first, *others in together(order, _story):
        rule, silence = (rules or {}).get(first["rule"]), quiet.get(first["silence"])
        follow = [effect for one in (first, *others) for effect in effects.get(one["id"], ())]
        cards.append(card(first, follow, now_ms, rule, silence, others))
    return html.Div(cards, className="alert-cards")


def _story(alert: Answer) -> tuple[tuple[str, ...], int]:
    return tuple(alert[name] for name in ("rule", "deployment", "severity", "state")), alert["fired"]


def _badness(alert: Answer) -> tuple[int, int]:
    return (("critical", "warning", "info").index(alert["severity"]), -alert["fired"])


def card(
    alert: Answer,
    effects: Sequence[Answer],
    now_ms: int,
    rule: Answer | None = None,
    silence: Answer | None = None,
    others: Sequence[Answer] = (),
) -> Component:
    """One alert: what, where, since when, what to do first, and what can be done about it here. others: the same on
    other things (`alerts.together`)."""
    head = html.Div(
        [
            mark(alert["severity"]),
            html.H3(link(alert)),
            html.Span(alert["severity"], className="chip"),
            *([html.Span(words.STATES[alert["state"]], className="chip")] if alert["state"] != "firing" else []),
            html.Span(
                ["for ", html.B(lasted(alert, now_ms)), ", since ", instant(alert["began"])], className="note since"
            ),
        ],
        className="alert-head",
    )
    parts: list[Content] = [head, words.message(alert)]
    if doubt := words.doubt(alert, rule):
        parts.append(html.P(doubt, className="note doubt"))
    parts += words.first(rule, alert)
    parts += [words.hidden(silence)] if silence is not None else []
    parts += [_others(others, now_ms)] if others else []
    parts += [_effects(effects)] if effects else []
    return html.Article(
        [*parts, doing(alert, now_ms)],
        className="alert-card",
        **{"data-severity": alert["severity"], "data-state": alert["state"], "data-key": f"alert {alert['id']}"},
    )


def _others(others: Sequence[Answer], now_ms: int) -> Component:
    lines = [html.Li([link(one), ": ", one["message"], doing(one, now_ms)]) for one in others]
    return html.Details([html.Summary(f"and on {len(others)} more: {_names(others)}"), html.Ul(lines)])


def _names(others: Sequence[Answer]) -> str:
    shown = ", ".join(one["subject"] for one in others[:MOST_NAMES])
    return shown if len(others) <= MOST_NAMES else f"{shown}, …"


def _effects(effects: Sequence[Answer]) -> Component:
    told = "1 more alert follows from it" if len(effects) == 1 else f"{len(effects)} more alerts follow from it"
    lines = [html.Li([link(one), ": ", one["message"]]) for one in effects]
    return html.Details([html.Summary(told), html.Ul(lines)])


def doing(alert: Answer, now_ms: int) -> Component:
    """What people can do about an alert."""
    if alert["acknowledged"] is None:
        seen: list[Content] = [forms.acknowledge(alert)]
    else:
        who = words.by(alert["acknowledged_by"])
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
    rows = [
        Row(
            words.about(one),
            [
                f"number {one['id']} is {one['state']}: {one['problem']}" if one["problem"] else one["state"],
                instant(one["start"]),
                html.Span([instant(one["end"]), *([html.Br(), words.weekly(one)] if words.weekly(one) else [])]),
                one["comment"] or "–",
                one["by"] or "–",
                forms.end(one),
            ],
        )
        for one in found
    ]
    return table(("About", "State", "From", "To", "Why", "By", ""), rows, "Silences", "silences")


def history(alerts: Iterable[Answer], now_ms: int) -> Component:
    """What is over."""
    rows = [
        Row(
            html.Span([mark(one["severity"]), link(one)]),
            [
                one["message"],
                *(instant(one[name]) for name in ("began", "fired", "ended")),
                lasted(one, now_ms),
                one["why_ended"] or "–",
            ],
            words.LEVELS.get(one["severity"], "ok"),
        )
        for one in alerts
    ]
    return table(PAST, rows, "Earlier alerts", "alert-history")
