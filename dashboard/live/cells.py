"""Cells: one value as text, with its unit, its state and, where it is unknown, the reason."""

from __future__ import annotations

import math

from telemetry import formatting
from telemetry.model import Limits, Unit

Cell = list[str]
"""[text, unit, state, reason]; state is ok, warning, critical or unknown."""

LEVELS = ("ok", "idle", "empty", "unknown", "warning", "critical")
"""Levels from harmless to grave."""


def worst(levels: list[str]) -> str:
    """The gravest of some levels; ok of none."""
    return max(levels, key=LEVELS.index, default="ok")


def level(value: float | None, limits: Limits | None) -> str:
    """ok, warning or critical by the catalogue's limits; unknown for an unknown value."""
    if value is None or math.isnan(value):
        return "unknown"
    if limits is None:
        return "ok"
    sign = -1.0 if limits.low else 1.0
    if limits.critical is not None and sign * value >= sign * limits.critical:
        return "critical"
    return "warning" if sign * value >= sign * limits.warning else "ok"


def cell(value: float | None, unit: Unit, reason: str = "", limits: Limits | None = None) -> Cell:
    """Cell of a value in its base unit; `reason` says why it is unknown, and is dropped where it is known."""
    text, shown_unit = formatting.show(value, unit)
    state = level(value, limits)
    return [text, shown_unit, state, (reason or "no reading") if state == "unknown" else ""]


def words(text: str, state: str = "ok", reason: str = "") -> Cell:
    """Cell of a text that is no number."""
    return [text, "", state, reason]


def unknown(reason: str) -> Cell:
    """Cell of something that is not known."""
    return [formatting.UNKNOWN_TEXT, "", "unknown", reason]
