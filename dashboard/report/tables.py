"""Tables of a report: key numbers, sections, nodes, fingerprint, events, benchmarks, definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dashboard.components import run_nodes
from dashboard.report.sections import ON, Sections, of_node
from dashboard.report.tags import Entry, Html, cell, in_unit, inner, shown, table, tag
from dashboard.report.times import instant, since
from telemetry import formatting
from telemetry.model import Unit

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
PER_NODE = (*run_nodes.PER_NODE, ("energy", "Energy"))
STANDING_OUT = ("slowest", "hottest")
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
        note = tag("div", str((entry or {}).get("note", "")), class_="note")
        large.append(
            tag("div", tag("div", label, class_="label"), value, note, class_=f"hero{'' if place else ' first'}")
        )
    small = [(path, entry) for path in TILES if (entry := find(summary, path)) is not None and entry["value"]]
    tiles = [
        tag(
            "div",
            tag("div", entry["label"], class_="label"),
            tag("div", shown(entry), class_="value", **_exactly(path, entry)),
            class_="tile",
        )
        for path, entry in small
    ]
    rest = tag("div", *tiles, class_="tiles") if tiles else Html("")
    return tag("div", tag("div", *large, class_="heroes"), rest, class_="numbers")


def _exactly(path: str, entry: Entry | None) -> dict[str, str]:
    return {"data_key": path, "data_value": repr(entry["value"])} if entry and entry["value"] is not None else {}


def nodes(summary: Sections, start_ms: int) -> Html | None:
    """Node by node, those that stand out marked; None where there are none."""
    section = next((one for one in summary if one["key"] == "nodes"), {"entries": ()})
    found: dict[str, dict[str, Entry]] = {}
    for one in (one for each in summary for one in each["entries"]):
        if of_node(one):
            found.setdefault(one.get("of", ""), {})[one["key"].removesuffix(ON)] = one
    if not found:
        return None
    apart: dict[str, list[str]] = {}
    for one in section["entries"]:
        if one["key"] in STANDING_OUT and one.get("of"):
            apart.setdefault(one.get("of", ""), []).append(one["key"])
    known = [(key, label) for key, label in PER_NODE if any(key in own for own in found.values())]
    rows = [
        tag(
            "tr",
            tag("th", name, *(tag("span", word, class_="chip") for word in apart.get(name, ())), scope="row"),
            *(cell(f"{_section(key)}.{key}{ON}", own.get(key)) for key, _ in known),
        )
        for name, own in sorted(found.items())
    ]
    told = [_apart(one, start_ms) for one in section["entries"] if one["key"] in STANDING_OUT and one.get("of")]
    said = tag("p", " ".join(told), class_="note") if told else Html("")
    return inner(said, table(("Node", *(label for _, label in known)), rows, class_="nodes"))


def _section(key: str) -> str:
    return "energy" if key == "energy" else "nodes"


def _apart(entry: Entry, start_ms: int) -> str:
    """By how much a node stands out, and when."""
    when = "all the time" if entry.get("since") is None else f"from {since(entry['since'] - start_ms)} on"
    if entry.get("since") is not None and entry.get("until") is not None:
        when = f"from {since(entry['since'] - start_ms)} to {since(entry['until'] - start_ms)}"
    return f"{entry['label']}: {entry['of']}, {formatting.text(entry['value'], Unit(entry['unit']))} {when}."


def quality(summary: Sections) -> str:
    """How well the run was watched, in one sentence; "" where nothing tells."""
    section = next((one for one in summary if one["key"] == "quality"), {"entries": ()})
    known: dict[str, dict[str, float]] = {}
    for one in section["entries"]:
        if one.get("of") and one["value"] is not None:
            known.setdefault(one["of"], {})[one["key"]] = one["value"]
    said = [_watched(name, own) for name, own in known.items()]
    trouble = [one for one in said if one]
    return "; ".join(trouble) if trouble else "every reading was there, without a gap or a restart" if said else ""


def _watched(name: str, own: Mapping[str, float]) -> str:
    """What touches the numbers of a target; "" nothing."""
    parts = []
    if own.get("gaps"):
        lost = formatting.text(own.get("gap_seconds"), Unit.SECONDS)
        parts.append(f"{own['gaps']:g} gap{'' if own['gaps'] == 1 else 's'}, {lost} in all")
    if own.get("restarts"):
        parts.append(f"{own['restarts']:g} restart{'' if own['restarts'] == 1 else 's'}")
    share = own.get("ticks_share")
    if not parts and share is not None and share < 1:
        parts.append(f"{formatting.text(share, Unit.RATIO)} of the readings")
    return f"{name}: {', '.join(parts)}" if parts else ""


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


def alert(one: Mapping[str, Any]) -> str:
    """What an alert said, and for how long it fired."""
    if one["end"] is None:
        lasted = "still fires" if one["alert"] is not None else "still fired when the run was exported"
    else:
        lasted = f"fired for {formatting.span((one['end'] - one['t']) / 1000)}"
    return f"{one['text']}; {lasted}"


def events(content: Mapping[str, Any]) -> Html:
    """Marks, events and alerts by time, counted from the run's start."""
    start = content["run"]["start"]
    told = [(one["t"], one["kind"], "", one["text"]) for one in content["marks"]]
    told += [(one["t"], one["kind"], one["target"], one["text"]) for one in content["events"]]
    told += [(one["t"], f"{one['severity']} alert", one["target"], alert(one)) for one in content["alerts"]]
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
