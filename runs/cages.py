"""Cages of nodes in a stretch: bytes that each sent and received, and its largest 10 s, added up slice by slice."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from telemetry.catalog import network
from telemetry.counters import increase, trailing_increase
from telemetry.frame import Floats, Frame
from telemetry.grid import largest
from telemetry.model import Metric, Series

PEAK_MS = 10_000
DIRECTIONS: Mapping[str, tuple[Metric, Metric]] = {
    "sent": (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT),
    "received": (network.RDMA_RECEIVE, network.NETDEV_RECEIVE),
}
TRAFFIC = "RDMA and TCP/IP bytes of the functions of a cage together."
NAN = float("nan")


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


@dataclass
class Cages:
    """Every cage whose bytes are counted. Slices follow each other."""

    _gained: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    _peak: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)

    def add(self, frame: Frame, before_ms: int, end_ms: int, first_ms: float) -> None:
        """A slice: increases from the last sample at or before `before_ms` on; windows of a peak end after it, and
        begin at `first_ms` or later."""
        for way, metrics in DIRECTIONS.items():
            places, sums = _by_cage(frame, {metric.name for metric in metrics})
            gained = increase(sums, before_ms, end_ms).tolist()
            peaks = _peaks(sums, before_ms, end_ms, first_ms).tolist()
            for place, total, peak in zip(places, gained, peaks, strict=True):
                own, most = self._gained.setdefault(place, {}), self._peak.setdefault(place, {})
                if total == total:
                    own[way] = own.get(way, 0.0) + total
                most[way] = float(np.fmax(most.get(way, NAN), peak))

    def of(self, nodes: Collection[str]) -> list[Cage]:
        """Those of some nodes."""
        places = sorted(place for place in self._gained if place[0] in nodes)
        return [Cage(*place, self._gained[place], self._peak[place]) for place in places]


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


def _peaks(frame: Frame, before_ms: int, end_ms: int, first_ms: float) -> Floats:
    """Largest 10 s mean of each row: float64[row], NaN where no window can be measured."""
    if not len(frame.series):
        return np.zeros(0)
    moved = trailing_increase(frame, PEAK_MS)
    ticks = frame.ticks
    candidate = (ticks > before_ms) & (ticks - PEAK_MS >= first_ms) & (ticks <= end_ms)
    return largest(np.where(candidate, moved, np.nan), 1) / (PEAK_MS / 1000.0)
