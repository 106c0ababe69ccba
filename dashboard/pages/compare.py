"""Runs compared: which is faster at equal concurrency, and how surely; their course, numbers and nodes side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash
import orjson
from dash import dcc, html
from dash.development.base_component import Component

from dashboard.api.parameters import ParameterError
from dashboard.comparison import ALIGNMENTS, KNOWN
from dashboard.comparison_words import apart, below, shown, signed
from dashboard.components.fragment import fragment, serve
from dashboard.components.references import OWN, Measured, references, source
from dashboard.components.table import Content, Row, panel, table
from dashboard.pages.explore import configuration
from dashboard.services import Services
from telemetry.model import Unit

PATH = "/compare"
REFRESH_MS = 15_000
MARKS = {"faster": "▲", "slower": "▼", "higher": "▲", "lower": "▼", "no difference": "=", "too short": "…"}
NONE = "–"
MOST_NODES = 4
"""More nodes are shown when somebody wants them: their table is longer than all the rest."""
SAME = "Nothing: all that is known of what these runs ran on is the same."
TABLES = ("ladders", "seconds", "words")
Answer = Mapping[str, Any]


def address(runs: str, align: str, path: str = PATH) -> str:
    """Where a comparison stands."""
    return f"{path}?{urlencode({'runs': runs, 'align': align}, safe=',')}"


def waiting() -> Component:
    """What stands there before the scripts have run."""
    head = html.Div(html.H1("Compare"), className="page-head")
    return html.Div([head, html.P("Loading the comparison", className="note")], className="page compare")


def page(runs: str = "", align: str = ALIGNMENTS[0], **_: str) -> Component:
    """The frame: heading, verdicts, the chart that the script draws, tables."""
    if not runs:
        how = html.P(["Pick two to eight runs in ", dcc.Link("the list", href="/runs"), "."], className="note")
        return html.Div([html.Div(html.H1("Compare"), className="page-head"), how], className="page compare")
    align = align if align in ALIGNMENTS else ALIGNMENTS[0]
    links = [
        dcc.Link(label, href=address(runs, name), className="chosen" if name == align else "")
        for name, label in (("start", "from the start"), ("first_token", "from the first token"))
    ]
    head = html.Div(
        [
            html.H1("Compare"),
            html.Div([html.Span("Aligned", className="note"), *links], className="align"),
            html.Div(
                [
                    html.A("CSV", href=address(runs, align, "/api/v1/compare.csv"), download=""),
                    dcc.Link("All runs", href="/runs"),
                ],
                className="neighbours",
            ),
        ],
        className="page-head",
    )
    parts = [
        head,
        fragment("verdicts", REFRESH_MS, runs=runs, align=align),
        chart(runs, align),
        fragment("beside", REFRESH_MS, runs=runs, align=align),
    ]
    return html.Div(parts, className="page compare")


def chart(runs: str, align: str) -> Component:
    """The place of the curves."""
    known = configuration()
    tables = orjson.dumps({name: known[name] for name in TABLES}).decode()
    inner = [
        html.Div([html.H2("Course"), html.Div("", **{"data-overlay-switches": ""})], className="head"),
        html.Div("", **{"data-overlay-chart": ""}),
        html.Div("", className="overlay-legend", **{"data-overlay-keys": ""}),
    ]
    place = {"data-overlay": address(runs, align, "/api/v1/compare"), "data-tables": tables}
    return html.Section(inner, className="panel overlay", **place)


def refused(why: str) -> tuple[list[Component], int]:
    """What stands in place of a comparison that cannot be made."""
    words = [html.P(why), html.P(dcc.Link("All runs", href="/runs"))]
    return [html.Section(words, className="panel lost")], 404


def verdicts(found: Answer) -> list[Component]:
    """Who is compared, then of each pair one sentence with what it rests on."""
    return [panel("Runs", *who(found)), *(pair(found, run) for run in found["runs"][1:])]


def who(found: Answer) -> list[Component]:
    """The runs, each with the colour of its curve; the first is what the others are compared with."""
    rows = []
    for place, run in enumerate(found["runs"]):
        key = html.Span("", className=f"overlay-key line-{place % 8 + 1}")
        marks = [word for word, on in (("compared with", place == 0), ("live", run["live"])) if on]
        chips = [html.Span(one, className="tag") for one in marks]
        name = html.Span([key, dcc.Link(run["name"], href=f"/runs/{run['id']}"), *chips])
        length = shown((run["end"] - run["start"]) / 1000, Unit.SECONDS)
        instant = html.Time("", **{"data-instant": str(run["start"])})
        limit = run["limit_text"] + (f"; {run['why']}" if run["why"] and run["why"] != run["limit_text"] else "")
        rows.append(Row(name, [run["model"].rpartition("/")[2], instant, length, limit]))
    return [table(("Run", "Model", "Began", "Length", "Load"), rows, "Runs compared", "compared")]


def pair(found: Answer, run: Mapping[str, Any]) -> Component:
    """The verdicts on one run and the first."""
    own = [one for one in found["verdicts"] if one["run"] == run["id"]]
    main = next(one for one in own if one["main"])
    others = [one for one in own if not one["main"]]
    first = found["runs"][0]["name"]
    title = f"{run['name']} against {first}"
    notes = [html.P(note, className="note") for note in main["notes"]]
    lead = html.Div(
        [
            html.Div(
                [
                    html.Span(MARKS.get(main["word"], "○"), className="verdict-mark", **{"aria-hidden": "true"}),
                    html.Span(capital(main["head"]), className="verdict-word"),
                    html.Span(f"{main['label']}, at equal concurrency", className="note", title=main["definition"]),
                ],
                className="verdict-head",
            ),
            html.P(below(main)),
            *notes,
        ],
        className="verdict",
        **{"data-word": main["word"].replace(" ", "-")},
    )
    return panel(title, lead, measures([main, *others]), *strata(main), class_name="pair")


def capital(text: str) -> str:
    """A sentence's first letter."""
    return text[:1].upper() + text[1:]


def measures(own: Sequence[Mapping[str, Any]]) -> Component:
    """Every measure of a pair in a line."""
    rows = []
    for one in own:
        unit = Unit(one["unit"])
        name = html.Details([html.Summary(one["label"]), html.P(one["definition"])], className="definition")
        values = [shown(value, unit) for value in one["values"]]
        interval = NONE if one["low"] is None else f"{signed(one['low'])} to {signed(one['high'])}"
        smallest = shown(one["smallest"], Unit.RATIO)
        said = one["head"] if one["difference"] is not None else one["text"]
        rows.append(Row(name, [*values, signed(one["difference"]), interval, smallest, said]))
    head = ("Measure", "First", "Second", "Difference", "95 % sure between", "Smallest to be seen", "Verdict")
    return table(head, rows, "Measures", "measures")


def strata(main: Mapping[str, Any]) -> list[Content]:
    """What the verdict is made of, behind one click."""
    if len(main["strata"]) < 1:
        return []
    unit = Unit(main["unit"])
    rows = [
        Row(
            one["label"],
            [
                *(shown(value, unit) for value in one["values"]),
                *(shown(value, Unit.SECONDS) for value in one["seconds"]),
                shown(one["weight"], Unit.RATIO),
            ],
        )
        for one in main["strata"]
    ]
    head = ("Running", "First", "Second", "Time, first", "Time, second", "Weight")
    shares = " and ".join(shown(one, Unit.RATIO) for one in main["shares"])
    said = html.P(f"Compared is {shares} of the time in which requests ran.", className="note")
    inner = [html.Summary("By number of requests running"), said, table(head, rows, "Strata", "strata")]
    return [html.Details(inner, className="strata-of")]


def beside(found: Answer) -> list[Component]:
    """Everything else side by side."""
    published = references(found["references"], own(found))
    parts = [fingerprint(found), roofline(found), numbers(found), nodes(found), published]
    return [one for one in parts if one is not None]


def own(found: Answer) -> list[Measured]:
    """The runs' own speeds, to stand beside published ones."""
    lines = {one["key"]: one["values"] for one in found["table"]}
    return [
        (
            run["name"],
            source(run["deployment"]),
            {key: lines[f"speed.{name}"][place] if f"speed.{name}" in lines else None for key, name in OWN.items()},
        )
        for place, run in enumerate(found["runs"])
    ]


def fingerprint(found: Answer) -> Component:
    """Fields in which the runs differ."""
    if not found["fingerprint"]:
        return panel("What differs", html.P(SAME, className="note"))
    rows = [
        Row(one["label"], [html.Span(in_unit(value, one["unit"]), className="fact") for value in one["values"]])
        for one in found["fingerprint"]
    ]
    names = [run["name"] for run in found["runs"]]
    return panel("What differs", table(("", *names), rows, "Differences of what they ran on", "fingerprints"))


def in_unit(text: str, unit: str | None) -> str:
    """A value of a fingerprint as people read it; “not known” where it is not."""
    if not text:
        return "not known"
    try:
        return text if unit is None else shown(float(text), Unit(unit))
    except ValueError:
        return text


def roofline(found: Answer) -> Component | None:
    """Ceiling of decode steps and the share reached, of the runs of which it can be told."""
    known = [one for one in found["roofline"] if one["share"] is not None]
    if not known:
        return None
    rows = [
        Row(
            one["name"],
            [
                shown(one["step_s"], Unit.SECONDS),
                shown(one["floor_s"], Unit.SECONDS),
                shown(one["ceiling"], Unit.PER_SECOND),
                shown(one["share"], Unit.RATIO),
                one["why"],
            ],
        )
        for one in found["roofline"]
    ]
    head = ("Run", "Step", "Shortest possible", "Steps at best", "Share reached", "")
    said = (
        "If nothing but reading the weights took time; KV cache, drafts, fabric and prefills are not counted. Step is "
        "the mean between two tokens over the whole run, prefills included; verdicts compare steps of like load."
    )
    return panel("Roofline of the memory", html.P(said, className="note"), table(head, rows, "Roofline"))


def numbers(found: Answer) -> Component:
    """Numbers of the summaries."""
    said = html.P("Of each whole run, whatever its concurrency: not what the verdicts rest on.", className="note")
    body = table(heads(found), [line(one) for one in found["table"]], "Numbers side by side", "numbers")
    return panel("Numbers", said, body if found["table"] else html.P("None are known yet.", className="note"))


def heads(found: Answer) -> tuple[str, ...]:
    """Names of the runs over pairs of columns."""
    first, *others = (run["name"] for run in found["runs"])
    return ("", first, *(head for name in others for head in (name, "±")))


def line(one: Mapping[str, Any]) -> Row:
    """A number of every run, with the difference from the first."""
    unit = Unit(one["unit"])
    cells: list[Content] = []
    for place, (value, difference, note) in enumerate(
        zip(one["values"], one["differences"], one["notes"], strict=True)
    ):
        cells.append(html.Span(shown(value, unit), title=note))
        if place:
            cells.append(html.Span(apart(difference, unit), className="dimmed"))
    name = html.Details([html.Summary(one["label"]), html.P(one["definition"])], className="definition")
    return Row(name, cells)


def nodes(found: Answer) -> Component | None:
    """Node by node."""
    if not found["nodes"]:
        return None
    rows = []
    before = ""
    for one in found["nodes"]:
        row = line(one)
        head = html.Span([html.Strong(one["of"] if one["of"] != before else ""), html.Span(one["label"])])
        rows.append(Row(head, row.cells))
        before = one["of"]
    body = table(heads(found), rows, "Nodes side by side", "numbers per-node")
    count = len({one["of"] for one in found["nodes"]})
    if count > MOST_NODES:
        body = html.Details([html.Summary(f"{count} nodes, {len(rows)} numbers"), body], className="each")
    return panel("Node by node", body)


def register(app: dash.Dash, services: Services) -> None:
    """Bind the page to /compare and its parts to the services."""
    dash.register_page("compare", path=PATH, title="Compare · Tachograph", name="Compare", layout=page)

    def part(make: Any) -> Any:
        def answer(runs: str, align: str) -> tuple[list[Component], int]:
            try:
                return make(services.compare(runs, align)), 200
            except ParameterError as error:
                return refused(str(error)) if make is verdicts else ([], 404)

        return answer

    serve(app.server, "verdicts", part(verdicts), *KNOWN)
    serve(app.server, "beside", part(beside), *KNOWN)
