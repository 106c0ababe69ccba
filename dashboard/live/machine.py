"""Cells of machines and fabric: power, energy and bytes per token, interconnect."""

from __future__ import annotations

import math

from dashboard.live import current
from dashboard.live.cells import Cell, cell
from dashboard.live.reasons import reason
from dashboard.live.scene import Scene
from telemetry.catalog import cluster, gpu, network
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric

IDLE = "no token in the last minute"


def newest_recorded(scene: Scene, metric: Metric) -> float:
    """A recorded cluster series at the scene's tick; NaN when it was not recorded then."""
    part = scene.engines.select(lambda series: series.metric == metric.name)
    values = current.newest(part, scene.tick)
    return float(values[0]) if len(values) else math.nan


def machine_cells(scene: Scene) -> dict[str, Cell]:
    """power, energy_per_token, interconnect, interconnect_per_token."""
    energy, bytes_each = (
        current.whole(ratio, scene.nodes_of(ratio), scene.tick)
        for ratio in (quotients.ENERGY_PER_TOKEN, quotients.INTERCONNECT_PER_TOKEN)
    )
    return {
        "power": cell(newest_recorded(scene, cluster.CLUSTER_POWER), gpu.GPU_POWER.unit, reason(scene, gpu.GPU_POWER)),
        "energy_per_token": cell(
            energy, quotients.ENERGY_PER_TOKEN.unit, reason(scene, quotients.ENERGY_PER_TOKEN, otherwise=IDLE)
        ),
        "interconnect": cell(
            newest_recorded(scene, cluster.CLUSTER_TRANSMIT),
            cluster.CLUSTER_TRANSMIT.unit,
            reason(scene, network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT, otherwise="no fabric port was found"),
        ),
        "interconnect_per_token": cell(
            bytes_each,
            quotients.INTERCONNECT_PER_TOKEN.unit,
            reason(scene, quotients.INTERCONNECT_PER_TOKEN, otherwise=IDLE),
        ),
    }
