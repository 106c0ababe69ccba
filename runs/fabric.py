"""The interconnect in a stretch: mean and peak of each cage, bytes per token, trouble."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runs.coverage import touched
from runs.entries import Entry, Number, Section
from runs.stretch import FABRIC_TROUBLE, Stretch, names
from telemetry.catalog import network
from telemetry.counters import increase, trailing_increase
from telemetry.frame import Floats, Frame
from telemetry.grid import largest
from telemetry.model import Metric, Series, Unit

RATE = Unit.NETWORK_BYTES_PER_SECOND
PEAK_MS = 10_000
DIRECTIONS: Mapping[str, tuple[Metric, Metric]] = {
    "sent": (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT),
    "received": (network.RDMA_RECEIVE, network.NETDEV_RECEIVE),
}
TRAFFIC = "RDMA and TCP/IP bytes of the functions of a cage together."

SENT = Number("sent", "Interconnect, sent", Unit.BYTES, "RDMA and TCP/IP bytes that the nodes sent over the fabric.")
SENT_MEAN = Number("sent_mean", "Interconnect, mean", RATE, "Bytes that the nodes sent ∕ length of the stretch.")
PER_TOKEN = Number(
    "per_token", "Interconnect per output token", Unit.BYTES_PER_TOKEN, "Bytes that the nodes sent ∕ output tokens."
)
CAGE_MEAN = {
    way: Number(f"cage_{way}_mean", f"Cage, {way}, mean", RATE, f"{TRAFFIC} Bytes {way} ∕ length of the stretch.")
    for way in DIRECTIONS
}
CAGE_PEAK = {
    way: Number(
        f"cage_{way}_peak",
        f"Cage, {way}, peak",
        RATE,
        f"{TRAFFIC} Largest mean of 10 s that lies in the stretch and touches neither a gap nor a restart.",
    )
    for way in DIRECTIONS
}
BUSIEST = Number("busiest_peak", "Busiest cage, peak", RATE, "The largest of the cages' peaks, sent or received.")
TROUBLE = {
    metric.name: Number(f"{metric.name.removesuffix('_total')}", metric.label, Unit.COUNT, metric.help)
    for metric in FABRIC_TROUBLE
}
TROUBLE_ON = {
    metric.name: Number(f"{metric.name.removesuffix('_total')}_on", metric.label, Unit.COUNT, metric.help)
    for metric in FABRIC_TROUBLE
}


@dataclass(frozen=True, slots=True)
class Cage:
    """One cage of a node. gained: bytes by direction; peak: bytes per second by direction, NaN not measurable."""

    node: str
    name: str
    gained: Mapping[str, float]
    peak: Mapping[str, float]

    @property
    def label(self) -> str:
        """What people call it: "spark-03 p1"."""
        return f"{self.node} {self.name}".strip()


def section(stretch: Stretch) -> Section:
    """All nodes together, then cage by cage; cages without traffic are left out."""
    found = [one for one in cages(stretch) if sum(one.gained.values()) > 0]
    entries = (*_sums(stretch, found), *_trouble(stretch), *_cages(stretch, found))
    return Section("fabric", "Interconnect", entries)


def cages(stretch: Stretch) -> list[Cage]:
    """Every cage whose bytes are counted."""
    found: dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]] = {}
    for way, metrics in DIRECTIONS.items():
        places, sums = _by_cage(stretch.machines, names(metrics))
        gained = increase(sums, stretch.start_ms, stretch.end_ms).tolist()
        for place, total, peak in zip(places, gained, _peaks(sums, stretch).tolist(), strict=True):
            both = found.setdefault(place, ({}, {}))
            if total == total:
                both[0][way] = total
            both[1][way] = peak
    return [Cage(node, name, *both) for (node, name), both in sorted(found.items())]


def _by_cage(frame: Frame, metrics: Collection[str]) -> tuple[list[tuple[str, str]], Frame]:
    """Nodes and cages, and a counter for each: the sum of its functions' counters where all of them are known.

    They are of one page, so known together. A function that was never known is not part of the sum.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for row, series in enumerate(frame.series):
        if series.metric in metrics and (frame.values[row] >= 0).any():
            groups.setdefault((series.target, series.label("cage") or ""), []).append(row)
    first = [rows[0] for rows in groups.values()]
    values, breaks = frame.values[first], frame.breaks[first]
    for place, (_, *others) in enumerate(groups.values()):
        for row in others:  # several times faster than one call that adds along this axis
            values[place] += frame.values[row]
            breaks[place] |= frame.breaks[row]
    made = tuple(Series(node, TRAFFIC, (("cage", cage),)) for node, cage in groups)
    sums = Frame(frame.ticks, made, values, frame.at_ms[first], breaks, frame.gap_ms[first])
    return list(groups), sums


def _peaks(frame: Frame, stretch: Stretch) -> Floats:
    """Largest 10 s mean of each row: float64[row], NaN where no window can be measured."""
    if not len(frame.series):
        return np.zeros(0)
    moved = trailing_increase(frame, PEAK_MS)
    before = frame.ticks[frame.ticks <= stretch.start_ms]
    first = float(before[-1]) if len(before) else stretch.start_ms
    candidate = (frame.ticks - PEAK_MS >= first) & (frame.ticks <= stretch.end_ms)
    return largest(np.where(candidate, moved, np.nan), 1) / (PEAK_MS / 1000.0)


def _sums(stretch: Stretch, found: Sequence[Cage]) -> list[Entry]:
    told = [one.gained["sent"] for one in found if "sent" in one.gained]
    seconds, tokens = stretch.subject.seconds, stretch.output_tokens
    if not told:
        return [number.entry(None, why="no traffic is known") for number in (SENT, SENT_MEAN, PER_TOKEN, BUSIEST)]
    gaps = touched(stretch.node_coverage, "the nodes")
    sent = sum(told)
    peaks = {(one.label, way): value for one in found for way, value in one.peak.items() if value == value}
    busiest = max(peaks, key=lambda place: peaks[place], default=None)
    return [
        SENT.entry(sent, note=gaps),
        SENT_MEAN.entry(sent / seconds if seconds > 0 else None, note=gaps),
        PER_TOKEN.entry(
            sent / tokens if tokens > 0 else None, note=gaps if tokens > 0 else "", why="no output token came"
        ),
        BUSIEST.entry(None, why="no window of 10 s without a gap")
        if busiest is None
        else BUSIEST.entry(peaks[busiest], note="{}, {}".format(*busiest)),
    ]


def _cages(stretch: Stretch, found: Sequence[Cage]) -> list[Entry]:
    gaps = {one.target: touched([one], "the node") for one in stretch.node_coverage}
    seconds = stretch.subject.seconds
    entries = []
    for one in found:
        for way in DIRECTIONS:
            if way not in one.gained:
                continue
            mean = one.gained[way] / seconds if seconds > 0 else None
            entries.append(CAGE_MEAN[way].entry(mean, of=one.label, note=gaps[one.node]))
            peak = one.peak[way]
            note = gaps[one.node] if peak == peak else ""
            entries.append(CAGE_PEAK[way].entry(peak, of=one.label, note=note, why="no window of 10 s without a gap"))
    return entries


def _trouble(stretch: Stretch) -> list[Entry]:
    """Errors of each kind over all nodes, and of the nodes that had any."""
    entries = []
    for metric in FABRIC_TROUBLE:
        by_node: dict[str, float] = {}
        for series, gained in stretch.spent(metric):
            by_node[series.target] = by_node.get(series.target, 0.0) + gained
        total = sum(by_node.values()) if by_node else None
        entries.append(TROUBLE[metric.name].entry(total, why="no node tells it"))
        entries += [
            TROUBLE_ON[metric.name].entry(value, of=node) for node, value in sorted(by_node.items()) if value > 0
        ]
    return entries
