"""Cages of nodes in a stretch: bytes that each sent and received, and its largest 10 s, added up slice by slice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
WAYS = {metric.name: way for way, metrics in DIRECTIONS.items() for metric in metrics}
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
        broken = np.asarray(frame.breaks.any(axis=1)).tolist()
        for node, groups in _functions(frame).items():
            sums = _sums(frame, node, groups, broken)
            gained = increase(sums, before_ms, end_ms).tolist()
            peaks = _peaks(sums, before_ms, end_ms, first_ms).tolist()
            for (cage, way), total, peak in zip(groups, gained, peaks, strict=True):
                own = self._gained.setdefault((node, cage), {})
                most = self._peak.setdefault((node, cage), dict.fromkeys(DIRECTIONS, NAN))
                if total == total:
                    own[way] = own.get(way, 0.0) + total
                most[way] = float(np.fmax(most[way], peak))

    def of(self, nodes: Collection[str]) -> list[Cage]:
        """Those of some nodes."""
        places = sorted(place for place in self._gained if place[0] in nodes)
        return [Cage(*place, self._gained[place], self._peak[place]) for place in places]


Functions = dict[tuple[str, str], list[int]]
"""Rows of the functions of a cage, by cage and direction."""


def _functions(frame: Frame) -> dict[str, Functions]:
    """By node, since a node's samples stay in the processor's cache. A function that was never known is no part of a
    cage's sum."""
    found: dict[str, Functions] = {}
    newest = frame.values[:, -1].tolist() if len(frame.ticks) else [NAN] * len(frame.series)
    for row, series in enumerate(frame.series):
        way = WAYS.get(series.metric)
        if way is not None and (newest[row] >= 0 or (frame.values[row] >= 0).any()):
            groups = found.setdefault(series.target, {})
            groups.setdefault((series.label("cage") or "", way), []).append(row)
    return found


def _sums(frame: Frame, node: str, groups: Functions, broken: Sequence[bool]) -> Frame:
    """A counter for each cage and direction: the sum of its functions' counters where all of them are known.

    They are of one page, so known together. broken: rows of the frame that have a break.
    """
    first = [rows[0] for rows in groups.values()]
    values, breaks = frame.values[first], frame.breaks[first]
    for place, (_, *others) in enumerate(groups.values()):
        for row in others:
            values[place] += frame.values[row]
            if broken[row]:
                breaks[place] |= frame.breaks[row]
    made = tuple(Series(node, TRAFFIC, (("cage", cage), ("way", way))) for cage, way in groups)
    return Frame(frame.ticks, made, values, frame.at_ms[first], breaks, frame.gap_ms[first])


def _peaks(frame: Frame, before_ms: int, end_ms: int, first_ms: float) -> Floats:
    """Largest 10 s mean of each row: float64[row], NaN where no window can be measured."""
    low = int(np.searchsorted(frame.ticks, max(before_ms + 1, first_ms + PEAK_MS)))
    high = int(np.searchsorted(frame.ticks, end_ms, side="right"))
    if not len(frame.series) or low >= high:
        return np.full(len(frame.series), np.nan)
    return largest(trailing_increase(frame, PEAK_MS)[:, low:high], 1) / (PEAK_MS / 1000.0)
