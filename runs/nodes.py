"""Nodes in a stretch: utilisation, power, temperature and clock of each and of all, and time throttled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from runs.apart import Least, furthest
from runs.coverage import touched
from runs.entries import Entry, Number, Section
from runs.extents import Extent
from runs.stretch import Stretch
from telemetry.catalog import gpu
from telemetry.fleet import PEERS_NEEDED
from telemetry.model import Metric, Unit

ROWS: Mapping[str, Metric] = {
    "utilization": gpu.GPU_UTILIZATION,
    "power": gpu.GPU_POWER,
    "temperature": gpu.GPU_TEMPERATURE,
    "clock": gpu.GPU_SM_CLOCK,
}
PARTS = ("min", "mean", "max")
TOOK_PART = Number(
    "took_part", "Nodes that took part", Unit.COUNT, "By what their power, utilisation and RDMA traffic did meanwhile."
)
THROTTLED = Number("throttled", "Throttled time", Unit.SECONDS, gpu.GPU_THROTTLE.help)
THROTTLED_NODE = Number(
    "throttled_on", "Throttled time", Unit.SECONDS, f"{gpu.GPU_THROTTLE.help} All reasons together."
)
THROTTLED_REASON = Number(
    "throttled_by", "Throttled time by reason", Unit.SECONDS, f"{gpu.GPU_THROTTLE.help} All nodes together."
)


SLOWEST = Number(
    "slowest",
    "Slowest node",
    Unit.RATIO,
    "Its SM clock less that of the middle node, as a share of it, over the time in which it was lower by 1 %; of "
    "several such times, and nodes, the one that weighs most: by how much times how long.",
)
HOTTEST = Number(
    "hottest",
    "Hottest node",
    Unit.CELSIUS,
    "Its temperature less that of the middle node, over the time in which it was higher by 3 degrees; of several such "
    "times, and nodes, the one that weighs most: by how much times how long.",
)
NONE_APART = "no node stands out"
FEW_NODES = "fewer than three nodes can be compared"
STANDS_OUT = {SLOWEST: (gpu.GPU_SM_CLOCK, Least(share=0.01)), HOTTEST: (gpu.GPU_TEMPERATURE, Least(absolute=3.0))}


def _number(key: str, metric: Metric, name: str, *, node: bool) -> Number:
    words = {"min": "Least", "mean": "Mean", "max": "Largest"}[name]
    whose = "of the node's readings" if node else "of the readings of all nodes that took part"
    return Number(
        f"{key}_{name}{'_on' if node else ''}",
        f"{metric.label}, {name}",
        metric.unit,
        f"{words} {whose}. {metric.help}",
    )


OVER = {(key, name): _number(key, metric, name, node=False) for key, metric in ROWS.items() for name in PARTS}
ON = {(key, name): _number(key, metric, name, node=True) for key, metric in ROWS.items() for name in PARTS}


def section(stretch: Stretch) -> Section:
    """Over all nodes, then node by node."""
    gaps = {one.target: touched([one], "the node") for one in stretch.node_coverage}
    all_gaps = touched(stretch.node_coverage, "the nodes")
    over: list[Entry] = [TOOK_PART.entry(len(stretch.nodes))]
    each: list[Entry] = []
    for key, metric in ROWS.items():
        extent = stretch.machines.readings[metric.name].extent(stretch.nodes)
        over += _over(key, extent, all_gaps)
        each += _each(key, extent, gaps)
    return Section("nodes", "Nodes", (*over, *_throttled(stretch), *_stand_out(stretch), *each))


def _stand_out(stretch: Stretch) -> list[Entry]:
    """The slowest and the hottest node: by how much, and since when."""
    found = []
    for number, (metric, counts) in STANDS_OUT.items():
        readings = stretch.machines.readings[metric.name]
        nodes, values = readings.binned(stretch.nodes)
        one = furthest(nodes, values, stretch.start_ms, readings.width_ms, counts, below=number is SLOWEST)
        if one is None:
            found.append(number.entry(None, why=NONE_APART if len(nodes) >= PEERS_NEEDED else FEW_NODES))
            continue
        entry = number.entry(one.share if number is SLOWEST else one.by, of=one.node)
        since, until = None if one.from_start else one.start_ms, None if one.to_end else one.end_ms
        found.append(replace(entry, since=since, until=until))
    return found


def _over(key: str, extent: Extent, gaps: str) -> list[Entry]:
    """All nodes: least and largest with the node that had it, the mean of the nodes' means with who is furthest off."""
    some = np.flatnonzero(extent.count > 0)
    if not len(some):
        return [OVER[key, name].entry(None, why="no node tells it") for name in PARTS]
    low, mean, high = (extent.part(name)[some] for name in PARTS)
    names = [extent.nodes[place] for place in some.tolist()]
    apart = len(set(mean.tolist())) > 1
    extremes = f"lowest on {names[int(np.argmin(mean))]}, highest on {names[int(np.argmax(mean))]}" if apart else ""
    rows = (
        (low[np.argmin(low)], names[int(np.argmin(low))]),
        (mean.sum() / len(mean), extremes),
        (high[np.argmax(high)], names[int(np.argmax(high))]),
    )
    count = float(extent.count.sum())
    return [
        OVER[key, name].entry(float(value), count=count, note="; ".join(filter(None, (note, gaps))))
        for name, (value, note) in zip(PARTS, rows, strict=True)
    ]


def _each(key: str, extent: Extent, gaps: Mapping[str, str]) -> list[Entry]:
    return [
        ON[key, name].entry(float(extent.part(name)[place]), count=float(extent.count[place]), of=node, note=gaps[node])
        for place, node in enumerate(extent.nodes)
        if extent.count[place] > 0
        for name in PARTS
    ]


def _throttled(stretch: Stretch) -> list[Entry]:
    """All together, by reason, and by node where it was any."""
    spent = stretch.spent(gpu.GPU_THROTTLE)
    if not spent:
        return [THROTTLED.entry(None, why="no node tells it")]
    by_reason: dict[str, float] = {}
    by_node: dict[str, float] = {}
    for series, seconds in spent:
        reason = series.label("reason") or ""
        by_reason[reason] = by_reason.get(reason, 0.0) + seconds
        by_node[series.target] = by_node.get(series.target, 0.0) + seconds
    return [
        THROTTLED.entry(sum(by_node.values())),
        *(THROTTLED_REASON.entry(seconds, of=reason) for reason, seconds in sorted(by_reason.items())),
        *(THROTTLED_NODE.entry(seconds, of=node) for node, seconds in sorted(by_node.items())),
    ]
