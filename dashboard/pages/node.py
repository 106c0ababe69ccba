"""Everything of one node: what it does now, its last hour, its memory, cages, processes, facts and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlencode

import dash
import orjson
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components import alert_words as words
from dashboard.components.cages import cage_table
from dashboard.components.explore import csv_link, explore_link
from dashboard.components.fragment import fragment, serve
from dashboard.components.latest import Latest, labels_of, number_cell, shown
from dashboard.components.memory import memory_bars
from dashboard.components.table import Row, pairs, panel, table
from dashboard.figures.live import CONFIG
from dashboard.figures.series import NODE_CHARTS, Chart, axis_of, chart_figure, lines
from dashboard.layout.shell import MARKS
from dashboard.pages import missing
from dashboard.services import Answer, Services
from storage.errors import StoreError
from storage.intervals import OWN_FACT
from telemetry import catalog, formatting
from telemetry.catalog import gpu, host, memory
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric, Ratio, Unit

PREFIX = "/node/"
REFRESH_MS = 3_000
SLOW_MS = 15_000
SHOWN = 80
"""Longest piece of an address that a page repeats."""
HEADLINES = (
    gpu.GPU_POWER,
    gpu.GPU_UTILIZATION,
    gpu.GPU_SM_CLOCK,
    gpu.GPU_TEMPERATURE,
    memory.MEMORY_HEADROOM,
    quotients.CPU_UTILIZATION,
    host.LOAD,
    host.UPTIME,
)
SEVERITIES = ("critical", "warning", "info")
FACT_NAMES = {
    "hostname": "Host name",
    "gpu.0.name": "GPU",
    "driver_version": "Driver",
    "gpu.0.vbios": "VBIOS",
    "gpu.0.memory": "GPU memory",
    "product": "Product",
    "dgx_os": "DGX OS",
    "os": "System",
    "kernel": "Kernel",
    "bios": "BIOS",
    "cores": "Cores",
    "agent_version": "Agent",
    "boot_id": "Boot",
}
"""Facts that stand first, under the names people know; all others follow."""
INNER = ("function.", "events_read", "deployment.", "started_s", OWN_FACT)
"""Beginnings of facts that stand elsewhere on the page, or that only Tachograph itself needs."""


def head(found: Answer, others: Sequence[str]) -> Component:
    """Name, state, reason and age, and the way to its alerts and to the neighbours. Of a node that answers and has
    something the matter, that alone is said: "ok" beside a mark of trouble would be none."""
    level, age = found["level"], found["age_s"]
    seen = "never read" if age is None else f"read {formatting.text(age, Unit.SECONDS)} ago"
    told = [found["reason"]] if found["state"] == "ok" and found["reason"] else [found["state"], found["reason"]]
    said = html.Div(
        [html.Span(MARKS.get(level, "○"), className="mark"), html.Span(told[0], className="words"),
         *(html.Span(one) for one in told[1:] if one), html.Span(seen, className="dimmed")],
        className="node-state", **{"data-level": level},
    )  # fmt: skip
    return html.Div([html.H1(found["name"]), said, neighbours(found["name"], others)], className="page-head")


def neighbours(name: str, others: Sequence[str]) -> Component:
    """Links to what fired on it, and to the node before and after."""
    at = others.index(name) if name in others else -1
    links = [dcc.Link("Earlier alerts", href=f"/alerts?{urlencode({'node': name})}")]
    if at > 0:
        links.append(dcc.Link(f"‹ {others[at - 1]}", href=f"/node/{others[at - 1]}"))
    if 0 <= at < len(others) - 1:
        links.append(dcc.Link(f"{others[at + 1]} ›", href=f"/node/{others[at + 1]}"))
    return html.Nav(links, className="neighbours", **{"aria-label": "Other nodes"})


def headlines(latest: Latest) -> Component:
    """The readings people ask for first. A reason that holds for all of them stands in the head already."""
    reasons = [why_not(latest, metric) for metric in HEADLINES]
    lost = all(reasons) and len(set(reasons)) == 1
    cards = [
        html.Div(
            [
                html.Div(metric.label, className="label"),
                html.Div(latest.shown(metric), className="value"),
                html.Div("" if lost else reason, className="reason", title=reason),
            ],
            className="reading",
        )
        for metric, reason in zip(HEADLINES, reasons, strict=True)
    ]
    return html.Section(cards, className="panel headlines", **{"aria-label": "Readings now"})


def why_not(latest: Latest, metric: Metric | Ratio) -> str:
    """Reason of a metric's first value, "" where it is known or nothing is told."""
    found = latest.all(metric)
    return found[0]["reason"] if found and found[0]["v"] is None else ""


def processes(found: Answer) -> Component:
    """Processes with a context on a GPU. Never command lines or users: the agent does not tell them."""
    columns = ("Process", "PID", "GPU", "GPU memory", "Resident", "Container")
    rows = [
        Row(
            one.get("name") or "–",
            [
                _whole(one.get("pid")),
                one.get("gpu") or "–",
                number_cell(one.get("gpu_memory_bytes"), Unit.BYTES, "the driver does not say"),
                number_cell(one.get("resident_bytes"), Unit.BYTES, "not readable"),
                str(one.get("container") or "–")[:12],
            ],
        )
        for one in found["processes"]
    ]
    return table(columns, rows, "Processes on the GPU") if rows else html.P(no_processes(found), className="note")


LOST = "Not known while the node does not answer."


def no_processes(found: Answer) -> str:
    """Why there is no process to show: there is none, or why that is not known."""
    if found["state"] != "ok":
        return f"Not known: {found['reason']}." if found["state"] == "unknown" and found["reason"] else LOST
    read = found["readings"].get("processes")
    if read is None:
        return "Not known: the agent has not told."
    if read["outcome"] == "ok":
        return "No process uses a GPU of this node."
    return f"Not known: {read['reason'] or 'the agent does not say why'}."


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def facts(found: Answer) -> Component:
    """What is known of the machine, the functions' facts apart: those stand with the cages."""
    told: Mapping[str, str] = found["facts"]
    first = [(label, told[name]) for name, label in FACT_NAMES.items() if name in told]
    rest = [
        (readable(name), value)
        for name, value in sorted(told.items())
        if name not in FACT_NAMES and not name.startswith(INNER)
    ]
    return pairs([*first, *rest]) if told else html.P("The agent has told nothing yet.", className="note")


def has_gpu(found: Answer) -> bool:
    """Whether the agent has told of a GPU."""
    return any(name.startswith("gpu.") for name in found["facts"])


def readable(name: str) -> str:
    """A fact's name in words: gpu.0.uuid is "GPU 0 uuid"."""
    words = name.replace(".", " ").replace("_", " ")
    told = " ".join(word.upper() if word in ("gpu", "dgx", "uuid") else word for word in words.split())
    return told[:1].upper() + told[1:]


def alerts(of_node: Sequence[Answer]) -> Component:
    """What fires on the node, the worst first."""
    order = sorted(of_node, key=lambda one: SEVERITIES.index(one["severity"]))
    rows = [
        Row(
            html.Span([words.mark(one["severity"]), words.link(one)]),
            [words.STATES[one["state"]], words.instant(one["began"]), one["message"]],
            words.LEVELS.get(one["severity"], "unknown"),
        )
        for one in order
    ]
    return table(("Alert", "State", "Since", "What"), rows, "Alerts of this node", "events")


def events(found: Answer, fires: bool = False) -> Component:
    """What happened in the last day, newest first. The browser writes the instants in the viewer's zone."""
    rows = [
        Row(html.Time("", **{"data-instant": str(one["t"])}), [one["kind"], one["text"]])
        for one in found["events"][:50]
    ]
    if not rows:
        what = "No other events" if fires else "No events"
        return html.P(f"{what} in the last day; alerts that ended are behind “Earlier alerts”.", className="note")
    return table(("When", "Kind", "What"), rows, "Events of the last day", "events")


def all_readings(latest: Latest) -> Component:
    """Every catalogue metric of the node with its value, or why there is none."""
    rows = []
    for entry in latest:
        metric = catalog.find(entry["metric"])
        labels = ", ".join(labels_of(entry).values())
        rows.append(Row(metric.label if metric else entry["metric"], [labels, shown(entry), entry["reason"]]))
    return table(("Reading", "Of", "Value", "Why not"), rows, "All readings", "readings")


def chart(found: Chart, name: str) -> Component:
    """One chart of a node: its title and unit, ways to Explore and to a file, and the figure that the browser fills."""
    axis, metrics = axis_of(found), [metric for _, metric in found.metrics]
    title = [
        html.H2(found.title),
        html.Span(axis["unit"], className="dimmed"),
        html.Div("", className="keys"),
        explore_link(metrics, "-1h", node=name),
        csv_link(metrics, "-1h", node=name),
        html.Button("Back to live", className="back", type="button", hidden=True, **{"data-back": "charts"}),
    ]
    graph = dcc.Graph(
        id={"chart": found.key},
        figure=chart_figure(found),
        config=dict(CONFIG),
        className="graph",
        style={"height": "168px"},
        responsive=True,
    )
    asked = orjson.dumps({"lines": lines(found), **axis}).decode()
    label = f"{found.title} of the last hour"
    return html.Section(
        [html.Div(title, className="head"), graph],
        className="panel chart",
        **{"data-chart": asked, "aria-label": label},
    )


def now(found: Answer, latest: Latest, others: Sequence[str], fire: Sequence[Answer] = ()) -> list[Component]:
    """What is written anew every few seconds. fire: the alerts of the node that fire."""
    return [
        head(found, others),
        *([panel("Alerts", alerts(fire))] if fire else []),
        headlines(latest),
        html.Div(
            [
                panel("Memory", memory_bars(latest, has_gpu(found)), class_name="wide"),
                panel("Processes on the GPU", processes(found)),
                panel("Cages", cage_table(latest, found["facts"]), class_name="wide"),
            ],
            className="sections",
        ),
    ]


def page(name: str) -> Component:
    """The page of a node: what is written anew, the charts, and what changes slowly."""
    readings = html.Details(
        [html.Summary("All readings of this node"), fragment("node-readings", SLOW_MS, node=name)], className="panel"
    )
    charts = html.Div([chart(one, name) for one in NODE_CHARTS], className="charts-grid", **{"data-series-node": name})
    return html.Div(
        [
            fragment("node", REFRESH_MS, node=name),
            charts,
            fragment("node-facts", SLOW_MS, node=name),
            readings,
        ],
        className="page node",
    )


def unknown_node(name: str, others: Sequence[str]) -> Component:
    """A name nobody knows, and those that are known."""
    known = "These nodes are known:" if others else "No node is known yet."
    links = {other: f"{PREFIX}{other}" for other in others}
    return missing.page(f"There is no node “{name[:SHOWN]}”", known, links)


def page_of(name: str, services: Services) -> tuple[Component, int]:
    """(page, HTTP status) of a node; where there is none of this name, those that there are."""
    try:
        names = services.nodes()
    except StoreError:
        return page(name), 200  # it goes on asking, and every page says what is wrong with the store
    return (page(name), 200) if name in names else (unknown_node(name, names), 404)


class Fragments:
    """What the page's fragments are made of: (components, HTTP status) for a node's name."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def now(self, name: str) -> tuple[list[Component], int]:
        """Head, readings, memory, processes, cages."""
        found = self._services.node(name)
        if found is None:
            return [unknown_node(name, self._services.nodes())], 404
        latest = Latest(self._services.latest(node=name)["values"])
        return now(found, latest, self._services.nodes(), self._firing(name)), 200

    def _firing(self, name: str) -> list[Answer]:
        return [one for one in self._services.alerts()["alerts"] if one["labels"].get("node") == name]

    def facts(self, name: str) -> tuple[list[Component], int]:
        """Events and facts."""
        found = self._services.node(name)
        if found is None:
            return [], 404
        told = events(found, fires=bool(self._firing(name)))
        return [html.Div([panel("Events", told), panel("Facts", facts(found))], className="sections")], 200

    def readings(self, name: str) -> tuple[list[Component], int]:
        """Every reading."""
        if self._services.node(name) is None:
            return [], 404
        return [all_readings(Latest(self._services.latest(node=name)["values"]))], 200


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /node/NAME and its content to the services."""
    dash.register_page(
        "node",
        path_template=f"{PREFIX}<name>",
        title="Node · Tachograph",
        name="Node",
        layout=lambda name="", **_: page_of(unquote(name), services)[0],
    )
    fragments = Fragments(services)
    serve(app.server, "node", fragments.now, "node")
    serve(app.server, "node-facts", fragments.facts, "node")
    serve(app.server, "node-readings", fragments.readings, "node")
