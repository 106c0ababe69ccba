"""Tables of a report: key numbers, sections, nodes, fingerprint, events, benchmarks, definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dashboard import formatting
from dashboard.report.tags import Entry, Html, cell, in_unit, inner, shown, table, tag
from dashboard.report.times import instant, since
from telemetry.model import Unit

Sections = Sequence[Mapping[str, Any]]
ON = "_on"
"""Ends the keys of a node's own entries."""
HEROES = (
    ("speed.decode_mean", "Decode, mean while decoding"),
    ("speed.decode_peak", "Decode, peak of 10 s"),
    ("speed.prefill_throughput", "Prefill throughput"),
)
TILES = (
    "requests.output",
    "requests.finished",
    "speed.decoding_seconds",
    "nodes.took_part",
    "latency.ttft_mean",
    "latency.tpot_mean",
    "speculation.accepted_length",
    "energy.energy_per_token",
)
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
STANDING_OUT = {"slowest": "slowest", "hottest": "hottest"}
MEASURED = {
    "concurrency": "Concurrency",
    "corpus": "Corpus",
    "prompt_length": "Prompt length",
    "answer_length": "Answer length",
    "tool": "Tool",
}
MOST_EVENTS = 400


def find(summary: Sections, path: str) -> Entry | None:
    """An entry of no one in particular by "section.key"."""
    section, _, key = path.partition(".")
    own = next((one["entries"] for one in summary if one["key"] == section), ())
    return next((one for one in own if one["key"] == key and not one.get("of")), None)


def heroes(summary: Sections) -> Html:
    """The three numbers that runs are known by, and a few more."""
    large = []
    for place, (path, label) in enumerate(HEROES):
        entry = find(summary, path)
        value = tag("div", shown(entry), class_="value", **_exactly(path, entry))
        note = tag("div", (entry or {}).get("note", ""), class_="note")
        large.append(
            tag("div", tag("div", label, class_="label"), value, note, class_=f"hero{'' if place else ' first'}")
        )
    small = [
        (path, entry) for path in TILES if (entry := find(summary, path)) is not None and entry["value"] is not None
    ]
    tiles = [
        tag(
            "div",
            tag("div", entry["label"], class_="label"),
            tag("div", shown(entry), class_="value", **_exactly(path, entry)),
            class_="tile",
        )
        for path, entry in small
    ]
    return inner(tag("div", *large, class_="heroes"), tag("div", *tiles, class_="tiles") if tiles else Html(""))


def _exactly(path: str, entry: Entry | None) -> dict[str, str]:
    return {"data_key": path, "data_value": repr(entry["value"])} if entry and entry["value"] is not None else {}


def of_node(entry: Entry) -> bool:
    """Whether an entry is of one node, and stands in their table."""
    return str(entry["key"]).endswith(ON)


def sections(summary: Sections) -> Html:
    """Every number but those of single nodes."""
    found = []
    for section in summary:
        own = [one for one in section["entries"] if not (section["key"] == "nodes" and of_node(one))]
        if own:
            rows = [_row(section["key"], one) for one in own]
            found.append(tag("div", tag("h3", section["label"]), table(("", ""), rows)))
    return tag("div", *found, class_="columns")


def _row(section: str, entry: Entry) -> Html:
    label = f"{entry['label']} · {entry['of']}" if entry.get("of") else entry["label"]
    count = entry.get("count")
    of = "" if count is None else f"of {formatting.text(count, Unit.COUNT)}"
    said = "; ".join(part for part in (of, entry.get("note", "")) if part)
    note = tag("div", said, class_="note") if said else Html("")
    return tag("tr", tag("th", label, note, scope="row"), cell(f"{section}.{entry['key']}", entry))


def nodes(summary: Sections, start_ms: int) -> Html | None:
    """Node by node, those that stand out marked; None where there are none."""
    section = next((one for one in summary if one["key"] == "nodes"), {"entries": ()})
    found: dict[str, dict[str, Entry]] = {}
    for one in section["entries"]:
        if of_node(one):
            found.setdefault(one["of"], {})[one["key"].removesuffix(ON)] = one
    if not found:
        return None
    apart = {one["of"]: word for one in section["entries"] if (word := STANDING_OUT.get(one["key"])) and one.get("of")}
    known = [(key, label) for key, label in PER_NODE if any(key in own for own in found.values())]
    rows = [
        tag(
            "tr",
            tag("th", name, *([tag("span", apart[name], class_="chip")] if name in apart else []), scope="row"),
            *(cell(f"nodes.{key}{ON}", own.get(key)) for key, _ in known),
        )
        for name, own in sorted(found.items())
    ]
    told = [_apart(one, start_ms) for one in section["entries"] if one["key"] in STANDING_OUT and one.get("of")]
    said = tag("p", " ".join(told), class_="note") if told else Html("")
    return inner(said, table(("Node", *(label for _, label in known)), rows))


def _apart(entry: Entry, start_ms: int) -> str:
    """By how much a node stands out, and when."""
    when = "all the time" if entry.get("since") is None else f"from {since(entry['since'] - start_ms)} on"
    if entry.get("since") is not None and entry.get("until") is not None:
        when = f"from {since(entry['since'] - start_ms)} to {since(entry['until'] - start_ms)}"
    return f"{entry['label']}: {entry['of']}, {formatting.text(entry['value'], Unit(entry['unit']))} {when}."


def pairs(rows: Iterable[tuple[str, Html]]) -> Html:
    """Names and what they are."""
    found = [inner(tag("dt", name), tag("dd", value)) for name, value in rows]
    return tag("dl", *found, class_="pairs") if found else tag("p", "Nothing is known of it.", class_="note")


def fingerprint(found: Sections) -> Html:
    """What it ran on, who differs, and what changed meanwhile."""
    return pairs((one["label"], _field(one)) for one in found)


def _field(one: Mapping[str, Any]) -> Html:
    unit = one.get("unit")
    also = [f"{name}: {in_unit(text, unit) or 'not known'}" for name, text in sorted(one.get("apart", {}).items())]
    also += [
        f"{instant(at)} {target}: {in_unit(before, unit)} → {in_unit(after, unit)}"
        for at, target, before, after in one.get("changes", ())
    ]
    return inner(in_unit(one["value"], unit), *(tag("div", text, class_="also") for text in also))


def measured(run: Mapping[str, Any]) -> list[tuple[str, Html]]:
    """How it was measured, as people tell."""
    return [(label, inner(run["measured"][key])) for key, label in MEASURED.items() if run["measured"].get(key)]


def events(content: Mapping[str, Any]) -> Html:
    """Marks and events by time, counted from the run's start."""
    start = content["run"]["start"]
    told = [(one["t"], one["kind"], "", one["text"]) for one in content["marks"]]
    told += [(one["t"], one["kind"], one["target"], one["text"]) for one in content["events"]]
    rows = [
        tag(
            "tr",
            tag("td", since(max(t - start, 0)), title=instant(t)),
            *(tag("td", text) for text in (kind, target, said)),
        )
        for t, kind, target, said in sorted(told)[:MOST_EVENTS]
    ]
    if not rows:
        return tag("p", "Nothing happened in it that is worth a mark.", class_="note")
    more = len(told) - MOST_EVENTS
    left = tag("p", f"{more} more are left out.", class_="note") if more > 0 else Html("")
    return inner(table(("After", "What", "Where", "Text"), rows), left)


def benchmark(one: Mapping[str, Any]) -> Html:
    """A client's numbers beside the engine's."""
    said = " ".join(part for part in (one["tool"], one["version"]) if part)
    where = one["overlay"]["how"] if one["overlay"] is not None else "there is no telemetry of its minutes"
    head = inner(tag("h3", said), tag("p", f"{one['file'] or 'imported'}: {where}", class_="note"))
    rows = [
        tag(
            "tr",
            tag("th", pair["label"], scope="row"),
            cell("", pair["client"]),
            cell("", pair["server"]),
            tag("td", "" if pair["difference"] is None else f"{pair['difference']:+.1%}", class_="number"),
            tag("td", pair["note"], class_="note"),
        )
        for pair in one["beside"]
    ]
    rest = [
        tag("tr", tag("th", _labelled(entry), scope="row"), cell("", entry), _noted(entry)) for entry in one["rest"]
    ]
    parts = [table(("", "Client", "Engine", "Apart", "Why they differ"), rows)] if rows else []
    parts += [table(("Only the client tells", "Value", ""), rest)] if rest else []
    how = pairs((name, inner(text)) for name, text in sorted(one["protocol"].items())) if one["protocol"] else Html("")
    return tag("div", head, *parts, how, class_="beside")


def _labelled(entry: Entry) -> str:
    return f"{entry['of']}: {entry['label']}" if entry.get("of") else str(entry["label"])


def _noted(entry: Entry) -> Html:
    return tag("td", entry.get("note", ""), class_="note")


def definitions(summary: Sections) -> Html:
    """What the numbers mean, each once."""
    found: dict[str, str] = {}
    for section in summary:
        for one in section["entries"]:
            if one.get("definition") and not of_node(one):
                found.setdefault(one["label"], one["definition"])
    rows = [tag("div", tag("dt", label), tag("dd", text)) for label, text in found.items()]
    return tag("dl", *rows, class_="definitions")
