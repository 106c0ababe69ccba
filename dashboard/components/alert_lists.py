"""What stands on the page of alerts: what fires, what may come to, silences, and what is over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from alerts.together import together
from dashboard.components import alert_forms as forms
from dashboard.components import alert_still as still
from dashboard.components import alert_words as words
from dashboard.components.alert_words import Answer, instant, lasted, link, mark
from dashboard.components.table import Content, Row, table
from telemetry import formatting

PAST = (
    "Alert",
    "What was wrong",
    ("Since", "since when it was wrong, without a break"),
    ("Fired", "when it had been wrong for long enough, and people were told"),
    "Ended",
    ("Lasted", "from Since to Ended"),
    "Ended because",
)
AT_FIRST = 10
"""Rows of what is over that stand there at first; `90-alerts.css` hides the others."""
DIGITS = re.compile(r"([0-9]+)")
MOST_NAMES = 8
"""Of those that the same alert fires on."""
GRAVEST = ("critical", "warning", "info")
WELL, THEN = "Nothing is wrong that a rule knows of.", "Nothing fired then."


def firing(
    alerts: Sequence[Answer],
    now_ms: int,
    rules: Mapping[str, Answer] | None = None,
    silences: Sequence[Answer] = (),
    *,
    silent: bool = False,
    read: still.Now = lambda _target, _metric: (),
) -> Component:
    """A card per cause, with what follows from it; what nobody wants to hear of last.

    rules: by name, for what they say to do. silences: that hold, for who does not want to hear of it. silent: nobody
    looks any more, so that what stands here is of the past. read: values of now.
    """
    grouped = groups(alerts)
    effects: dict[int, list[Answer]] = {}
    for alert in alerts:
        if alert["state"] == "inhibited":
            effects.setdefault(alert["cause"], []).append(alert)
    if not grouped:
        return html.P(THEN if silent else WELL, className="note" if silent else "note well")
    quiet = {one["id"]: one for one in silences}
    cards = []
    for first, *others in grouped:
        rule, silence = (rules or {}).get(first["rule"]), quiet.get(first["silence"])
        follow = [effect for one in (first, *others) for effect in effects.get(one["id"], ())]
        cards.append(card(first, follow, now_ms, rule, silence, others, read=read))
    return html.Div(cards, className="alert-cards")


def groups(alerts: Sequence[Answer]) -> list[list[Answer]]:
    """Causes as they share a card, the gravest first, those that nobody wants to hear of last. Each is as grave as the
    gravest that follows from it."""
    roots = [_with_effects(alert, alerts) for alert in alerts if alert["state"] != "inhibited"]
    order = sorted(roots, key=lambda one: (one["state"] == "silenced", *_badness(one)))
    return [sorted(group, key=_thing) for group in together(order, _story)]


def _with_effects(alert: Answer, alerts: Sequence[Answer]) -> Answer:
    follow = [one for one in alerts if one["state"] == "inhibited" and one["cause"] == alert["id"]]
    effects = [one for one in follow if one["silence"] is None]
    grave = [one["severity"] for one in (alert, *effects)]
    return {**alert, "severity": min(grave, key=GRAVEST.index)}


def _thing(alert: Answer) -> list[tuple[int, str]]:
    """Things by name, numbers in them as such."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in DIGITS.split(" ".join(alert["key"]))]


def _story(alert: Answer) -> tuple[tuple[str, ...], int]:
    return tuple(alert[name] for name in ("rule", "deployment", "severity", "state")), alert["fired"]


def _badness(alert: Answer) -> tuple[int, int]:
    return (GRAVEST.index(alert["severity"]), -alert["fired"])


def card(
    alert: Answer,
    effects: Sequence[Answer],
    now_ms: int,
    rule: Answer | None = None,
    silence: Answer | None = None,
    others: Sequence[Answer] = (),
    *,
    read: still.Now = lambda _target, _metric: (),
) -> Component:
    """One alert: what, where, since when, what to do first, and what can be done about it here. others: the same on
    other things (`alerts.together`)."""
    holds = still.words(alert, effects, read)
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
    if doubt := words.doubt(alert, rule, holds):
        parts.append(html.P(doubt, className="note doubt"))
    parts += words.first(rule, alert)
    parts += [words.hidden(silence)] if silence is not None else []
    parts += [_others(others, now_ms)] if others else []
    parts += [_effects(effects, is_open=bool(holds))] if effects else []
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


def _effects(effects: Sequence[Answer], *, is_open: bool) -> Component:
    """What follows from an alert; open where that itself holds no more."""
    told = "1 more alert follows from it" if len(effects) == 1 else f"{len(effects)} more alerts follow from it"
    lines = [
        html.Li([mark(one["severity"]), link(one), ": ", one["message"], *_holds(one, is_open)], **_severity(one))
        for one in still.ordered(effects)
    ]
    if is_open:
        return html.Div([html.P(f"{told}:", className="note"), html.Ul(lines)], className="effects")
    return html.Details([html.Summary(told), html.Ul(lines)], className="effects")


def _holds(effect: Answer, wanted: bool) -> list[Content]:
    """How its condition stands now, behind the sentence of when it fired."""
    told = words.CONDITIONS.get(effect["condition"], "")
    return [" · ", html.Strong(told) if effect["condition"] == "holds" else told] if wanted and told else []


def _severity(one: Answer) -> dict[str, str]:
    return {"data-severity": one["severity"]}


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
            [one["subject"], formatting.span((now_ms - one["since"]) / 1000), _after(one)],
            "pending",
        )
        for one in found
    ]
    return table(("Rule", "Where", "For", "Fires after"), rows, "Pending")


def _after(one: Answer) -> str:
    return formatting.span(one["fires_after_ms"] / 1000)


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
    """What is over: the newest ten, and all of it on one click."""
    rows = [
        Row(
            html.Span([mark(one["severity"]), link(one)]),
            [
                one["message"],
                *(instant(one[name]) for name in ("began", "fired", "ended")),
                lasted(one, now_ms),
                one["why_ended"] or "–",
            ],
            words.LEVELS.get(one["severity"], "unknown"),
        )
        for one in alerts
    ]
    shown = table(PAST, rows, "Earlier alerts", "alert-history")
    return shown if len(rows) <= AT_FIRST else html.Div([shown, _more(len(rows) - AT_FIRST)], className="shortened")


def _more(count: int) -> Component:
    """A switch for the rows behind the first: whether it is open is the browser's alone."""
    words = [html.Span(f"Show {count} more", className="closed"), html.Span(f"Show the newest {AT_FIRST} alone")]
    return html.Details(html.Summary(words), className="more-rows", **{"data-key": "more"})
