"""Cells of machines and fabric: power, energy and bytes per token, interconnect."""

from __future__ import annotations

import math

from dashboard.live import current, unknown
from dashboard.live.cells import Cell, cell
from dashboard.live.reasons import NO_PORT, reason
from dashboard.live.scene import Scene
from telemetry.catalog import cluster, gpu, network
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric, Ratio, Unit

IDLE = "no token in the last minute"


def newest_recorded(scene: Scene, metric: Metric) -> float:
    """A recorded cluster series at the scene's tick; NaN when it was not recorded then."""
    part = scene.engines_of(metric.name)
    values = current.newest(part, scene.tick)
    return float(values[0]) if len(values) else math.nan


def telling(scene: Scene, metric: Metric) -> set[str]:
    """Nodes that tell a metric of all their devices now."""
    told: dict[str, bool] = {}
    for row in scene.node_rows(metric):
        name = scene.nodes.series[row].target
        told[name] = told.get(name, True) and math.isfinite(scene.node_now[row])
    return {name for name, known in told.items() if known}


def concerned(scene: Scene, metric: Metric) -> set[str]:
    """Nodes of which a sum is to be: all, but without those that answer and have no such device.

    An agent tells of every GPU on the bus how it can be read, whether or not the driver answers.
    """
    devices = (metric,) if metric is network.RDMA_TRANSMIT else (metric, gpu.GPU_READING_STATE)
    offering = {scene.nodes.series[row].target for one in devices for row in scene.node_rows(one)}
    return {row.name for row in scene.node_targets if row.name in offering or not scene.alive(row)}


def summed(scene: Scene, value: float, metric: Metric, unit: Unit, why: str) -> Cell:
    """Cell of something that is a sum over nodes; a warning while nodes are missing from it: "15 of 16 nodes"."""
    found = cell(value, unit, why)
    of = concerned(scene, metric)
    missing = of - telling(scene, metric)
    if math.isnan(value) or not missing:
        return found
    return [*found[:2], "warning", f"{len(of) - len(missing)} of {len(of)} nodes"]


def machine_cells(scene: Scene) -> dict[str, Cell]:
    """power, energy_per_token, interconnect, interconnect_per_token."""
    energy, bytes_each = (
        current.whole(ratio, scene.nodes_of(ratio), scene.tick)
        for ratio in (quotients.ENERGY_PER_TOKEN, quotients.INTERCONNECT_PER_TOKEN)
    )
    power, sent = (newest_recorded(scene, metric) for metric in (cluster.CLUSTER_POWER, cluster.CLUSTER_TRANSMIT))
    ports = scene.node_rows(network.RDMA_TRANSMIT) or scene.node_rows(network.NETDEV_TRANSMIT)
    otherwise = "not every port was read" if ports else NO_PORT
    no_port = reason(scene, network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT, otherwise=otherwise)
    per_token = {
        ratio: (ratio.unit, _why(scene, ratio, value))
        for ratio, value in ((quotients.ENERGY_PER_TOKEN, energy), (quotients.INTERCONNECT_PER_TOKEN, bytes_each))
    }
    return {
        "power": summed(scene, power, gpu.GPU_POWER, gpu.GPU_POWER.unit, reason(scene, gpu.GPU_POWER)),
        "energy_per_token": summed(scene, energy, gpu.GPU_ENERGY, *per_token[quotients.ENERGY_PER_TOKEN]),
        "interconnect": summed(scene, sent, network.RDMA_TRANSMIT, cluster.CLUSTER_TRANSMIT.unit, no_port),
        "interconnect_per_token": summed(
            scene, bytes_each, network.RDMA_TRANSMIT, *per_token[quotients.INTERCONNECT_PER_TOKEN]
        ),
    }


def _why(scene: Scene, ratio: Ratio, value: float) -> str:
    """Why something per token is unknown; "" when it is known."""
    if not math.isnan(value):
        return ""
    samples = scene.nodes_of(ratio)
    found = unknown.from_samples(ratio, samples, scene.tick) if len(samples.ticks) else unknown.NOT_OFFERED
    return reason(scene, ratio, otherwise=IDLE if found == unknown.IDLE else found)
