"""Channels on the page of alerts: who is told of what, whether it arrives, and a way to try it. No address is shown."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from alerts.deaf import heard
from alerts.rule import Severity
from dashboard.components import alert_forms as forms
from dashboard.components.alert_words import Answer, instant
from dashboard.components.table import Content, Row, table
from telemetry import formatting

NOBODY = (
    "Nobody is told of alerts: there is no channel. A channel is a table [channels.NAME] in tachograph.toml with the "
    "address of ntfy, Discord, Slack, Telegram, a mail server or a webhook."
)
MOST_RULES = 4


def channels(found: Sequence[Answer], rules: Sequence[Answer]) -> Component:
    """A row for each channel. rules: for those that name it."""
    if not found:
        return html.P(NOBODY, className="note")
    names = [one["name"] for one in found if one["enabled"]]
    rows = [Row(name_of(one), [hears(one), of_rules(one["name"], rules, names), state(one), delivered(one), wrong(one),
                               forms.try_channel(one)], level(one)) for one in found]  # fmt: skip
    columns = ("Channel", "Hears of", "Rules", "State", "Last delivered", "Last failure", "")
    return table(columns, rows, "Channels", "channels")


def name_of(one: Answer) -> Component:
    """Its name, and the kind of its address."""
    return html.Span([html.Strong(one["name"]), html.Small(f" {one['url']}", className="note")])


def hears(one: Answer) -> str:
    """From which severity on, and how often again."""
    again = formatting.span(one["repeat_s"]) if one["repeat_s"] else ""
    repeat = f", again every {again}" if again else ", once"
    return heard(Severity(one["severity"])) + repeat


def of_rules(name: str, rules: Sequence[Answer], channels: Sequence[str]) -> str:
    """Of which rules: of all that name no channel that there is, and of those that name this one."""
    named = [one["title"] + (" (told to nobody)" if one["untold"] else "") for one in rules if name in one["channels"]]
    elsewhere = sum(1 for one in rules if name not in one["channels"] and set(one["channels"]) & set(channels))
    if not named and not elsewhere:
        return "all"
    more = f" and {len(named) - MOST_RULES} more" if len(named) > MOST_RULES else ""
    alone = f"alone: {', '.join(named[:MOST_RULES])}{more}" if named else ""
    return "; ".join(part for part in (f"all but {elsewhere}" if elsewhere else "all", alone) if part)


def level(one: Answer) -> str:
    """Colour of its row."""
    return "unknown" if not one["enabled"] else "critical" if one["failing"] else "ok"


def state(one: Answer) -> str:
    """How it stands in a few words."""
    waiting = "" if not one["waiting"] else f", {one['waiting']} waiting"
    if one["held"]:
        waiting += f", held back by the limit of {one['per_hour']} an hour: {one['held']} waiting"
    if not one["enabled"]:
        return "off"
    if one["failing"]:
        return f"failing{waiting}"
    return (f"delivers{waiting}") if one["last_success"] is not None else f"nothing delivered yet{waiting}"


def delivered(one: Answer) -> Content:
    """When a message was taken last."""
    return instant(one["last_success"], "never")


def wrong(one: Answer) -> Content:
    """What came of the last attempt, and when."""
    error = one["last_error"]
    return "–" if error is None else html.Span([instant(error["at"]), f": {error['text']}"])
