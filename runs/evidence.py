"""Which nodes took part: by what their power, utilisation and fabric did while tokens came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runs.activity import Window, within
from telemetry.catalog import gpu, network
from telemetry.fleet import fold
from telemetry.frame import Bools, Frame, Ints
from telemetry.model import Metric

BUSY_WATTS = 30.0
"""A GPU of a node that draws this much on average does more than wait; idle GB10 draw 4 to 11 W."""
BUSY_SHARE = 0.2
"""Utilisation, on average."""
BUSY_BYTES_PER_SECOND = 1e6
"""RDMA bytes sent and received per second."""
RDMA = (network.RDMA_TRANSMIT.name, network.RDMA_RECEIVE.name)


def taking_part(machines: Frame, active: Sequence[Window]) -> dict[str, str]:
    """Nodes that took part while tokens came, in order of name, each with its evidence in words.

    machines: samples of power, utilisation and RDMA bytes. A node of which nothing is known then did not.
    """
    rows: dict[str, dict[str, list[int]]] = {}
    for row, series in enumerate(machines.series):
        rows.setdefault(series.target, {}).setdefault(series.metric, []).append(row)
    moment = Moment.of(machines.ticks, active)
    found = {target: _evidence(machines, rows[target], moment) for target in sorted(rows)}
    return {target: text for target, text in found.items() if text}


@dataclass(frozen=True)
class Moment:
    """The active windows on a frame's ticks: which lie in one, and where each begins and ends."""

    inside: Bools
    first: Ints
    last: Ints

    @classmethod
    def of(cls, ticks: Ints, active: Sequence[Window]) -> Moment:
        """A window begins at the last tick at or before its start. Those that have no tick before are left out."""
        edges = np.array([(one.start_ms, one.end_ms) for one in active]).reshape(len(active), 2)
        places = np.searchsorted(ticks, edges, side="right") - 1
        whole = places[:, 0] >= 0
        return cls(within(ticks.astype(np.float64), active), places[whole, 0], places[whole, 1])


def _evidence(machines: Frame, rows: Mapping[str, Sequence[int]], moment: Moment) -> str:
    power, share = (_mean(machines, rows, metric, moment) for metric in (gpu.GPU_POWER, gpu.GPU_UTILIZATION))
    rate = _rdma(machines, [row for name in RDMA for row in rows.get(name, ())], moment)
    told = []
    if power >= BUSY_WATTS:
        told.append(f"power {power:.0f} W")
    if share >= BUSY_SHARE:
        told.append(f"utilisation {share:.0%}")
    if rate >= BUSY_BYTES_PER_SECOND:
        told.append(f"RDMA {rate / 1e6:.3g} MB/s")
    return ", ".join(told)


def _mean(machines: Frame, rows: Mapping[str, Sequence[int]], metric: Metric, moment: Moment) -> float:
    values = fold(machines.values[list(rows.get(metric.name, ()))][:, moment.inside], metric.across)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _rdma(machines: Frame, rows: Sequence[int], moment: Moment) -> float:
    """RDMA bytes per second, both ways, in the windows at whose edges they are known."""
    if not rows:
        return float("nan")
    gained = machines.values[np.ix_(rows, moment.last)] - machines.values[np.ix_(rows, moment.first)]
    known = ~np.isnan(gained)
    took = (machines.ticks[moment.last] - machines.ticks[moment.first])[known.any(axis=0)]
    seconds = float(took.sum()) / 1000.0
    return float(gained[known].sum()) / seconds if seconds > 0 else float("nan")
