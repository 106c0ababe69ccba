"""The store on the Status page: sizes, growth, how long the room lasts, what goes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.table import Content, pairs
from telemetry import formatting
from telemetry.model import Unit

UNTOLD = "not known: the collector has not told yet"
YOUNG = "too young to say: it takes three sealed hours"

Store = Mapping[str, Any]


def size(value: float | None) -> str:
    """Bytes, or a dash."""
    return formatting.text(value, Unit.BYTES)


NO_SAMPLE = "nothing was read yet"
NO_SUMMARY = "none yet: an hour is summed up when it is over"


def instant(at_ms: float | None, none: str = "–") -> Content:
    """The browser writes it. none: what is said where there is no such instant."""
    return none if at_ms is None else html.Time("", **{"data-instant": str(round(at_ms))})


def sentence(found: Store) -> str:
    """What somebody must know, "" where that is nothing."""
    if found["level"] == "critical":
        return "The disk is full: new samples wait in the collector's memory for ten minutes, then they are lost."
    early = found["early"]
    if found["level"] == "warning" and early is not None:
        return f"The oldest {early['what']} go before their time: {early['rule']}."
    return ""


def growth(found: Store) -> Content:
    """Per day, of samples and of summaries."""
    rate = found["growth"]
    if rate is None:
        return UNTOLD if found["raw_days"] is None else YOUNG
    samples, summaries = rate["samples_bytes_per_day"], rate["summaries_bytes_per_day"]
    measured = formatting.text(rate["measured_s"], Unit.SECONDS)
    return f"{size(samples + summaries)} a day, {size(summaries)} of it summaries (measured over {measured})"


def lasts(found: Store) -> Content:
    """How long there is room, or where it levels off."""
    if found["growth"] is None:
        return UNTOLD if found["raw_days"] is None else YOUNG
    if found["lasts_s"] is not None:
        return f"{formatting.text(found['lasts_s'], Unit.SECONDS)}, then the oldest samples go before their time"
    return f"for good: it levels off at about {size(found['levels_off_bytes'])}"


def coming(found: Store) -> Content:
    """What goes next, when, and by which rule."""
    one = found["next"]
    if one is None:
        return "nothing"
    return [f"{one['what']} of ", instant(one["hour"]), " at ", instant(one["at_ms"]), f" ({one['rule']})"]


def rules(found: Store) -> Content:
    """What is set."""
    if found["raw_days"] is None:
        return UNTOLD
    limit = found["size_limit_bytes"]
    told = [f"samples {found['raw_days']:g} days", f"summaries {found['summary_months']:g} months"]
    bound = "no size limit" if limit is None else f"at most {size(limit)}"
    told.append(bound if limit is None or found["free_bytes"] is not None else "no size limit on a database server")
    if found["disk_reserve_bytes"] is not None:
        told.append(f"{size(found['disk_reserve_bytes'])} of the disk stay free")
    return ", ".join(told)


def store(found: Store) -> Component:
    """All of it."""
    disk, free = found["disk_free_bytes"], found["free_bytes"]
    entries: list[tuple[str, Content]] = [
        ("Size", size(found["size_bytes"]) + ("" if free is None else f", {size(free)} of it free again")),
        (
            "Disk",
            "not known: the database server does not tell"
            if disk is None
            else f"{size(disk)} of {size(found['disk_bytes'])} free",
        ),
        ("Grows by", growth(found)),
        ("Room for", lasts(found)),
        ("Oldest sample", instant(found["oldest_sample"], NO_SAMPLE)),
        ("Oldest summary", instant(found["oldest_summary"], NO_SUMMARY)),
        ("Goes next", coming(found)),
        ("Kept", rules(found)),
    ]
    said = sentence(found)
    note = [html.P(said, className="note", **{"data-level": found["level"]})] if said else []
    return html.Div([*note, pairs(entries)], className="store")
