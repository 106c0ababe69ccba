"""Every number of a run: a list per section, latencies as a matrix, what is not known in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dashboard.report.tags import Entry, Html, cell, shown, table, tag
from telemetry import formatting
from telemetry.model import Unit

Sections = Sequence[Mapping[str, Any]]
ON = "_on"
"""Ends the keys of a node's own entries."""
LEVELS = ("mean", "p50", "p95", "p99")
MATRIX = "latency"
MANY, FOLDED = 2, 16
"""More entries of one kind than these share a row, and are folded away."""


def of_node(entry: Entry) -> bool:
    """Whether an entry is of one node, and stands in their table."""
    return str(entry["key"]).endswith(ON)


def sections(summary: Sections) -> Html:
    """Every number but those of single nodes."""
    found = []
    for section in summary:
        own = [one for one in section["entries"] if not of_node(one)]
        known = [one for one in own if one["value"] is not None]
        if own:
            body = matrix(known) if section["key"] == MATRIX else table(("", ""), rows(section["key"], known))
            said = unknown(own)
            found.append(tag("div", tag("h3", section["label"]), body if known else Html(""), said))
    return tag("div", *found, class_="columns")


def rows(section: str, known: Sequence[Entry]) -> Iterable[Html]:
    """A row per entry, or per kind of entry where there are many of it."""
    kinds: dict[str, list[Entry]] = {}
    for one in known:
        kinds.setdefault(one["key"], []).append(one)
    for key, several in kinds.items():
        if len(several) > MANY:
            yield _many(section, several)
        else:
            yield from (_row(f"{section}.{key}", one) for one in several)


def _row(path: str, entry: Entry) -> Html:
    label = f"{entry['label']} · {entry['of']}" if entry.get("of") else entry["label"]
    return tag("tr", tag("th", label, _note(entry), scope="row"), cell(path, entry))


def _note(entry: Entry) -> Html:
    count = entry.get("count")
    of = "" if count is None else f"of {formatting.text(count, Unit.COUNT)}"
    said = "; ".join(part for part in (of, entry.get("note", "")) if part)
    return tag("div", said, class_="note") if said else Html("")


def _many(section: str, several: Sequence[Entry]) -> Html:
    parts = [
        tag(
            "span",
            f"{one.get('of') or one['label']}\u00a0",
            tag("b", shown(one)),
            data_key=f"{section}.{one['key']}",
            data_of=one.get("of", ""),
            data_value=repr(one["value"]),
        )
        for one in several
    ]
    shown_all = tag("div", *(parts if len(parts) <= FOLDED else [_folded(several, parts)]), class_="many")
    notes = dict.fromkeys(one["note"] for one in several if one.get("note"))
    said = [tag("div", "; ".join(notes), class_="note")] if notes else []
    return tag("tr", tag("td", several[0]["label"], *said, shown_all, colspan=2))


def _folded(several: Sequence[Entry], parts: Sequence[Html]) -> Html:
    """Behind one click, with the range that they span."""
    values, unit = [one["value"] for one in several], Unit(several[0]["unit"])
    low, high = (formatting.text(one, unit) for one in (min(values), max(values)))
    span = low if low == high else f"{low} to {high}"
    return tag("details", tag("summary", f"{len(several)} of them: {span}"), tag("div", *parts, class_="many"))


def matrix(known: Sequence[Entry]) -> Html:
    """Latencies: a row per kind, its mean and percentiles beside each other."""
    kinds: dict[str, dict[str, Entry]] = {}
    for one in known:
        name, _, level = one["key"].rpartition("_")
        kinds.setdefault(name, {})[level] = one
    found = []
    for name, own in kinds.items():
        first = next(iter(own.values()))
        count = first.get("count")
        of = Html("") if count is None else tag("div", f"of {formatting.text(count, Unit.COUNT)}", class_="note")
        label = first["label"].rpartition(", ")[0]
        cells = [cell(f"{MATRIX}.{name}_{level}", own.get(level)) for level in LEVELS]
        found.append(tag("tr", tag("th", label, of, scope="row"), *cells))
    return table(("", *LEVELS), found, class_="matrix")


def unknown(own: Sequence[Entry]) -> Html:
    """What is not known, by the reason."""
    reasons: dict[str, list[str]] = {}
    for one in own:
        if one["value"] is None:
            label = f"{one['label']} ({one['of']})" if one.get("of") else one["label"]
            reasons.setdefault(one.get("note", "") or "not known", []).append(label)
    told = [f"{', '.join(labels)}: {reason}." for reason, labels in reasons.items()]
    return tag("p", " ".join(told), class_="note missing") if told else Html("")


def definitions(summary: Sections) -> Html:
    """What the known numbers mean, each text once; percentiles are all worked out as the first is."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for section in summary:
        for one in section["entries"]:
            text, level = one.get("definition", ""), one["key"].rpartition("_")[2]
            if not text or one["value"] is None or of_node(one):
                continue
            if section["key"] == MATRIX and level in LEVELS[1:]:
                if level in seen:
                    continue
                seen.add(level)
            found.setdefault(text, one["label"])
    said = [tag("div", tag("dt", label), tag("dd", text)) for text, label in found.items()]
    return tag("dl", *said, class_="definitions")
