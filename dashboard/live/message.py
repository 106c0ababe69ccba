"""The message of one tick: cards put together. The shape is that of docs/live.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.live import alarms
from dashboard.live.cache import cache_cells
from dashboard.live.cells import Cell, words
from dashboard.live.concerns import concerns
from dashboard.live.fleet import columns
from dashboard.live.latency import latency_cells
from dashboard.live.machine import machine_cells
from dashboard.live.nodes import map_columns, node_tiles
from dashboard.live.points import points, rates
from dashboard.live.reference import Baselines
from dashboard.live.scene import Scene
from dashboard.live.sentence import Sentence, sentence
from dashboard.live.speed import speed_cells
from dashboard.live.why import why_rows
from telemetry.roofline import Weights

LATENCY_EVERY_MS = 5_000
PREFILLS_MS = 60_000
"""Finished prefills are told again for this long, so that a client that missed one message misses none of them."""


@dataclass
class Builder:
    """Makes messages from scenes; keeps only what is too dear to compute each second.

    figures: what the model of each deployment weighs.
    """

    figures: Mapping[str, Weights] = field(default_factory=dict)
    baselines: Baselines = field(default_factory=Baselines)
    latency: dict[str, Cell] = field(default_factory=dict)
    latency_tick: int | None = None

    def wants_latency(self, tick: int) -> bool:
        """Whether the percentiles are due again: windows of minutes need no second's precision."""
        return self.latency_tick is None or not 0 <= tick - self.latency_tick < LATENCY_EVERY_MS

    def message(self, scene: Scene) -> dict[str, Any]:
        """The whole message of a scene's tick."""
        node_readings = columns(scene)
        problems = concerns(scene)
        told = sentence(scene, problems)
        against = self.baselines.at(scene)
        rows, cause = why_rows(scene, node_readings, against, self.figures)
        if scene.latency is not None or not self.latency:
            self.latency, self.latency_tick = latency_cells(scene), scene.tick
        cells = speed_cells(scene) | self.latency | cache_cells(scene) | machine_cells(scene)
        cells |= {"why": cause, "why.against": words(against.told)}
        recent = tuple(episode for episode in scene.episodes if episode.end_ms > scene.tick - PREFILLS_MS)
        return {
            "tick": scene.tick,
            "age_ms": max(scene.now_ms - scene.seen_ms, 0),
            "sentence": told.as_json(),
            "title": title(told, cells),
            "alerts": alarms.counted(scene.alerts),
            "cells": cells,
            "nodes": node_tiles(scene, node_readings, problems),
            "why": rows,
            "points": points(scene, node_readings) | {"prefills": rates(recent)},
            "map": map_columns(scene, node_readings),
        }


def title(told: Sentence, cells: Mapping[str, Cell]) -> str:
    """Title of the browser's tab: the speed, or what is the matter."""
    if told.level == "critical":
        return f"⚠ {told.text.split(' · ')[0]} · Tachograph"
    text, unit, state, _ = cells["decode.now"]
    return "Tachograph" if state == "unknown" else f"{text} {unit} · Tachograph"
