"""The report as one HTML file: it asks nothing of the network, and says so to the browser that opens it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dashboard.report import results, sections, tables
from dashboard.report.content import Content
from dashboard.report.figures import Figures
from dashboard.report.tags import Html, inner, tag
from dashboard.report.times import instant, iso, stretch, whole
from dashboard.security import script_json
from dashboard.theme import PALETTES
from telemetry import formatting
from telemetry.model import Unit

HERE = Path(__file__).parent
ORIGINS = {
    "benchmark": "benchmark without telemetry",
    "foreign": "from another installation",
}
FOLDED = 12
"""More events than these are folded away on the screen."""


def palettes() -> str:
    """Light, dark where the reader's system is, and as the switch says; printed light."""
    rules = {name: "".join(f"--{key}:{value};" for key, value in palette.items()) for name, palette in PALETTES.items()}
    light, dark = (f"color-scheme:{name};{rules[name]}" for name in ("light", "dark"))
    return (
        f":root{{{light}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f":root[data-theme=dark]{{{dark}}}"
        f"@media print{{:root,:root:not([data-theme=light]),:root[data-theme=dark]{{{light}}}}}"
    )


def page(content: Content) -> bytes:
    """The file."""
    run = content["run"]
    script = (HERE / "report.js").read_text("utf-8")
    style = palettes() + (HERE / "report.css").read_text("utf-8")
    drawn = figures(content)
    charts = drawn.html() if drawn is not None else []
    data = drawn.data() if drawn is not None else {"span_ms": 1, "plots": []}
    head = inner(
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        tag("title", f"{run['name']} · Tachograph"),
        tag("style", Html(style)),
    )
    body = inner(
        *_body(content, charts),
        tag("script", Html(script_json(data)), type="application/json", id="data"),
        tag("script", Html(script)),
    )
    document = tag("html", tag("head", head), tag("body", body), lang="en")
    return f"<!doctype html>\n{document}\n".encode()


def own_policy() -> str:
    """That of the file, for whoever sends it."""
    return policy((HERE / "report.js").read_text("utf-8"))


def policy(script: str) -> str:
    """What the file may do: draw itself, and run its own script."""
    own = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{own}'"


def figures(content: Content) -> Figures | None:
    """Its charts; None where nothing was kept."""
    charts, stretch = content["charts"], content["stretch"]
    if charts is None or not charts["series"]:
        return None
    bands = [(one["overlay"]["start"], one["overlay"]["end"]) for one in content["benchmarks"] if one["overlay"]]
    return Figures(charts, content["marks"], (stretch[0], stretch[1]), bands)


def _body(content: Content, charts: list[Html]) -> list[Html]:
    run, summary = content["run"], content["summary"]
    parts = [_head(content)]
    if content["why"]:
        parts.append(tag("p", f"{content['why'][0].upper()}{content['why'][1:]}.", class_="why"))
    if run["note"]:
        parts.append(tag("p", run["note"], class_="told"))
    parts.append(tables.heroes(summary) if summary and run["by"] != "benchmark" else Html(""))
    watched = tables.quality(summary)
    if watched:
        parts.append(tag("p", f"Data quality: {watched}.", class_="note watched"))
    how = tables.measured(run)
    each = tables.nodes(summary, run["start"])
    told = [results.result(one) for one in content["benchmarks"]]
    parts_of_it = (
        ("How it was measured", [tables.pairs(how)] if how else []),
        ("Over time", charts),
        ("Node by node", [each] if each is not None else []),
        ("Benchmark and engine", told),
        ("All numbers", [sections.sections(summary)] if summary else []),
        ("Ran on", [tables.fingerprint(content["fingerprint"])] if content["fingerprint"] else []),
        ("Marks and events", [_events(content)]),
        ("What the numbers mean", [_folded("Definitions", sections.definitions(summary))] if summary else []),
    )
    parts += [tag("section", tag("h2", title), *found) for title, found in parts_of_it if found]
    return [*parts, _foot(content)]


def _events(content: Content) -> Html:
    count = sum(len(content[name]) for name in ("marks", "events", "alerts"))
    told = tables.events(content)
    return told if count <= FOLDED else _folded(f"{count} of them", told)


def _folded(title: str, part: Html) -> Html:
    """Behind one click; open on paper."""
    return tag("details", tag("summary", title), part)


def _head(content: Content) -> Html:
    run = content["run"]
    over = tag(
        "div",
        tag("b", "Tachograph"),
        tag("span", "run report"),
        tag("button", "Light / dark", type="button", data_theme_switch=True),
        class_="over",
    )
    chips = [tag("span", ORIGINS[run["by"]], class_="chip strong")] if run["by"] in ORIGINS else []
    chips += [tag("span", one, class_="chip") for one in run["tags"]]
    chips += [tag("span", f"{key}: {text}", class_="chip") for key, text in sorted(run["labels"].items())]
    row = tag("div", *chips, class_="chips") if chips else Html("")
    return tag("header", over, tag("h1", run["name"]), tag("p", *_lead(content), class_="lead"), row)


def _lead(content: Content) -> list[Html]:
    """Model, nodes, when and how long, in one line."""
    run = content["run"]
    nodes = tables.find(content["summary"], "nodes.took_part")
    start, end = stretch(run, content["written"])
    length = formatting.text((end - start) / 1000, Unit.SECONDS)
    many = f"{nodes['value']:g} node{'' if nodes['value'] == 1 else 's'}" if nodes and nodes["value"] else ""
    began = tag("time", instant(start), datetime=iso(start))
    parts = [tag("b", run["model"] or run["deployment"]), many, began, length if end > start else ""]
    if trimmed := whole(run):
        parts.append(f"{trimmed}; its charts, and times since the beginning, are of all of it")
    if run["live"]:
        parts.append("it still goes on")
    found: list[Html] = []
    for part in parts:
        if part:
            found += [*([inner(" · ")] if found else []), inner(part)]
    return found


def _foot(content: Content) -> Html:
    origin: Mapping[str, Any] | None = content["origin"]
    said = f"Written by Tachograph {content['version']} at {instant(content['written'])}."
    if origin is not None:
        said += f" The run came from another installation, where it was run {origin['id']}."
    return tag("footer", said)
