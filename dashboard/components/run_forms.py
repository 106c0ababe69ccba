"""Forms of a run: what people do to it. `assets/runs/orders.js` sends them as commands and writes the answer beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.table import panel
from dashboard.layout.static import Raw

MEASURED = (
    ("concurrency", "Concurrency", "8 at once"),
    ("corpus", "Corpus", "ShareGPT"),
    ("prompt_length", "Prompt length", "1,024 tokens"),
    ("answer_length", "Answer length", "256 tokens"),
    ("tool", "Tool", "vllm bench serve"),
)
"""Fields of the form “how measured”: name, label, example."""


def form(kind: str, run: int | None, *parts: str, button: str, ask: str = "", then: str = "") -> Raw:
    """A form that sends one kind of command. run: None where there is none yet; ask: what is asked before; then: where
    to go when it is done."""
    given = (("run", "" if run is None else str(run)), ("ask", ask), ("then", then))
    extra = "".join(f' data-{name}="{escape(text)}"' for name, text in given if text)
    return Raw(
        f'<form class="order" data-run-order="{escape(kind)}"{extra}>{"".join(parts)}'
        f'<button type="submit" class="plain">{escape(button)}</button>'
        '<span class="note" role="status" data-said></span></form>'
    )


def entry(
    name: str,
    label: str,
    value: str = "",
    example: str = "",
    how: str = "text",
    base: int | None = None,
    *,
    needed: bool = False,
) -> str:
    """A labelled line of text. how: what the script makes of it; base: the instant that it counts from; needed: a
    whole number that must be there."""
    since = "" if base is None else f' data-base="{base}"'
    since += ' required inputmode="numeric" pattern="[1-9][0-9]{0,8}"' if needed else ""
    return (
        f'<label><span class="label">{escape(label)}</span><input name="{escape(name)}" value="{escape(value)}" '
        f'placeholder="{escape(example)}" data-as="{how}"{since} autocomplete="off"></label>'
    )


def fixed(name: str, value: str, how: str = "json") -> str:
    """A value that is sent along."""
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}" data-as="{how}">'


def switch(run: Mapping[str, Any], kind: str, field: str, on: str, off: str) -> Raw:
    """A button that turns something on or off."""
    return form(kind, run["id"], fixed("on", "false" if run[field] else "true"), button=off if run[field] else on)


def controls(run: Mapping[str, Any]) -> Component:
    """Buttons at once; everything that needs typing behind one click."""
    number = run["id"]
    buttons = [form("stop", number, button="Stop")] if run["live"] else []
    if own(run):
        buttons += [
            switch(run, "pin", "pinned", "Keep its samples", "Keep its samples no longer"),
            switch(run, "baseline", "baseline", "Make it the baseline", "Baseline no longer"),
        ]
    if not run["live"]:
        ask = "Delete this run and what was worked out of it? Its samples stay."
        buttons.append(form("delete", number, button="Delete", ask=ask, then="/runs"))
    return panel(
        "Do",
        html.Div(buttons, className="orders"),
        html.Details(
            [html.Summary("Name, tags, notes, how it was measured …"), *(group(*one, run) for one in groups(run))]
        ),
    )


def begin(deployments: Sequence[str]) -> Component:
    """A run is started by hand, of one of these deployments; it goes on until somebody stops it."""
    if not deployments:
        return html.P("No deployment is known yet: an engine has to be read once.", className="note")
    options = "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in deployments)
    choice = f'<select name="deployment" data-as="text">{options}</select>'
    where = f'<label><span class="label">Deployment</span>{choice}</label>'
    name = entry("name", "Name, if any", "", "8 at once, fp8", how="maybe")
    return html.Div(form("start", None, where, name, button="Start", then="/runs/live"), className="orders typed")


def own(run: Mapping[str, Any]) -> bool:
    """Whether its samples were taken here: what needs them is offered for no other."""
    return run["by"] not in ("benchmark", "foreign")


def groups(run: Mapping[str, Any]) -> list[tuple[str, Callable[[Mapping[str, Any]], list[Raw]]]]:
    """Headings, and the forms below them."""
    return [one for one in GROUPS if own(run) or one[1] is not reach]


def group(title: str, forms: Callable[[Mapping[str, Any]], list[Raw]], run: Mapping[str, Any]) -> Component:
    """Forms about one thing, with a heading."""
    return html.Section([html.H3(title, className="label"), html.Div(forms(run), className="orders typed")])


def called(run: Mapping[str, Any]) -> list[Raw]:
    """What it is called, and what is said of it."""
    number = run["id"]
    area = f'<textarea name="text" rows="2" data-as="text">{escape(run["note"])}</textarea>'
    note = f'<label class="wide"><span class="label">Note</span>{area}</label>'
    tags = [
        form("tag", number, fixed("tag", tag, "text"), fixed("on", "false"), button=f"Take off “{tag}”")
        for tag in run["tags"]
    ]
    labels = [
        form("label", number, fixed("key", key, "text"), fixed("value", "null"), button=f"Take off “{key}”")
        for key in sorted(run["labels"])
    ]
    return [
        form("rename", number, entry("name", "Name", run["name"]), button="Rename"),
        form("tag", number, entry("tag", "Tag", "", "fp8"), button="Add"),
        *tags,
        form("label", number, entry("key", "Label", "", "drafts"), entry("value", "Value", "", "7"), button="Add"),
        *labels,
        form("note", number, note, button="Save the note"),
    ]


def reach(run: Mapping[str, Any]) -> list[Raw]:
    """From when to when it is, and moments of it."""
    number, begin, when = run["id"], run["start"], "Seconds after the start, or a clock time"
    since = run["stretch"][0]
    start = "" if run["trim_start"] is None else f"{(run['trim_start'] - begin) / 1000:g}"
    trim = [entry("start_ms", "Leave out: seconds at the start, or from when on", start, "0", "after", begin)]
    if not run["live"]:
        end = "" if run["trim_end"] is None else f"{(run['end'] - run['trim_end']) / 1000:g}"
        trim.append(entry("end_ms", "Seconds at the end, or until when", end, "0", "before", run["end"]))
    moment = (entry("text", "Annotation", "", "fan on"), entry("at_ms", when, "", "90", "after", since))
    return [
        form("annotate", number, *moment, button="Annotate"),
        form("trim", number, *trim, button="Trim"),
        form("split", number, entry("at_ms", f"Split: {when.lower()}", "", "90", "after", since), button="Split"),
        *joins(run),
    ]


def measured(run: Mapping[str, Any]) -> list[Raw]:
    """What no counter knows."""
    number, told, nodes = run["id"], run["measured"], ", ".join(run["nodes"] or ())
    fields = [entry(f"measured.{name}", label, told.get(name, ""), example) for name, label, example in MEASURED]
    forms = [form("measured", number, *fields, button="Save how it was measured")]
    if own(run):
        field = entry("nodes", "Nodes taking part", nodes, "by evidence", "list")
        forms.append(form("nodes", number, field, button="Set"))
    return forms


def joins(run: Mapping[str, Any]) -> list[Raw]:
    """Buttons that merge a run with its neighbours; the earlier one's number is that of both then."""
    forms = []
    for where, first in (("before", run.get("before")), ("after", run)):
        other = run.get(where)
        if other is not None and first is not None:
            label = f"Merge with the run {where} it, “{other['name']}”"
            ask = f"Make one run of “{run['name']}” and “{other['name']}”? A split at any moment between undoes it."
            fields = fixed("other", str(other["id"]))
            forms.append(form("merge", run["id"], fields, button=label, ask=ask, then=f"/runs/{first['id']}"))
    return forms


GROUPS: tuple[tuple[str, Callable[[Mapping[str, Any]], list[Raw]]], ...] = (
    ("What it is called", called),
    ("From when to when", reach),
    ("How it was measured", measured),
)
"""Headings, and the forms below them."""
