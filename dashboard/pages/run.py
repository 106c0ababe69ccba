"""One run: its numbers with their definitions, node by node, what it ran on, and what people say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash
from dash import dcc, html
from dash.development.base_component import Component

from dashboard import formatting
from dashboard.components.fragment import fragment, serve
from dashboard.components.latest import number_cell, value_cell
from dashboard.components.run_forms import controls
from dashboard.components.table import Content, Row, pairs, panel, table
from dashboard.services import Services
from telemetry.catalog import gpu
from telemetry.catalog import ratios as quotients
from telemetry.model import Unit

PREFIX = "/runs/"
LIVE = "live"
"""In place of a number: the newest run that goes on."""
REFRESH_MS = 5_000
HEADLINES = (
    ("speed", "decode_mean"),
    ("speed", "decode_peak"),
    ("speed", "prefill_throughput"),
    ("speed", "seconds"),
    ("requests", "output"),
    ("requests", "finished"),
    ("phases", "running_mean"),
    ("nodes", "took_part"),
)
EXPLORED = (quotients.DECODE_TPS, gpu.GPU_UTILIZATION, gpu.GPU_POWER, quotients.INTERCONNECT_TRANSMIT)
ON = "_on"
"""Ends the keys of a node's own entries."""
PER_NODE = (
    ("utilization_mean", "Utilisation"),
    ("power_mean", "Power"),
    ("power_max", "Power, most"),
    ("temperature_mean", "Temperature"),
    ("temperature_max", "Temperature, most"),
    ("clock_min", "Clock, least"),
    ("clock_mean", "Clock"),
    ("throttled", "Throttled"),
)
APART = 0.01
"""A node that differs by less than this share from the middle one is not named."""
Entry = Mapping[str, Any]
Answer = Mapping[str, Any]


def value(entry: Entry) -> Component:
    """An entry's value with its unit, a bound with its sign; a dash with the reason where it is not known."""
    number, unit = formatting.show(entry["value"], Unit(entry["unit"]))
    sign = "" if entry.get("relation", "=") == "=" else f"{entry['relation']}\u00a0"
    known = number != formatting.UNKNOWN_TEXT
    return value_cell(sign + number, unit, "ok" if known else "unknown", "" if known else entry.get("note", ""))


def named(entry: Entry) -> Component:
    """An entry's label, which tells on hover, and on one click, how the number is worked out."""
    label = f"{entry['label']} · {entry['of']}" if entry.get("of") else entry["label"]
    text = entry.get("definition", "")
    return html.Details([html.Summary(label, title=text), html.P(text)], className="definition")


def entries(found: Sequence[Entry], caption: str) -> Component:
    """Numbers of a section."""
    rows = [
        Row(
            named(one),
            [value(one), number_cell(one.get("count"), Unit.COUNT) if "count" in one else "", one.get("note", "")],
        )
        for one in found
    ]
    return table(("", "Value", "Of", "Note"), rows, caption, "entries")


def sections(summary: Sequence[Mapping[str, Any]]) -> list[Component]:
    """A panel per section that has something to say; of nodes only what is of all of them."""
    found = []
    for section in summary:
        shown = [one for one in section["entries"] if not (section["key"] == "nodes" and of_node(one))]
        if shown:
            found.append(panel(section["label"], entries(shown, section["label"])))
    return found


def of_node(entry: Entry) -> bool:
    """Whether an entry of the section of nodes is of one node."""
    return str(entry["key"]).endswith(ON)


def nodes(summary: Sequence[Mapping[str, Any]]) -> Component | None:
    """Node by node; the slowest and the hottest are named."""
    section = next((one for one in summary if one["key"] == "nodes"), None)
    found: dict[str, dict[str, Entry]] = {}
    for one in section["entries"] if section is not None else ():
        if of_node(one):
            found.setdefault(one["of"], {})[one["key"].removesuffix(ON)] = one
    if not found:
        return None
    slow, hot = extreme(found, "clock_mean", least=True), extreme(found, "temperature_max", least=False)
    rows = []
    for name, own in sorted(found.items()):
        marks = [mark for mark, who in (("slowest", slow), ("hottest", hot)) if who == name]
        head = html.Span([dcc.Link(name, href=f"/node/{name}"), *(html.Span(one, className="tag") for one in marks)])
        rows.append(Row(head, [value(own[key]) if key in own else "" for key, _ in PER_NODE]))
    said = html.P(told(found, slow, hot), className="note")
    return panel("Node by node", said, table(("Node", *(label for _, label in PER_NODE)), rows, "Nodes of the run"))


def extreme(found: Mapping[str, Mapping[str, Entry]], key: str, *, least: bool) -> str:
    """The node with the least, or largest, value; "" where it stands out from the middle one by less than `APART`."""
    known = {name: own[key]["value"] for name, own in found.items() if key in own and own[key]["value"] is not None}
    if len(known) < 2:
        return ""
    name = (min if least else max)(sorted(known), key=lambda one: known[one])
    middle = sorted(known.values())[len(known) // 2]
    return name if abs(known[name] - middle) >= APART * abs(middle) and known[name] != middle else ""


def told(found: Mapping[str, Mapping[str, Entry]], slow: str, hot: str) -> str:
    """By how much they stand out, in words."""
    parts = []
    for name, key, words in ((slow, "clock_mean", "Slowest"), (hot, "temperature_max", "Hottest")):
        if name:
            known = sorted(own[key]["value"] for own in found.values() if key in own and own[key]["value"] is not None)
            one, middle = found[name][key], known[len(known) // 2]
            shown, usual = (formatting.text(number, Unit(one["unit"])) for number in (one["value"], middle))
            parts.append(f"{words}: {name}, {shown} where the middle node has {usual}.")
    return " ".join(parts) or "No node stands out."


def fingerprint(found: Sequence[Mapping[str, Any]]) -> Component:
    """What the run ran on; who differs, and what changed meanwhile."""
    if not found:
        return html.P("Nothing is known of it yet.", className="note")
    return pairs([(one["label"], printed(one)) for one in found])


def printed(one: Mapping[str, Any]) -> Component:
    """A field's value, and where it is another one."""
    unit = one.get("unit")
    parts: list[Content] = [in_unit(one["value"], unit)]
    apart = [f"{name}: {in_unit(text, unit) or 'not known'}" for name, text in sorted(one.get("apart", {}).items())]
    parts += [html.Div(text, className="apart") for text in apart]
    for at_ms, target, before, after in one.get("changes", ()):
        instant = html.Time("", **{"data-instant": str(at_ms)})
        parts.append(
            html.Div([instant, f" {target}: {in_unit(before, unit)} → {in_unit(after, unit)}"], className="apart")
        )
    return html.Span(parts)


def in_unit(text: str, unit: str | None) -> str:
    """A value of the fingerprint as people read it."""
    try:
        return text if unit is None else formatting.text(float(text), Unit(unit))
    except ValueError:
        return text


def marks(found: Answer) -> Component:
    """Marks of the run and events in it, by time."""
    told = [(one["t"], one["kind"], "", one["text"]) for one in found["marks"]]
    told += [(one["t"], one["kind"], one["target"], one["text"]) for one in found["events"]]
    if not told:
        return html.P("Nothing happened in it that is worth a mark.", className="note")
    rows = [
        Row(html.Time("", **{"data-instant": str(t)}), [kind, target, text]) for t, kind, target, text in sorted(told)
    ]
    return table(("When", "What", "Where", "Text"), rows, "Marks and events of the run", "events")


def explore(run: Mapping[str, Any], stretch: Sequence[int]) -> Component:
    """The run's stretch in Explore."""
    end = "now" if run["live"] else str(stretch[1])
    query = {"metric": ",".join(one.name for one in EXPLORED), "start": str(stretch[0]), "end": end}
    return dcc.Link("Open in Explore", href=f"/explore?{urlencode(query, safe=',')}", className="plain")


def head(found: Answer) -> Component:
    """Name, state, and when it was."""
    run = found["run"]
    chips = [
        word for word, on in (("live", run["live"]), ("baseline", run["baseline"]), ("pinned", run["pinned"])) if on
    ]
    chips += run["tags"] + [f"{key}: {text}" for key, text in sorted(run["labels"].items())]
    until: list[Content] = ["it goes on"] if run["live"] else [html.Time("", **{"data-instant": str(run["end"])})]
    why = f"{run['began']}" + (f"; {run['ended']}" if run["ended"] else "")
    when = html.P(
        [html.Time("", **{"data-instant": str(run["start"])}), " – ", *until, f" · {why}"], className="dimmed"
    )
    way = html.Div([explore(run, found["stretch"]), dcc.Link("All runs", href="/runs")], className="neighbours")
    return html.Div(
        [html.H1(run["name"]), *(html.Span(one, className="tag") for one in chips), when, way], className="page-head"
    )


def headlines(summary: Sequence[Mapping[str, Any]]) -> Component:
    """The key numbers, large."""
    cards = []
    for section, key in HEADLINES:
        own = next((one["entries"] for one in summary if one["key"] == section), ())
        entry = next((one for one in own if one["key"] == key and not one.get("of")), None)
        if entry is not None:
            label = html.Div(entry["label"], className="label", title=entry.get("definition", ""))
            note = html.Div(entry.get("note", ""), className="note", title=entry.get("note", ""))
            cards.append(html.Div([label, html.Div(value(entry), className="value"), note], className="reading"))
    return html.Section(cards, className="panel headlines", **{"aria-label": "Key numbers"})


def body(found: Answer | None, name: str) -> tuple[list[Component], int]:
    """Everything of a run, and the HTTP status."""
    if found is None:
        title = "No run goes on" if name == LIVE else f"There is no run {name[:20]}"
        gone = [html.H1(title), html.P(dcc.Link("All runs", href="/runs"))]
        return [html.Section(gone, className="panel lost")], 200 if name == LIVE else 404
    run, summary = found["run"], found["summary"]
    parts = [head(found)]
    if found["why"]:
        parts.append(html.P(f"{found['why'][0].upper()}{found['why'][1:]}.", className="panel note"))
    if run["note"]:
        parts.append(html.P(run["note"], className="panel run-note"))
    each = nodes(summary)
    parts += [headlines(summary)] if summary else []
    parts += [controls(run)]
    parts += [each] if each is not None else []
    parts.append(
        html.Div([*sections(summary), panel("Ran on", fingerprint(found["fingerprint"]))], className="sections")
    )
    return [*parts, panel("Marks and events", marks(found))], 200


def page(number: str) -> Component:
    """The page: one fragment, and the script that carries out what people do."""
    return html.Div([fragment("run", REFRESH_MS, run=number)], className="page run", **{"data-run-page": number})


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /runs/ID and its content to the services."""
    dash.register_page(
        "run",
        path_template=f"{PREFIX}<number>",
        title="Run · Tachograph",
        name="Run",
        layout=lambda number="", **_: page(number),
    )
    serve(app.server, "run", lambda number: body(services.run(number), number), "run")
