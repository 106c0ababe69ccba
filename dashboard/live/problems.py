"""What is wrong with nodes and engines right now, in words for the sentence. Limits are the catalogue's.

These are observations of the last seconds, not alerts: nothing is remembered, nobody is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard import formatting
from dashboard.live import current
from dashboard.live.cells import level
from dashboard.live.reasons import CALM_STATES, state_words
from dashboard.live.scene import Scene
from storage.records import TargetRow
from telemetry.catalog import engine, gpu, memory, network
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame
from telemetry.model import Fold, Metric
from telemetry.phases import Phase


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that somebody should look at. text follows the name: "is throttling"."""

    level: str
    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Recent:
    """What a node has reported lately."""

    frame: Frame
    tick: int

    def samples(self, metric: Metric, seconds: float, how: Fold = Fold.MAX) -> Floats:
        """Known samples of the last seconds, over the node's devices folded by `how`."""
        part = self.frame.between(self.tick - seconds * 1000.0, self.tick)
        folded = fold(part.select(lambda series: series.metric == metric.name).values, how)
        return folded[~np.isnan(folded)]


NOT_YET = "not yet scraped"
MINIMUM = 3
"""With fewer samples in its window nothing is said of a node."""
THERMAL_SOFTWARE, THERMAL_HARDWARE, POWER_BRAKE = 0x20, 0x40, 0x80
THROTTLE_WORDS = {
    POWER_BRAKE: "power brake",
    THERMAL_HARDWARE: "hardware thermal",
    THERMAL_SOFTWARE: "software thermal",
}


def throttling(node: Recent) -> tuple[str, str] | None:
    """A thermal or power-brake bit in every sample of 10 s."""
    masks = node.samples(gpu.GPU_CLOCK_EVENT_REASONS, 10).astype(np.int64)
    if len(masks) < MINIMUM:
        return None
    for bit, words in THROTTLE_WORDS.items():
        if (masks & bit).all():
            return ("warning" if bit == THERMAL_SOFTWARE else "critical"), f"is throttling ({words})"
    return None


BUSY, SLOW_HERTZ, FAINT_WATTS, COOL_CELSIUS, LOCKED_HERTZ = 0.80, 1.4e9, 30.0, 75.0, 1.5e9


def power_delivery(node: Recent) -> tuple[str, str] | None:
    """Busy, cool and not throttled by heat, yet slow and faint for 20 s: the power supply holds the GPU down."""
    wanted: list[tuple[Metric, Callable[[Floats], Floats]]] = [
        (gpu.GPU_UTILIZATION, lambda values: values >= BUSY),
        (gpu.GPU_SM_CLOCK, lambda values: values < SLOW_HERTZ),
        (gpu.GPU_POWER, lambda values: values < FAINT_WATTS),
        (gpu.GPU_TEMPERATURE, lambda values: values < COOL_CELSIUS),
    ]
    for metric, holds in wanted:
        values = node.samples(metric, 20)
        if len(values) < MINIMUM or not holds(values).all():
            return None
    masks = node.samples(gpu.GPU_CLOCK_EVENT_REASONS, 20).astype(np.int64)
    ceiling = node.samples(gpu.GPU_SM_CLOCK_MAX, 20)
    if (masks & (THERMAL_SOFTWARE | THERMAL_HARDWARE | POWER_BRAKE)).any() or (ceiling < LOCKED_HERTZ).any():
        return None
    clock = formatting.text(float(node.samples(gpu.GPU_SM_CLOCK, 20)[-1]), gpu.GPU_SM_CLOCK.unit)
    power = formatting.text(float(node.samples(gpu.GPU_POWER, 20)[-1]), gpu.GPU_POWER.unit)
    return "critical", f"gets too little power ({clock}, {power} while busy)"


def gpu_reading(node: Recent) -> tuple[str, str] | None:
    """NVML lost its GPU, or does not answer."""
    codes = node.samples(gpu.GPU_READING_STATE, 10)
    words = formatting.state(float(codes[-1]), gpu.READING_STATES) if len(codes) else "ok"
    return (
        None
        if words in ("ok", "not supported", formatting.UNKNOWN_TEXT)
        else ("critical", f"cannot read its GPU ({words})")
    )


def _limited(metric: Metric, seconds: float, how: Fold, words: str) -> Callable[[Recent], tuple[str, str] | None]:
    def check(node: Recent) -> tuple[str, str] | None:
        values = node.samples(metric, seconds, how)
        if len(values) < MINIMUM or metric.limits is None:
            return None
        mildest = float(values.max() if metric.limits.low else values.min())
        grade = level(mildest, metric.limits)
        return None if grade == "ok" else (grade, words.format(formatting.text(float(values[-1]), metric.unit)))

    return check


NODE_CHECKS: tuple[Callable[[Recent], tuple[str, str] | None], ...] = (
    gpu_reading,
    power_delivery,
    throttling,
    _limited(memory.MEMORY_HEADROOM, 10, Fold.MIN, "has {} of memory left"),
    _limited(gpu.GPU_TEMPERATURE, 10, Fold.MAX, "has a GPU at {}"),
    _limited(memory.CMA_DEFECT, 10, Fold.MAX, "loses memory to a kernel defect (CMA)"),
)


def lost(target: TargetRow, scene: Scene) -> bool:
    """Whether a target is silent against expectation."""
    return target.state not in CALM_STATES and not scene.alive(target)


def silence(target: TargetRow, scene: Scene) -> Problem | None:
    """A target that does not answer, by failure or for a good reason; None while it does."""
    if scene.alive(target):
        return None
    grade = "critical" if lost(target, scene) else "unknown" if target.state == NOT_YET else "idle"
    return Problem(grade, target.name, state_words(target, scene))


def node_problems(scene: Scene) -> list[Problem]:
    """Problems of nodes, of each the gravest first."""
    found = [problem for target in scene.node_targets if (problem := silence(target, scene))]
    gone = {problem.target for problem in found}
    rows: dict[str, list[int]] = {}
    for row, series in enumerate(scene.nodes.series):
        rows.setdefault(series.target, []).append(row)
    for target in scene.node_targets:
        if target.name in gone or target.name not in rows:
            continue
        node = Recent(scene.nodes.between(scene.tick - 20_000, scene.tick).take(rows[target.name]), scene.tick)
        found += [
            Problem(grade, target.name, text) for check in NODE_CHECKS for grade, text in filter(None, [check(node)])
        ]
    return found + links_down(scene)


def links_down(scene: Scene) -> list[Problem]:
    """Cages without a link on a node while most of its peers have one there; grave where the cage carried traffic."""
    up = _by_cage(scene, network.LINK_UP)
    sent = _by_cage(scene, network.RDMA_TRANSMIT)
    found = []
    for (name, cage), functions in up.items():
        peers = [value > 0 for (other, its), value in up.items() if its == cage and other != name]
        if functions == 0 and peers and sum(peers) > len(peers) / 2:
            grade = "critical" if sent.get((name, cage), 0.0) > 0 else "warning"
            found.append(Problem(grade, name, f"has no link on {cage}"))
    return found


def _by_cage(scene: Scene, metric: Metric) -> dict[tuple[str, str], float]:
    """Sum over a cage's functions of newest values, where known."""
    part = scene.nodes.select(lambda series: series.metric == metric.name)
    sums: dict[tuple[str, str], float] = {}
    for series, value in zip(part.series, current.newest(part, scene.tick), strict=True):
        if not np.isnan(value):
            key = (series.target, series.label("cage") or "")
            sums[key] = sums.get(key, 0.0) + float(value)
    return sums


def engine_problems(scene: Scene) -> list[Problem]:
    """Engines that do not answer or have stalled; a full KV cache with requests waiting."""
    gone = [target for target in scene.engine_targets if lost(target, scene)]
    found = [problem for target in gone if (problem := silence(target, scene))]
    values = current.newest(scene.engines, scene.tick)
    told: dict[tuple[str, str], float] = {}
    for series, value in zip(scene.engines.series, values, strict=True):
        if not np.isnan(value):
            key = (series.target, series.metric)
            told[key] = max(told.get(key, value), value)
    for target in scene.engine_targets:
        if told.get((target.name, engine.ENGINE_PHASE.name)) == Phase.STALLED.value:
            found.append(Problem("critical", target.name, "has stalled: requests run, but no token moves"))
        usage = told.get((target.name, engine.KV_CACHE_USAGE.name))
        waiting = told.get((target.name, engine.REQUESTS_WAITING.name), 0.0)
        if level(usage, engine.KV_CACHE_USAGE.limits) == "warning" and waiting > 0:
            found.append(Problem("warning", target.name, f"has a full KV cache, {waiting:g} requests wait"))
    return found
