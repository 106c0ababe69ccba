"""Points of the three plots: at the newest tick, and over what was recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dashboard.live.fleet import Columns, cage_rates, extreme, in_order
from dashboard.live.machine import newest_recorded
from dashboard.live.scene import Scene
from storage.records import Episode
from telemetry.catalog import cluster
from telemetry.catalog import ratios as quotients
from telemetry.frame import Ints

APART = 0.10
"""A node is named as outlier of utilisation when it is this far from the mean."""


def known(value: float) -> float | None:
    """A number for JSON; None for NaN."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def points(scene: Scene, columns: Columns) -> dict[str, Any]:
    """Newest point of every line, base units; None where unknown. Prefill is known only once a prefill has ended."""
    use = columns["utilization"]
    values = in_order(use, list(use))
    worst_cage = newest_recorded(scene, cluster.CLUSTER_WORST_CAGE)
    return {
        "decode": known(scene.gauge(cluster.RECORDED_DECODE)),
        "prefill": None,
        "util_mean": known(newest_recorded(scene, cluster.CLUSTER_UTILIZATION)),
        "util_min": known(float(values.min())) if len(values) else None,
        "util_max": known(float(values.max())) if len(values) else None,
        "util_outlier": outlier(use),
        "net": known(newest_recorded(scene, cluster.CLUSTER_TRANSMIT)),
        "net_worst": known(worst_cage),
        "net_worst_name": busiest_cage(scene, worst_cage),
    }


def outlier(use: dict[str, float]) -> str | None:
    """The node whose utilisation lies furthest from the mean, None while all are close."""
    if not use:
        return None
    mean = float(np.mean(list(use.values())))
    found = extreme({name: abs(value - mean) for name, value in use.items()}, np.argmax)
    return found[0] if found is not None and found[1] >= APART else None


def busiest_cage(scene: Scene, rate: float) -> str | None:
    """Node and cage that send or receive most, which is `rate`: "spark-03 p1". None where the rate is not known.

    Receiving is looked at only where no cage sends that much: on a ring both are the same.
    """
    if not math.isfinite(rate):
        return None
    best = (-1.0, "")
    for ratio in (quotients.INTERCONNECT_TRANSMIT, quotients.INTERCONNECT_RECEIVE):
        for (target, cage), value in cage_rates(scene, ratio).items():
            if value > best[0]:
                best = (value, f"{target} {cage}".strip())
        if best[0] >= rate * (1 - 1e-3):
            break
    return best[1] or None


def prefill_line(ticks: Ints, episodes: tuple[Episode, ...]) -> list[float | None]:
    """Prefill throughput at each tick: the sum over the episodes that the tick lies in, None outside any."""
    line: list[float | None] = [None] * len(ticks)
    for start, end, rate in rates(episodes):
        low, high = np.searchsorted(ticks, start, side="left"), np.searchsorted(ticks, end, side="right")
        for place in range(int(low), int(high)):
            line[place] = (line[place] or 0.0) + rate
    return line


def rates(episodes: tuple[Episode, ...]) -> list[tuple[int, int, float]]:
    """(start, end, tokens per second) of the episodes whose size and length are known."""
    return [
        (episode.start_ms, episode.end_ms, float(f"{episode.tokens / episode.seconds:.6g}"))
        for episode in episodes
        if episode.tokens is not None and episode.seconds
    ]
