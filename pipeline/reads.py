"""Which of an agent's collectors a metric comes from: only its reading says why the metric is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from telemetry import catalog
from telemetry.catalog import host, memory, network
from telemetry.model import Metric

WHOLE_GROUPS = {"gpu": "nvml", "kernel": "kernel", "management": "management", "memory": "memory", "fabric": "fabric"}
"""Group → collector of all its metrics, those below apart."""
APART: dict[str, tuple[Metric, ...]] = {
    "paging": (
        *(memory.SWAP_IN, memory.SWAP_OUT, memory.OOM_KILLS),
        *(memory.COMPACTION_STALLS, memory.COMPACTION_FAILURES, memory.ALLOCATION_STALLS),
    ),
    "pressure": (memory.PRESSURE_WAITING, memory.PRESSURE_STALLED),
    "blocks": (memory.FREE_BLOCKS,),
    "retained": (memory.MEMORY_DRIVER_RETAINED,),
    "fabric links": (network.PCIE_WIDTH, network.PCIE_CAPACITY, network.MTU),
    "fabric counters": (
        *(network.FABRIC_LOSS, network.FABRIC_CONGESTION, network.FABRIC_ERRORS),
        *(network.FABRIC_REQUEST_ERRORS, network.FABRIC_AT_MAXIMUM),
    ),
    "cpu": (host.CPU_BUSY, host.CPU_CORES, host.LOAD, host.UPTIME),
    "sensors": (host.TEMPERATURE,),
    "power": (host.SYSTEM_POWER, host.SYSTEM_ENERGY, host.SYSTEM_POWER_LIMIT, host.PROCESSOR_HOT),
    "disks": (host.DISK_SIZE, host.DISK_AVAILABLE),
    "disk traffic": (host.DISK_READ, host.DISK_WRITTEN),
}
"""Collector → the metrics it reads."""
COLLECTOR_OF = {metric.name: name for name, metrics in APART.items() for metric in metrics}


def collector_of(metric: str) -> str | None:
    """Name of the collector that reads a metric of this name; None for what no collector reads."""
    return COLLECTOR_OF.get(metric) or WHOLE_GROUPS.get(catalog.stored(metric).group)


def why_missing(metric: str, readings: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The sentence of the reading that should have given the metric; None when that went well or says nothing.

    readings: as the agent's state page names them.
    """
    name = collector_of(metric)
    reading = readings.get(name or "", {})
    return f"{name}: {reading['reason']}" if reading.get("outcome", "ok") != "ok" and reading.get("reason") else None
