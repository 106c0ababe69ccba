"""What a client's result says as sections of a summary: counts that are exact, and nothing that it does not know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from runs.entries import Entry, Section
from runs.requests import FINISHED, OUTPUT, PROMPT
from runs.speed import LENGTH

NOTE = "as the client counts"
KNOWN = {
    "seconds": ("speed", "Speed", LENGTH),
    "output": ("requests", "Tokens and requests", OUTPUT),
    "prompt": ("requests", "Tokens and requests", PROMPT),
    "completed": ("requests", "Tokens and requests", FINISHED),
}
"""Key of a client's number → section and entry of a summary that means the same. Speeds and latencies do not."""


def sections(entries: Iterable[Entry]) -> tuple[Section, ...]:
    """Sections with the entries that a client knows."""
    found: dict[str, Section] = {}
    for one in entries:
        if one.of or one.value is None or one.key not in KNOWN:
            continue
        key, label, number = KNOWN[one.key]
        section = found.get(key, Section(key, label, ()))
        entry = number.entry(one.value, note=NOTE)
        found[key] = replace(section, entries=(*section.entries, entry))
    return tuple(found[key] for key in ("speed", "requests") if key in found)
