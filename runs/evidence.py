"""Which nodes took part: by what their power, utilisation and fabric did while tokens came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from runs.activity import Window, within
from telemetry.catalog import gpu, network
from telemetry.fleet import fold
from telemetry.frame import Bools, Frame
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
    moment = within(machines.ticks.astype(np.float64), active)
    found = {target: _evidence(machines, rows[target], moment) for target in sorted(rows)}
    return {target: text for target, text in found.items() if text}


def _evidence(machines: Frame, rows: Mapping[str, Sequence[int]], moment: Bools) -> str:
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


def _mean(machines: Frame, rows: Mapping[str, Sequence[int]], metric: Metric, moment: Bools) -> float:
    values = fold(machines.values[list(rows.get(metric.name, ()))][:, moment], metric.across)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _rdma(machines: Frame, rows: Sequence[int], moment: Bools) -> float:
    """RDMA bytes per second, both ways, over the steps that end in the moment."""
    if not rows:
        return float("nan")
    steps = np.diff(machines.values[rows], axis=1)[:, moment[1:]]
    known = ~np.isnan(steps)
    took = np.diff(machines.at_ms[rows[0]])[moment[1:]]
    seconds = float(took[known.any(axis=0)].sum()) / 1000.0
    return float(steps[known].sum()) / seconds if seconds > 0 else float("nan")
