"""Published results beside our own: a table that says of each that it was not measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.comparison_words import shown
from dashboard.components.table import Row, panel, table
from exchange.bundle import NAMED
from runs.references import CAVEAT
from telemetry import formatting
from telemetry.model import Unit

SPEEDS = (("decode", "Decode"), ("peak", "Peak"), ("prefill", "Prefill"))
OWN = {"decode": "decode_mean", "peak": "decode_peak", "prefill": "prefill_throughput"}
"""Entries of a run's summary that stand beside the published speeds."""
HERE, ELSEWHERE = "measured here", "measured by another installation"
HEAD = ("", *(label for _, label in SPEEDS), "Context", "Deployment", "Source")


def band(found: Sequence[float] | None) -> str:
    """A point or a band of speeds: "20.0 tok/s", "15.0–25.0 tok/s"; "–" where none was published."""
    if found is None:
        return formatting.UNKNOWN_TEXT
    low, high = found
    text = shown(high, Unit.TOKENS_PER_SECOND)
    return text if low == high else f"{formatting.show(low, Unit.TOKENS_PER_SECOND)[0]}–{text}"


Measured = tuple[str, str, Mapping[str, float | None]]
"""Name of a run, where it was measured, and its speeds by the keys of `SPEEDS`."""


def source(deployment: str) -> str:
    """Where the runs of a deployment were measured."""
    return ELSEWHERE if deployment.startswith(NAMED) else HERE


def measured(run: Mapping[str, Any], summary: Sequence[Mapping[str, Any]]) -> list[Measured]:
    """A run's own speeds, from its summary; nothing where none is known."""
    speed = next((one["entries"] for one in summary if one["key"] == "speed"), ())
    values = {one["key"]: one["value"] for one in speed if not one.get("of")}
    own = {key: values.get(OWN[key]) for key, _ in SPEEDS}
    known = any(value is not None for value in own.values())
    return [(run["name"], source(run["deployment"]), own)] if known else []


def references(found: Sequence[Mapping[str, Any]], own: Sequence[Measured] = ()) -> Component | None:
    """The panel; None where there is nothing published to show. found: as /api/v1/references tells them."""
    if not found:
        return None
    here = [
        Row(html.Span(name), [*(_point(speeds[key]) for key, _ in SPEEDS), "", "", where])
        for name, where, speeds in own
    ]
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
    said = html.P(f"Published: {CAVEAT}.", className="note")
    return panel("Published results", said, table(HEAD, [*here, *rows], "Published results", "references"))


def _point(value: float | None) -> str:
    return shown(value, Unit.TOKENS_PER_SECOND)
