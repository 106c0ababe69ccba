"""One run: its numbers with their definitions, node by node, what it ran on, and what people say of it.

The timeline, and which stretch, node and moment are looked at, is `assets/run`; the parts here are fragments that it
asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash
import orjson
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.api.parameters import ParameterError
from dashboard.components.fragment import fragment, serve
from dashboard.components.references import measured, references
from dashboard.components.run_entries import Entry, entries, value
from dashboard.components.run_forms import controls
from dashboard.components.run_moment import moment
from dashboard.components.run_nodes import node, nodes, of_node, stand_out
from dashboard.components.run_report import report
from dashboard.components.run_results import results
from dashboard.components.table import Content, Row, pairs, panel, table
from dashboard.live.fleet import MAP
from dashboard.pages.explore import configuration
from dashboard.services import Services
from telemetry import formatting
from telemetry.catalog import engine, gpu
from telemetry.catalog import ratios as quotients
from telemetry.model import Unit

PREFIX = "/runs/"
EACH_MS = 30_000
NODES = "nodes"
"""What numbers of all nodes together are of (`runs.quality`)."""
LIVE = "live"
"""In place of a number: the newest run that goes on."""
HEADLINES = (
    ("speed", "decode_mean", "Decode, mean"),
    ("speed", "decode_peak", "Decode, 10 s peak"),
    ("speed", "prefill_throughput", "Prefill"),
    ("speed", "seconds", "Length"),
    ("requests", "output", "Output tokens"),
    ("requests", "finished", "Requests finished"),
    ("phases", "running_mean", "Running, mean"),
    ("nodes", "took_part", "Nodes"),
)
"""(section, key, name in the width of a card): the whole name stands in the section, and on hover."""
EXPLORED = (quotients.DECODE_TPS, gpu.GPU_UTILIZATION, gpu.GPU_POWER, quotients.INTERCONNECT_TRANSMIT)
EXPORTED = (
    quotients.DECODE_TPS,
    engine.REQUESTS_RUNNING,
    engine.REQUESTS_WAITING,
    engine.KV_CACHE_USAGE,
    engine.ENGINE_PHASE,
    *(reading.metric for reading in MAP),
)
"""What the files of a run hold: what its timeline shows."""
ORIGINS = {"benchmark": "benchmark without telemetry", "foreign": "from another installation"}
"""What is said of runs that came from outside."""
Answer = Mapping[str, Any]


def sections(summary: Sequence[Mapping[str, Any]], where: Mapping[str, str]) -> list[Component]:
    """A panel per section that has something to say; of nodes only what is of all of them."""
    found = []
    for section in summary:
        shown = [one for one in section["entries"] if not (section["key"] == "nodes" and of_node(one))]
        if shown:
            found.append(panel(section["label"], *numbers(shown, section, where)))
    return found


def singles(shown: Sequence[Entry]) -> list[Entry]:
    """Those of one node or cage: there may be hundreds. How single nodes were watched follows what all were."""
    names = [one.get("of") for one in shown]
    beyond = len(names) - names[::-1].index(NODES) if NODES in names else len(names)
    return [
        one
        for at, one in enumerate(shown)
        if of_node(one) or str(one["key"]).startswith("cage_") or (at >= beyond and one.get("of"))
    ]


def numbers(shown: Sequence[Entry], section: Mapping[str, Any], where: Mapping[str, str]) -> list[Component]:
    """Numbers of a section; those of single nodes and cages are asked for when somebody wants them."""
    each = singles(shown)
    whole = [one for one in shown if one not in each]
    parts = [entries(whole, section["label"])] if whole else []
    if each:
        more = html.Summary(f"Each by itself: {len(each)} numbers")
        place = fragment("run-each", EACH_MS, section=section["key"], **where)
        parts.append(html.Details([more, place], className="each"))
    return parts


def each_of(summary: Sequence[Mapping[str, Any]], key: str) -> list[Component]:
    """Numbers of single nodes and cages of a section."""
    section = next((one for one in summary if one["key"] == key), None)
    found = singles(section["entries"]) if section is not None else []
    return [entries(found, f"{section['label']}, each by itself")] if section is not None else []


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


def marks(found: Sequence[Mapping[str, Any]]) -> Component:
    """Marks of the run, events in it and annotations, by time; a click on the time leads to the moment."""
    if not found:
        return html.P("Nothing happened in it that is worth a mark.", className="note")
    rows = [Row(instant(one["t"]), [one["kind"].replace("_", " "), one["target"], one["text"]]) for one in found]
    return table(("When", "What", "Where", "Text"), rows, "Marks and events of the run", "events")


def instant(at_ms: int) -> Component:
    """An instant that leads to all nodes at it."""
    when = html.Time("", **{"data-instant": str(at_ms)})
    words = {"type": "button", "className": "picker", "title": "All nodes at that moment"}
    return html.Button(when, **words, **{"data-pick-at": str(at_ms)})


def explore(run: Mapping[str, Any], stretch: Sequence[int]) -> Component:
    """The run's stretch in Explore."""
    end = "now" if run["live"] else str(stretch[1])
    query = {"metric": ",".join(one.name for one in EXPLORED), "start": str(stretch[0]), "end": end}
    return dcc.Link("Open in Explore", href=f"/explore?{urlencode(query, safe=',')}", className="plain")


def files(run: Mapping[str, Any], stretch: Sequence[int]) -> list[Component]:
    """The run or its stretch as files: its numbers, and every sample of its metrics."""
    query = urlencode(
        {"metric": ",".join(one.name for one in EXPORTED), "start": stretch[0], "end": stretch[1], "raw": 1}, safe=","
    )
    part = urlencode({"start": stretch[0], "end": stretch[1]})
    numbers = f"/api/v1/runs/{run['id']}/summary.csv?{part}"
    return [html.A("Numbers", href=numbers, className="plain", title="The numbers of this stretch as CSV")] + [
        html.A(label, href=f"/api/v1/export.{form}?{query}", className="plain", title="Every sample of this stretch")
        for label, form in (("CSV", "csv"), ("Parquet", "parquet"))
    ]


def head(found: Answer) -> Component:
    """Name, state, and when it was."""
    run, unread = found["run"], found.get("unread_since")
    live = run["live"] and unread is None
    chips = [word for word, on in (("live", live), ("baseline", run["baseline"]), ("pinned", run["pinned"])) if on]
    chips = [ORIGINS[run["by"]], *chips] if run["by"] in ORIGINS else chips
    chips += run["tags"] + [f"{key}: {text}" for key, text in sorted(run["labels"].items())]
    why = f"{run['began']}" + (f"; {run['ended']}" if run["ended"] else "")
    when = html.P([*between(*run["stretch"], unread), *whole(run, unread), f" · {why}"], className="dimmed")
    way = html.Div(
        [
            *([] if run["by"] in ORIGINS else [explore(run, found["stretch"]), *files(run, found["stretch"])]),
            report(run),
            dcc.Link("All runs", href="/runs"),
        ],
        className="neighbours",
    )
    return html.Div(
        [html.H1(run["name"]), *(html.Span(one, className="tag") for one in chips), when, way], className="page-head"
    )


def between(start: int, end: int | None, unread: int | None = None) -> list[Content]:
    """From when to when. unread: since when nothing was read, so that nobody knows whether it goes on; None of now."""
    if end is not None:
        until: list[Content] = [html.Time("", **{"data-instant": str(end)})]
    elif unread is None:
        until = ["it goes on"]
    else:
        until = ["it may go on; nothing was read since ", html.Time("", **{"data-instant": str(unread)})]
    return [html.Time("", **{"data-instant": str(start)}), " – ", *until]


def whole(run: Mapping[str, Any], unread: int | None = None) -> list[Content]:
    """From when to when a run was of which the stretch that is told is only a part; nothing where it is all of it."""
    own = [run["start"], run["end"]]
    return [] if run["stretch"] == own else [" · trimmed, the whole run is ", *between(*own, unread)]


def headlines(summary: Sequence[Mapping[str, Any]]) -> Component:
    """The key numbers, large."""
    cards = []
    for section, key, name in HEADLINES:
        own = next((one["entries"] for one in summary if one["key"] == section), ())
        entry = next((one for one in own if one["key"] == key and not one.get("of")), None)
        if entry is not None:
            told = ": ".join(filter(None, (entry["label"], entry.get("definition", ""))))
            label = html.Div(name, className="label", title=told)
            note = html.Div(entry.get("note", ""), className="note")
            cards.append(html.Div([label, html.Div(value(entry), className="value"), note], className="reading"))
    return html.Section(cards, className="panel headlines", **{"aria-label": "Key numbers"})


def lost(name: str, instead: Answer | None = None) -> Component:
    """In place of a run that there is not: the last one where none goes on, the one of which it is a part now."""
    title = "No run goes on" if name == LIVE else f"There is no run {name[:20]}"
    way: list[Content] = []
    if instead is not None:
        link = dcc.Link(instead["name"], href=f"/runs/{instead['id']}")
        over = html.Time("", **{"data-instant": str(instead["end"])})
        way = ["The last one, ", link, ", ended ", over, "."] if name == LIVE else ["It is part of ", link, " now."]
    lines = [html.P(way)] if way else []
    return html.Section([html.H1(title), *lines, html.P(dcc.Link("All runs", href="/runs"))], className="panel lost")


def top(found: Answer) -> list[Component]:
    """What stands above the timeline: name, state, and the key numbers."""
    run, summary = found["run"], found["summary"]
    parts = [head(found)]
    if found["why"]:
        parts.append(html.P(f"{found['why'][0].upper()}{found['why'][1:]}.", className="panel note"))
    if run["note"]:
        parts.append(html.P(run["note"], className="panel run-note"))
    return [*parts, headlines(summary), stand_out(summary)] if summary else parts


def rest(found: Answer, where: Mapping[str, str]) -> list[Component]:
    """What stands below it: every number, what can be done, what it ran on, what happened. where: as of a fragment."""
    run, summary = found["run"], found["summary"]
    each = nodes(summary)
    parts = [*results(run, found.get("benchmarks", ())), *([each] if each is not None else [])]
    alone = run["by"] == "benchmark"
    if not (alone and len(found["marks"]) <= 1):  # that it ended
        parts.append(panel("Marks and events", marks(found["marks"])))
    ran_on = [] if alone else [panel("Ran on", fingerprint(found["fingerprint"]))]
    speeds = measured(run, summary)
    published = references(found.get("references", ()), speeds) if speeds else None
    own = html.Div([*sections(summary, where), *ran_on], className="sections")
    return [*parts, own, *([] if published is None else [published]), controls(run)]


def page(number: str) -> Component:
    """The page: the place that `assets/run` fills, and the formatter's tables for what it writes by itself."""
    known = configuration()
    tables = {name: known[name] for name in ("ladders", "seconds", "words")}
    data = {"data-run-page": number, "data-run-tables": orjson.dumps(tables).decode()}
    return html.Div(
        html.P("Loading the run", className="run-wait note"),
        className="page run",
        **data,
    )


def part(make: Callable[[Answer], Any], answer: Callable[[], Answer | None], missing: Any) -> tuple[Any, int]:
    """A part of the page, and the HTTP status; where the question makes no sense, the sentence that says so."""
    try:
        found = answer()
    except ParameterError as error:
        return [html.P(str(error), className="panel note")], 404
    return (missing, 404) if found is None else (make(found), 200)


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /runs/ID and its parts to the services."""
    dash.register_page(
        "run",
        path_template=f"{PREFIX}<number>",
        title="Run · Tachograph",
        name="Run",
        layout=lambda number="", **_: page(number),
    )

    def above(run: str, start: str, end: str) -> tuple[Any, int]:
        found, status = part(top, lambda: services.run(run, start, end), None)
        return (found, status) if found is not None else ([lost(run, services.run_instead(run))], status)

    def below(run: str, start: str, end: str) -> tuple[Any, int]:
        given = {"run": run, "start": start, "end": end}
        where = {name: text for name, text in given.items() if text}

        def answer() -> Answer | None:
            found, happened = services.run(run, start, end), services.run_marks(run, start, end)
            return None if found is None or happened is None else {**found, **happened}

        return part(lambda found: rest(found, where), answer, [])

    def each(run: str, section: str, start: str, end: str) -> tuple[Any, int]:
        return part(lambda found: each_of(found["summary"], section), lambda: services.run(run, start, end), [])

    def one_node(run: str, name: str, start: str, end: str) -> tuple[Any, int]:
        return part(lambda found: [node(found["summary"], name)], lambda: services.run(run, start, end), [])

    def then(run: str, at: str, name: str) -> tuple[Any, int]:
        return part(lambda found: [moment(found, name)], lambda: services.run_moment(run, at), [])

    serve(app.server, "run", above, "run", "start", "end")
    serve(app.server, "run-each", each, "run", "section", "start", "end")
    serve(app.server, "run-more", below, "run", "start", "end")
    serve(app.server, "run-node", one_node, "run", "node", "start", "end")
    serve(app.server, "run-moment", then, "run", "at", "node")
