"""All nodes of a run at one moment, and which of them stand apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dashboard.live.fleet import MAP
from dashboard.run_timeline import by_node, newest
from dashboard.run_view import View
from runs.apart import Least, outliers
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.query import Line

APART = {
    "power": Least(share=0.1),
    "utilization": Least(absolute=0.1),
    "clock": Least(share=0.02),
    "temperature": Least(absolute=5.0),
    "memory": Least(absolute=0.05),
    "interconnect": Least(share=0.2),
}
"""How far a node has to be from the middle one to be marked, by reading."""


def moment(view: View, at_ms: int) -> dict[str, Any]:
    """{at, why, nodes: [{node, values: {reading: value}, apart: {reading: −1 | 1}}]}: each node's newest reading.

    At or before the instant; unknown where it is older than a gap.
    """
    gap = int(view.sources.slowest_ms() * NOMINAL_PER_GAP)
    if view.kept is not None:
        gap = view.kept.step_ms
    near = replace(view, start_ms=at_ms - gap, end_ms=at_ms)
    told: dict[str, dict[str, float | None]] = {node: {} for node in view.nodes}
    apart: dict[str, dict[str, int]] = {node: {} for node in view.nodes}
    for reading in MAP:
        found = near.ask(reading.metric, view.nodes, every=True)
        t_ms, values = by_node(found, reading, view.nodes)
        row = [newest(Line({}, t_ms, own), at_ms, gap) for own in values]
        for node, value, side in zip(view.nodes, row, outliers(row, APART[reading.key]), strict=True):
            told[node][reading.key] = value
            if side:
                apart[node][reading.key] = side
    nodes = [{"node": node, "values": told[node], "apart": apart[node]} for node in view.nodes]
    return {"at": at_ms, "why": near.why, "nodes": nodes}
