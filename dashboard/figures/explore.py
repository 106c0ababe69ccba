"""What Explore draws first and in which colours; the drawing itself is `assets/explore`."""

from __future__ import annotations

from telemetry.catalog import gpu
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric, Ratio

DEFAULT_METRICS: tuple[Metric | Ratio, ...] = (
    quotients.DECODE_TPS,
    gpu.GPU_POWER,
    gpu.GPU_SM_CLOCK,
    quotients.INTERCONNECT_TRANSMIT,
)
"""Shown where the address names none: the speed, and what most often explains it."""

GROUPS = (
    ("tokens", "Tokens"),
    ("latency", "Latency"),
    ("speculative", "Speculative decoding"),
    ("engine", "Engine"),
    ("gpu", "GPU"),
    ("memory", "Memory"),
    ("fabric", "Fabric"),
    ("host", "Host"),
    ("disk", "Disk"),
    ("management", "Management network"),
    ("kernel", "Kernel log"),
    ("cluster", "Recorded of the whole"),
    ("monitor", "Monitoring itself"),
    ("agent", "Agent"),
)
"""(group of the catalogue, its heading), in the order of the picker; a group that is not here comes last."""

SERIES_COLOURS = tuple(f"series-{number}" for number in range(1, 9))
"""Names in the theme; lines beyond these take them again with another stroke."""
