"""The quality of the data itself: every target with its state, cost and gaps, and everything that is absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.fragment import fragment, serve
from dashboard.components.latest import number_cell
from dashboard.components.store import store
from dashboard.components.table import Column, Content, Row, pairs, panel, table
from dashboard.layout.shell import MARKS
from dashboard.services import Answer, Services
from telemetry import catalog, formatting
from telemetry.model import Unit

PATH = "/status"
REFRESH_MS = 5_000
COLUMNS: tuple[Column, ...] = (
    "Target",
    "State",
    ("Read", "How long ago its newest answer came"),
    ("Scrape", "How long it took to answer the last time"),
    ("Page", "Size of its metrics page"),
    ("Every", "How often it is asked; one that is silent is asked less and less often"),
    ("Missed", "Ticks at which it was due and gave no page; those that the collector left out stand below"),
    ("Resets", "How often its counters began anew in the last hour: it was restarted"),
    ("Skew", "How far its clock is ahead of the hub's; rates do not depend on it"),
    ("Left out", "Series beyond the most that are read of a page, and families of metrics that nobody here knows"),
    ("Impossible", "Numbers of its page that cannot be, such as a counter that falls without a restart: not stored"),
    "Version",
    ("Not offered", "Metrics that targets of its kind may have and it does not; a click says which"),
)
HINT = (
    "vLLM writes a line to its log for each of our requests; start it with "
    "--disable-access-log-for-endpoints /metrics to keep its log quiet."
)
MOST_ABSENCES = 200

Target = Mapping[str, Any]


def count(value: float | None) -> Component:
    """A whole number, or a dash."""
    return number_cell(value, Unit.COUNT, "not counted for this kind of target")


def not_offered(labels: Sequence[str]) -> Content:
    """How many metrics a target does not offer; which ones, on demand."""
    if not labels:
        return "–"
    return html.Details([html.Summary(f"{len(labels)}"), html.Ul([html.Li(label) for label in labels])])


def target_row(target: Target, is_node: bool) -> Row:
    """One target: how it is, when it was read, what that costs, and what it lacks."""
    name = dcc.Link(target["name"], href=f"/node/{target['name']}") if is_node else target["name"]
    mark = html.Span(MARKS.get(target["level"], "○"), className="mark", **{"aria-hidden": "true"})
    state = state_of(target)
    left_out = [value for value in (target["refused_series"], target["dropped_families"]) if value is not None]
    read = "never" if target["age_s"] is None else f"{formatting.text(target['age_s'], Unit.SECONDS)} ago"
    cells: list[Content] = [
        html.Span(state, className="state"),
        read,
        number_cell(target["scrape_s"], Unit.SECONDS, "not measured"),
        number_cell(target["scrape_bytes"], Unit.BYTES, "not measured"),
        every(target),
        count(target["missed_ticks"]),
        count(target["resets"]),
        number_cell(target["clock_skew_s"], Unit.SECONDS, "an engine tells no time"),
        count(sum(left_out) if left_out else None),
        count(target["impossible_numbers"]),
        target["version"] or "–",
        not_offered(target["not_offered"]),
    ]
    return Row(html.Span([mark, name]), cells, target["level"])


def every(target: Target) -> Content:
    """How often it is asked; one that is silent is asked less and less often, and nothing is amiss with that."""
    usual = number_cell(target["interval_s"], Unit.SECONDS)
    if target["silent_s"] is None or target["silent_s"] <= target["interval_s"]:
        return usual
    now = formatting.text(target["silent_s"], Unit.SECONDS)
    return html.Span([usual, html.Small(f" asked every {now} while silent")])


def state_of(target: Target) -> list[Component]:
    """State and reason; of one that answers and has something the matter, that alone: "ok" beside a mark of trouble
    would be none."""
    if not target["reason"]:
        return [html.Span(target["state"])]
    if target["state"] == "ok" and target["level"] != "ok":
        return [html.Span(target["reason"])]
    return [html.Span(target["state"]), html.Small(target["reason"])]


def targets(found: Sequence[Target], is_node: bool, caption: str, none: str) -> Component:
    """All targets of a kind, or a sentence where there are none."""
    if not found:
        return html.P(none, className="note")
    return table(COLUMNS, [target_row(target, is_node) for target in found], caption, "targets")


def deployments(found: Sequence[Mapping[str, Any]]) -> Component:
    """What is served, by what, on how many nodes."""
    if not found:
        return html.P("No engine has named a model yet.", className="note")
    rows = [
        Row(one["name"], [one["model"], one["phase"], ", ".join(one["engines"]), _nodes(one["nodes"])]) for one in found
    ]
    return table(("Deployment", "Model", "Phase", "Engines", "Nodes"), rows, "Deployments")  # fmt: skip


def _nodes(names: Sequence[str]) -> Content:
    """How many nodes a deployment runs on; of several deployments nobody knows which nodes are whose."""
    return number_cell(len(names) or None, Unit.COUNT, "which nodes it runs on is not known")


def absences(found: Sequence[Mapping[str, Any]], answer: bool = True) -> Component:
    """What was not there, from when to when and why. The browser writes the instants.

    answer: whether there are targets, and every one is known to answer: what nobody asks lately is not absent either.
    """
    if not found:
        well = "Nothing is absent: every target that is watched answers, in all it offers."
        return html.P(well if answer else "No absence was recorded in the last day.", className="note")
    rows = []
    for one in found[:MOST_ABSENCES]:
        metric = catalog.find(one["metric"]) if one["metric"] else None
        what = metric.label if metric else one["metric"] or "everything"
        lasts = one["to"] is None
        until: Content = "now" if lasts else html.Time("", **{"data-instant": str(one["to"])})
        since = html.Time("", **{"data-instant": str(one["from"])})
        rows.append(Row(one["target"], [what, since, until, one["reason"]], "warning" if lasts else "ok"))
    return table(("Target", "What", "From", "To", "Why"), rows, "Absences of the last day", "absences")


def left_out(found: Mapping[str, Any]) -> list[Component]:
    """Ticks that the collector itself did not make: no target missed them."""
    if not found["ticks"]:
        return [html.P("It left out no tick in the last day.", className="note")]
    told = formatting.text(found["ticks"], Unit.COUNT)
    rows = [
        Row(html.Time("", **{"data-instant": str(one["t"])}), [formatting.text(one["ticks"], Unit.COUNT), one["text"]])
        for one in found["stretches"]
    ]
    text = f"It left out {told} {'tick' if found['ticks'] == 1 else 'ticks'} in the last day. No target missed them."
    heads = ("Told", "Ticks", "Why")
    return [html.P(text, className="note"), table(heads, rows, "Ticks that the collector left out", "left-out")]


def away(found: Sequence[Mapping[str, Any]]) -> list[Component]:
    """When no collector ran."""
    rows = [Row(html.Time("", **{"data-instant": str(one["t"])}), [one["text"]]) for one in found]
    return [table(("Back since", "What"), rows, "When no collector ran", "away")] if rows else []


def versions(found: Mapping[str, Any]) -> Component:
    """Of the hub itself."""
    names = {"tachograph": "Tachograph", "python": "Python", "schema": "Store's schema"}
    return pairs([(names.get(name, name), str(value)) for name, value in found.items()])


def body(status: Answer, absent: Answer) -> list[Component]:
    """Everything that is written anew every few seconds."""
    sentence = status["sentence"]
    head = html.Div(html.H1("Status"), className="page-head")
    if sentence["level"] == "empty":
        nothing = "None. Start an agent on a node, and name it: app.py run --node spark-01=http://10.0.0.1:9810"
    else:
        nothing = "None is watched."
    engines = targets(status["engines"], False, "Engines", "None is watched. Name one: --engine http://10.0.0.1:8000")
    levels = [one["level"] for one in (*status["nodes"], *status["engines"])]
    hint = [html.P(HINT, className="note")] if any(one["engine"] == "vllm" for one in status["engines"]) else []
    return [
        head,
        panel("Engines", engines, *hint),
        panel("Nodes", targets(status["nodes"], True, "Nodes", nothing)),
        html.Div(
            [
                panel("Store", store(status["store"])),
                panel("Collector", *left_out(status["collector"]["left_out"]), *away(status["collector"]["away"])),
                panel("Deployments", deployments(status["deployments"])),
                panel("Versions", versions(status["versions"])),
            ],
            className="sections",
        ),
        panel("Absences", absences(absent["absences"], bool(levels) and "unknown" not in levels)),
    ]


def page() -> Component:
    """The page: one fragment."""
    return html.Div([fragment("status", REFRESH_MS)], className="page status")


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /status and its content to the services."""
    dash.register_page("status", path=PATH, title="Status · Tachograph", name="Status", layout=lambda **_: page())
    serve(app.server, "status", lambda: (body(services.status(), services.absences()), 200))
