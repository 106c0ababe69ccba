"""Published results beside our own: a table that says of each that it was not measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.table import Row, panel, table
from runs.references import CAVEAT
from telemetry import formatting
from telemetry.model import Unit

SPEEDS = (("decode", "Decode"), ("peak", "Peak"), ("prefill", "Prefill"))
HEAD = ("Published", *(label for _, label in SPEEDS), "Context", "Deployment", "Source")


def band(found: Sequence[float] | None) -> str:
    """A point or a band of speeds: "20.0 tok/s", "15.0–25.0 tok/s"; "–" where none was published."""
    if found is None:
        return formatting.UNKNOWN_TEXT
    low, high = found
    text = formatting.text(high, Unit.TOKENS_PER_SECOND)
    return text if low == high else f"{formatting.show(low, Unit.TOKENS_PER_SECOND)[0]}–{text}"


def references(found: Sequence[Mapping[str, Any]]) -> Component | None:
    """The panel; None where there is nothing published to show. found: as /api/v1/references tells them."""
    if not found:
        return None
    rows = [
        Row(
            html.Span([one["name"], *([html.Small(one["note"])] if one["note"] else [])], className="reference"),
            [
                *(band(one[key]) for key, _ in SPEEDS),
                one["context"],
                f"{one['engine']}; {one['hardware']}; {one['hosting']}",
                one["source"],
            ],
        )
        for one in found
    ]
    said = html.P(f"{CAVEAT[0].upper()}{CAVEAT[1:]}.", className="note")
    return panel("Published results", said, table(HEAD, rows, "Published results", "references"))
