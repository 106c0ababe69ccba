"""Node tiles and the newest column of the map."""

from __future__ import annotations

import math
from typing import Any

from dashboard.live.cells import LEVELS, Cell, cell, worst
from dashboard.live.fleet import MAP, TILE, Columns, Reading, in_order
from dashboard.live.problems import Problem
from dashboard.live.reasons import stored_metrics, target_reason
from dashboard.live.scene import Scene
from storage.records import TargetRow
from telemetry import formatting
from telemetry.frame import Floats
from telemetry.model import Ratio, Unit

DIGITS = 4
"""Significant digits of the numbers that a map is drawn from."""


def node_tiles(scene: Scene, columns: Columns, problems: list[Problem]) -> list[dict[str, Any]]:
    """One object per node: name, state, level, the gravest problem in words, and its cells in the order of TILE."""
    return [_tile(scene, target, columns, problems) for target in scene.node_targets]


def _tile(scene: Scene, target: TargetRow, columns: Columns, problems: list[Problem]) -> dict[str, Any]:
    mine = [problem for problem in problems if problem.target == target.name]
    gravest = max(mine, key=lambda problem: LEVELS.index(problem.level), default=None)
    return {
        "name": target.name,
        "state": target.state,
        "level": worst([problem.level for problem in mine]),
        "text": gravest.text if gravest else "",
        "cells": [_cell(scene, target, reading, columns[reading.key].get(target.name)) for reading in TILE],
    }


def _cell(scene: Scene, target: TargetRow, reading: Reading, value: float | None) -> Cell:
    if value is not None:
        return cell(value, reading.unit, limits=reading.metric.limits)
    names = [metric.name for metric in stored_metrics(reading.metric)]
    return cell(None, reading.unit, target_reason(target, names, scene) or _too_rare(target, reading))


def _too_rare(target: TargetRow, reading: Reading) -> str:
    """Why a node that answers has no such reading: its interval is longer than the window, or it offers none."""
    metric = reading.metric
    if not isinstance(metric, Ratio) or target.interval_ms <= metric.window_s * 1000:
        return f"{target.name} offers no such reading"
    window, every = (formatting.text(seconds, Unit.SECONDS) for seconds in (metric.window_s, target.interval_ms / 1000))
    return f"{window} is not measurable, {target.name} is read every {every}"


def short(value: float) -> float | int | None:
    """A number as short as a map needs it; None for NaN."""
    if not math.isfinite(value):
        return None
    if value == 0:
        return 0
    places = DIGITS - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    return int(rounded) if places <= 0 or rounded == int(rounded) else rounded


def map_columns(scene: Scene, columns: Columns) -> dict[str, list[float | int | None]]:
    """Newest value of every map in the unit it is shown in, one per node in the nodes' order."""
    names = [target.name for target in scene.node_targets]
    return {reading.key: screen(in_order(columns[reading.key], names), reading) for reading in MAP}


def screen(values: Floats, reading: Reading) -> list[float | int | None]:
    """Numbers of a map, as short as its colours and its hover text allow."""
    return [short(value) for value in (values * formatting.AXES[reading.unit].scale).tolist()]


def map_metrics() -> list[dict[str, Any]]:
    """What the maps show, in `unit`; low and high are null where the colours follow what was seen."""
    return [
        {
            "key": reading.key,
            "label": reading.label,
            "unit": formatting.AXES[reading.unit].unit,
            "low": _scaled(reading.low, reading),
            "high": _scaled(reading.high, reading),
        }
        for reading in MAP
    ]


def _scaled(end: float | None, reading: Reading) -> float | None:
    return None if end is None else end * formatting.AXES[reading.unit].scale
