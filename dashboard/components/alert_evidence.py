"""What is kept with an alert beside its samples: what happened meanwhile, what was not read, what the machine was."""

from __future__ import annotations

from collections.abc import Sequence

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.alert_words import Answer, instant
from dashboard.components.table import Content, Row, pairs, table
from telemetry import catalog


def happened(found: Answer, owner: str) -> list[Component]:
    """Events and absences around the alert by time; those of the thing that it is about are marked."""
    rows = [
        *((one["t"], one["target"], one["kind"].replace("_", " "), one["text"], None) for one in found["events"]),
        *((one["from"], one["target"], "not read", _absent(one), one["to"]) for one in found["absences"]),
    ]
    if not rows:
        words = "Nothing else happened in these minutes: no event, no kernel line, nothing that was not read."
        return [html.P(words, className="note")]
    lines = [
        Row(instant(at), [who or "–", kind, _until(text, end)], "own" if who == owner else "ok")
        for at, who, kind, text, end in sorted(rows, key=lambda row: row[0])
    ]
    return [table(("When", "Who", "What", "In words"), lines, "What happened", "events alert-events")]


def _absent(one: Answer) -> str:
    metric = catalog.find(one["metric"]) if one["metric"] else None
    return f"{metric.label}: {one['reason']}" if metric is not None else one["reason"]


def _until(text: str, end: int | None) -> Content:
    return text if end is None else html.Span([text, ", until ", instant(end)])


def facts(found: Answer) -> list[Component]:
    """What was known of the machine then."""
    told: Sequence[tuple[str, str]] = sorted(found["facts"].items())
    if not told:
        return []
    named = pairs([(name.replace("_", " "), value) for name, value in told])
    words = html.Summary("What the machine was then")
    return [
        html.Section(html.Details([words, named], **{"data-key": "facts"}), className="panel", **{"data-key": "was"})
    ]


def run(found: Answer) -> list[tuple[str, Content]]:
    """The run that went on."""
    told = found["run"]
    return [] if told is None else [("Run", dcc.Link(told["name"], href=f"/runs/{told['id']}"))]


def files(number: int) -> Component:
    """Ways to take it along."""
    links = [
        html.A(word, href=f"/api/v1/alerts/{number}/evidence.{form}", className="plain", download="")
        for word, form in (("CSV", "csv"), ("JSON", "json"))
    ]
    return html.Span(links, className="files")
