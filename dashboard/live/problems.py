"""What is wrong with nodes and engines right now, in words for the sentence. Limits are the catalogue's.

These are observations of the last seconds, not alerts: nothing is remembered, nobody is told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.live import current
from dashboard.live.cells import level
from dashboard.live.reasons import CALM_STATES, NOT_YET, state_words
from dashboard.live.scene import Scene
from storage.records import TargetRow
from telemetry import formatting
from telemetry.catalog import engine, gpu, memory, network
from telemetry.frame import Bools, Floats
from telemetry.model import Metric
from telemetry.phases import Phase


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that somebody should look at. text follows the name: "is throttling".

    since_ms: of an alert; its text is a title. Its target is "" where it is about the whole cluster.
    """

    level: str
    target: str
    text: str
    since_ms: int | None = None


Pair = Callable[[Floats, Floats], Floats]
"""What two devices of a node say together; NaN (unknown) never takes part."""


def either(one: Floats, other: Floats) -> Floats:
    """All bits of two masks: of two numbers the larger one may lack a bit that the other has."""
    both = np.nan_to_num(one).astype(np.int64) | np.nan_to_num(other).astype(np.int64)
    return np.where(np.isnan(one) & np.isnan(other), np.nan, both)


class Recent:
    """What the nodes have reported lately, side by side. names: the nodes that have reported anything."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.names = [target.name for target in scene.node_targets]
        self._enough_ms = np.array([MINIMUM * target.interval_ms for target in scene.node_targets], dtype=np.float64)
        reach = max(SECONDS * 1000.0, float(self._enough_ms.max(initial=0.0)))
        self._frame = scene.nodes.between(scene.tick - reach, scene.tick)
        self._place = {name: place for place, name in enumerate(self.names)}

    def samples(self, metric: Metric, seconds: float, how: Pair = np.fmax) -> Floats:
        """Samples of the last seconds, those of a node's devices made one by `how`: float64[node, tick].

        Of a node that is read so rarely that fewer than MINIMUM lie in them, samples of as many of its intervals.
        """
        spans = np.maximum(seconds * 1000.0, self._enough_ms)
        widest = float(spans.max(initial=seconds * 1000.0))
        first = int(np.searchsorted(self._frame.ticks, self._scene.tick - widest))
        found = self._devices(metric, first, how)
        if len(spans) and widest > spans.min():
            found[self._scene.tick - self._frame.ticks[first:] > spans[:, np.newaxis]] = np.nan
        return found

    def _devices(self, metric: Metric, first: int, how: Pair) -> Floats:
        """Samples from a column on, those of a node's devices made one."""
        rows = [row for row in self._scene.node_rows(metric) if self._frame.series[row].target in self._place]
        places = [self._place[self._frame.series[row].target] for row in rows]
        found = np.full((len(self.names), len(self._frame.ticks) - first), np.nan)
        if len(set(places)) == len(places):
            found[places] = self._frame.values[rows, first:]
            return found
        for place, row in zip(places, rows, strict=True):
            found[place] = how(found[place], self._frame.values[row, first:])
        return found


SECONDS = 20.0
MINIMUM = 3
"""With fewer samples in its window nothing is said of a node."""


def always(samples: Floats, holds: Bools) -> Bools:
    """Nodes for which something holds in every known sample, of which there are enough: bool[node]."""
    known = ~np.isnan(samples)
    return np.asarray((holds | ~known).all(axis=1) & (known.sum(axis=1) >= MINIMUM))


def _last(samples: Floats, place: int) -> float:
    line = samples[place]
    return float(line[~np.isnan(line)][-1])


Found = list[tuple[int, str, str]]
"""(position of the node, level, words)."""

THERMAL_SOFTWARE, THERMAL_HARDWARE, POWER_BRAKE = 0x20, 0x40, 0x80
THROTTLE_WORDS = {
    POWER_BRAKE: ("critical", "power brake"),
    THERMAL_HARDWARE: ("critical", "hardware thermal"),
    THERMAL_SOFTWARE: ("warning", "software thermal"),
}


def _bits(samples: Floats, mask: int) -> Bools:
    return np.asarray((np.nan_to_num(samples).astype(np.int64) & mask) != 0)


def throttling(recent: Recent) -> Found:
    """A thermal or power-brake bit in every sample of 10 s; of several bits the gravest."""
    masks = recent.samples(gpu.GPU_CLOCK_EVENT_REASONS, 10, either)
    found: dict[int, tuple[str, str]] = {}
    for bit, (grade, words) in THROTTLE_WORDS.items():
        for place in np.flatnonzero(always(masks, _bits(masks, bit))):
            found.setdefault(int(place), (grade, f"is throttling ({words})"))
    return [(place, *told) for place, told in found.items()]


BUSY, SLOW_HERTZ, FAINT_WATTS, COOL_CELSIUS, LOCKED_HERTZ = 0.80, 1.4e9, 30.0, 75.0, 1.5e9


def power_delivery(recent: Recent) -> Found:
    """Busy, cool and not throttled by heat, yet slow and faint for 20 s: the power supply holds the GPU down."""
    use, clock = recent.samples(gpu.GPU_UTILIZATION, SECONDS), recent.samples(gpu.GPU_SM_CLOCK, SECONDS)
    power, heat = recent.samples(gpu.GPU_POWER, SECONDS), recent.samples(gpu.GPU_TEMPERATURE, SECONDS)
    held_down = always(use, use >= BUSY) & always(clock, clock < SLOW_HERTZ)
    held_down &= always(power, power < FAINT_WATTS) & always(heat, heat < COOL_CELSIUS)
    if not held_down.any():
        return []
    masks = recent.samples(gpu.GPU_CLOCK_EVENT_REASONS, SECONDS, either)
    hot = _bits(masks, THERMAL_SOFTWARE | THERMAL_HARDWARE | POWER_BRAKE).any(axis=1)
    locked = (recent.samples(gpu.GPU_SM_CLOCK_MAX, SECONDS) < LOCKED_HERTZ).any(axis=1)
    found: Found = []
    for place in np.flatnonzero(held_down & ~hot & ~locked).tolist():
        slow = formatting.text(_last(clock, place), gpu.GPU_SM_CLOCK.unit)
        faint = formatting.text(_last(power, place), gpu.GPU_POWER.unit)
        found.append((place, "critical", f"gets too little power ({slow}, {faint} while busy)"))
    return found


def gpu_reading(recent: Recent) -> Found:
    """NVML lost its GPU, or does not answer."""
    codes = recent.samples(gpu.GPU_READING_STATE, 10)
    found: Found = []
    for place in np.flatnonzero(always(codes, codes > 0)).tolist():
        words = formatting.state(_last(codes, place), gpu.READING_STATES)
        if words != "not supported":
            found.append((place, "critical", f"cannot read its GPU ({words})"))
    return found


def _limited(metric: Metric, how: Pair, words: str) -> Callable[[Recent], Found]:
    """A catalogue limit passed in every sample of 10 s."""

    def check(recent: Recent) -> Found:
        values = recent.samples(metric, 10, how)
        low = metric.limits is not None and metric.limits.low
        known = ~np.isnan(values)
        enough = np.flatnonzero(known.sum(axis=1) >= MINIMUM)
        if not len(enough):
            return []
        mildest = np.where(known, values, -np.inf if low else np.inf)[enough]
        mildest = mildest.max(axis=1) if low else mildest.min(axis=1)
        found: Found = []
        for place, value in zip(enough.tolist(), mildest.tolist(), strict=True):
            grade = level(value, metric.limits)
            if grade != "ok":
                found.append((place, grade, words.format(formatting.text(_last(values, place), metric.unit))))
        return found

    return check


NODE_CHECKS: tuple[Callable[[Recent], Found], ...] = (
    gpu_reading,
    power_delivery,
    throttling,
    _limited(memory.MEMORY_HEADROOM, np.fmin, "has {} of memory left"),
    _limited(gpu.GPU_TEMPERATURE, np.fmax, "has a GPU at {}"),
    _limited(memory.CMA_DEFECT, np.fmax, "loses memory to a kernel defect (CMA)"),
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
    """Problems of nodes: silence first, then what they report."""
    found = [problem for target in scene.node_targets if (problem := silence(target, scene))]
    gone = {problem.target for problem in found}
    recent = Recent(scene)
    for check in NODE_CHECKS:
        told = ((recent.names[place], grade, text) for place, grade, text in check(recent))
        found += [Problem(grade, name, text) for name, grade, text in told if name not in gone]
    return found + [problem for problem in links_down(scene) if problem.target not in gone]


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
    sums: dict[tuple[str, str], float] = {}
    for row in scene.node_rows(metric):
        value = scene.node_now[row]
        if not np.isnan(value):
            series = scene.nodes.series[row]
            key = (series.target, series.label("cage") or "")
            sums[key] = sums.get(key, 0.0) + float(value)
    return sums


STALLED = "has stalled: requests run, but no token moves"


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
            found.append(Problem("critical", target.name, STALLED))
        usage = told.get((target.name, engine.KV_CACHE_USAGE.name))
        waiting = told.get((target.name, engine.REQUESTS_WAITING.name), 0.0)
        if level(usage, engine.KV_CACHE_USAGE.limits) == "warning" and waiting > 0:
            found.append(Problem("warning", target.name, f"has a full KV cache, {waiting:g} requests wait"))
    return found
