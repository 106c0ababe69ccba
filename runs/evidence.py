"""Which nodes took part: by what their power, utilisation and fabric did while tokens came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runs.activity import Window, within
from telemetry.catalog import gpu, network
from telemetry.fleet import fold
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Metric

Sums = Floats
BUSY_WATTS = 30.0
"""A GPU of a node that draws this much on average does more than wait; idle GB10 draw 4 to 11 W."""
BUSY_SHARE = 0.2
"""Utilisation, on average."""
BUSY_BYTES_PER_SECOND = 1e6
"""RDMA bytes sent and received per second."""
RDMA = (network.RDMA_TRANSMIT.name, network.RDMA_RECEIVE.name)


@dataclass
class _Own:
    """What speaks for one node so far: Σ and number of its readings, bytes and the seconds in which they came."""

    power: Sums = field(default_factory=lambda: np.zeros(2))
    share: Sums = field(default_factory=lambda: np.zeros(2))
    rdma: Sums = field(default_factory=lambda: np.zeros(2))

    def told(self) -> str:
        """In words, "" where nothing does."""
        power, share, rate = (
            one[0] / one[1] if one[1] > 0 else float("nan") for one in (self.power, self.share, self.rdma)
        )
        told = []
        if power >= BUSY_WATTS:
            told.append(f"power {power:.0f} W")
        if share >= BUSY_SHARE:
            told.append(f"utilisation {share:.0%}")
        if rate >= BUSY_BYTES_PER_SECOND:
            told.append(f"RDMA {rate / 1e6:.3g} MB/s")
        return ", ".join(told)


@dataclass
class Evidence:
    """Which nodes took part while tokens came: added up slice by slice."""

    _nodes: dict[str, _Own] = field(default_factory=dict)

    def add(self, machines: Frame, active: Sequence[Window]) -> None:
        """machines: samples of power, utilisation and RDMA bytes; active: windows, as far as they lie in the slice."""
        rows: dict[str, dict[str, list[int]]] = {}
        for row, series in enumerate(machines.series):
            rows.setdefault(series.target, {}).setdefault(series.metric, []).append(row)
        moment = Moment.of(machines.ticks, active)
        for target, mine in rows.items():
            own = self._nodes.setdefault(target, _Own())
            own.power += _readings(machines, mine, gpu.GPU_POWER, moment)
            own.share += _readings(machines, mine, gpu.GPU_UTILIZATION, moment)
            own.rdma += _rdma(machines, [row for name in RDMA for row in mine.get(name, ())], moment)

    def told(self) -> dict[str, str]:
        """Nodes that took part, in order of name, each with its evidence in words.

        A node of which nothing is known then did not.
        """
        found = {target: self._nodes[target].told() for target in sorted(self._nodes)}
        return {target: text for target, text in found.items() if text}


@dataclass(frozen=True)
class Moment:
    """The active windows on a frame's ticks: which lie in one, and where each begins and ends."""

    inside: Bools | slice
    first: Ints
    last: Ints

    @classmethod
    def of(cls, ticks: Ints, active: Sequence[Window]) -> Moment:
        """A window begins at the last tick at or before its start. Those that have no tick before are left out."""
        edges = np.array([(one.start_ms, one.end_ms) for one in active]).reshape(len(active), 2)
        places = np.searchsorted(ticks, edges, side="right") - 1
        whole = places[:, 0] >= 0
        return cls(_together(within(ticks.astype(np.float64), active)), places[whole, 0], places[whole, 1])


def _together(inside: Bools) -> Bools | slice:
    """As a slice where they stand together, which is looked at without a copy."""
    places = np.flatnonzero(inside)
    if not len(places) or int(places[-1] - places[0]) + 1 != len(places):
        return inside
    return slice(int(places[0]), int(places[-1]) + 1)


def _readings(machines: Frame, rows: Mapping[str, Sequence[int]], metric: Metric, moment: Moment) -> Sums:
    """Σ and number of the readings in the windows."""
    mine = rows.get(metric.name, ())
    if len(mine) == 1:
        values = machines.values[mine[0], moment.inside]
    else:
        values = fold(machines.values[list(mine)][:, moment.inside], metric.across)
    known = values[~np.isnan(values)]
    return np.array([known.sum(), len(known)])


def _rdma(machines: Frame, rows: Sequence[int], moment: Moment) -> Sums:
    """RDMA bytes, both ways, and the seconds in which they came, in the windows at whose edges they are known."""
    if not rows:
        return np.zeros(2)
    mine = np.array(rows)
    gained = machines.values[np.ix_(mine, moment.last)] - machines.values[np.ix_(mine, moment.first)]
    known = ~np.isnan(gained)
    took = (machines.ticks[moment.last] - machines.ticks[moment.first])[known.any(axis=0)]
    return np.array([gained[known].sum(), float(took.sum()) / 1000.0])
