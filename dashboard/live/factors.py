"""Factors of the speed, each as a line over the shown time, so that now and baseline come from one definition.

Decode TPS = verify steps/s × accepted length (plus first tokens) = running ∕ step time × accepted length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from dashboard.live import current
from dashboard.live.beside import beside
from dashboard.live.cache import offers
from dashboard.live.fleet import by_cage, cage_rates
from dashboard.live.scene import SHOWN_MS, WINDOWS_MS, Scene
from storage.records import Episode
from telemetry import ratios
from telemetry.catalog import cluster, engine, network
from telemetry.catalog import ratios as quotients
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Metric, Ratio, Unit

Line = tuple[Ints, Floats]
"""Ticks, and values at them."""
SMOOTH_MS = 10_000.0
"""Factors are compared over this window, like the chart of the speed that they explain."""


class Effect(Enum):
    """What the speed does when a factor grows: follow it, move against it, lose that share of its time, nothing."""

    FOLLOWS = "follows"
    AGAINST = "against"
    TAKES = "takes"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of the speed.

    source: the ratio that it is, or what its own `line` is made of: (scene, span) → values at the span's ticks.
    grave: whether a slow-down by it deserves attention; fewer requests are no fault.
    made_of: keys of factors that it follows from; it is no cause of its own while they explain most of it.
    seen_in: keys of factors in the first known of which it shows, or it changes nothing.
    """

    key: str
    label: str
    unit: Unit
    source: Metric | Ratio
    line: Callable[[Scene, float], Line | None] | None = None
    effect: Effect = Effect.FOLLOWS
    grave: bool = True
    made_of: tuple[str, ...] = ()
    seen_in: tuple[str, ...] = ()

    def over(self, scene: Scene, span_ms: float) -> Line | None:
        """Its values over the span that ends at the scene's tick; None where nothing offers it."""
        if self.line is not None:
            return self.line(scene, span_ms)
        assert isinstance(self.source, Ratio), "a factor without a line of its own is a ratio"
        return _quotient_line(self.source, scene, span_ms)

    def now(self, scene: Scene) -> float:
        """Its value at the scene's tick, NaN where unknown; of a ratio without the work for the ticks before."""
        if self.line is not None:
            return last(self.line(scene, 0.0))
        assert isinstance(self.source, Ratio), "a factor without a line of its own is a ratio"
        return scene.quotient(self.source, _window_ms(self.source)) if offers(scene, self.source) else math.nan


def _window_ms(ratio: Ratio) -> float:
    return min(ratio.window_s * 1000.0, SMOOTH_MS)


def _quotient_line(ratio: Ratio, scene: Scene, span_ms: float) -> Line | None:
    if not offers(scene, ratio):
        return None
    window, names = _window_ms(ratio), ratios.stored_names(ratio)
    frame = scene.engines.between(scene.tick - span_ms - window - ratios.SILENT_MS, scene.tick)
    frame = frame.select(lambda series: series.metric in names)
    return _cut(frame, ratios.evaluate(ratio, frame, current.together, window).get(()), scene, span_ms)


def _cut(frame: Frame, values: Floats | None, scene: Scene, span_ms: float) -> Line | None:
    if values is None:
        return None
    inside = frame.ticks >= scene.tick - span_ms
    return frame.ticks[inside], values[inside]


def _running(scene: Scene, span_ms: float) -> Line | None:
    """Requests running over all engines, mean of the trailing window: the gauge reads 0 in many busy ticks."""
    frame = scene.engines.select(lambda series: series.metric == engine.REQUESTS_RUNNING.name)
    frame = frame.between(scene.tick - span_ms - SMOOTH_MS, scene.tick)
    if not frame.series:
        return None
    values = current.held_total(frame)
    first = np.searchsorted(frame.ticks, frame.ticks - SMOOTH_MS, side="right")
    known = np.concatenate(([0], np.cumsum(~np.isnan(values))))
    summed = np.concatenate(([0.0], np.cumsum(np.nan_to_num(values))))
    places = np.arange(1, len(values) + 1)
    count = known[places] - known[first]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, (summed[places] - summed[first]) / count, np.nan)
    return _cut(frame, mean, scene, span_ms)


RECEIVE_USE = replace(
    quotients.INTERCONNECT_USE,
    name="interconnect_receive_ratio",
    numerator=(network.RDMA_RECEIVE, network.NETDEV_RECEIVE),
)
"""As the catalogue's ratio, of what a cage receives."""


def _uses(scene: Scene) -> list[float]:
    """Use of every cage in each direction, NaN where unknown.

    While no capacity changed inside the window, it is the rates that are known already, by the capacities: the ratio's
    own integral says the same at ten times the cost.
    """
    rows = scene.node_rows(network.CAGE_CAPACITY)
    recent = scene.nodes.between(scene.tick - SMOOTH_MS, scene.tick).values[rows]
    if np.any(recent != recent[:, -1:], where=~np.isnan(recent)):
        both = (quotients.INTERCONNECT_USE, RECEIVE_USE)
        return [use for ratio in both for use in cage_rates(scene, ratio).values()]
    capacity = {by_cage(scene.nodes.series[row]): float(scene.node_now[row]) for row in rows}
    rates = (quotients.INTERCONNECT_TRANSMIT, quotients.INTERCONNECT_RECEIVE)
    carried = [one for ratio in rates for one in cage_rates(scene, ratio).items()]
    return [rate / capacity[cage] for cage, rate in carried if capacity.get(cage, 0.0) > 0]


def _fabric(scene: Scene, span_ms: float) -> Line | None:
    """Use of the cage that is used most, in either direction.

    Over a span it is the recorded traffic of the busiest cage, by its capacity; where capacities differ, the busiest
    cage need not be the one used most, and what the others carried was not recorded.
    """
    if span_ms <= 0:
        most = max((use for use in _uses(scene) if math.isfinite(use)), default=math.nan)
        return np.array([scene.tick]), np.array([most])
    capacity = scene.node_now[scene.node_rows(network.CAGE_CAPACITY)]
    known = np.unique(capacity[np.isfinite(capacity)])
    frame = scene.engines.select(lambda series: series.metric == cluster.CLUSTER_WORST_CAGE.name)
    if not frame.series or len(known) != 1:
        return None
    return _cut(frame, frame.values[0] / known[0], scene, span_ms)


def _foreign(scene: Scene, span_ms: float) -> Line | None:
    """Share of the trailing minute's decoding time that lay inside a prefill, the one that runs now included."""
    if not scene.recorded(cluster.PREFILL_SECONDS).series:
        return None
    window = WINDOWS_MS["foreign_prefill"]
    frame = scene.engines.select(lambda series: series.metric == cluster.RECORDED_DECODE_1S.name)
    frame = frame.between(scene.tick - span_ms - window, scene.tick)
    if not len(frame.ticks):
        return None
    decoding = current.held_total(frame) > 0
    covered = inside(frame.ticks, scene.episodes)
    for since, until in beside(scene):
        covered |= (frame.ticks > since) & (frame.ticks <= until)
    busy, both = _running_count(decoding), _running_count(decoding & covered)
    first = np.searchsorted(frame.ticks, frame.ticks - window, side="right")
    places = np.arange(1, len(frame.ticks) + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(
            busy[places] > busy[first], (both[places] - both[first]) / (busy[places] - busy[first]), np.nan
        )
    return _cut(frame, share, scene, span_ms)


def _running_count(flags: Bools) -> Ints:
    return np.concatenate(([0], np.cumsum(flags)))


def inside(ticks: Ints, episodes: tuple[Episode, ...]) -> Bools:
    """Which ticks lie inside a prefill."""
    found = np.zeros(len(ticks), dtype=bool)
    for episode in episodes:
        found |= (ticks > episode.start_ms) & (ticks < episode.end_ms)
    return found


def factors(scene: Scene) -> tuple[Factor, ...]:
    """The factors for the engines at hand: with drafts per draft, without them per step."""
    drafts = offers(scene, quotients.STEP_RATE)
    steps = quotients.STEP_RATE if drafts else quotients.STREAM_TPS
    length, use = Unit.TOKENS_PER_STEP, quotients.INTERCONNECT_USE
    prefill = Factor(
        "foreign_prefill",
        "Foreign prefill",
        Unit.RATIO,
        engine.PROMPT_TOKENS,
        _foreign,
        effect=Effect.TAKES,
        seen_in=("step_time", "steps"),
    )
    parts = ("running", "step_time", prefill.key)
    return (
        Factor("running", "Running", Unit.REQUESTS, engine.REQUESTS_RUNNING, _running, grave=False),
        Factor("steps", "Verify steps" if drafts else "Steps", Unit.PER_SECOND, steps, made_of=parts),
        Factor("step_time", "Step time", Unit.SECONDS, quotients.ITL_MEAN, effect=Effect.AGAINST, made_of=parts[2:]),
        Factor("accepted_length", "Accepted length", length, quotients.ACCEPTED_LENGTH),
        Factor("draft_length", "Draft length", length, quotients.DRAFT_LENGTH, effect=Effect.NONE),
        prefill,
        Factor("fabric", "Fabric use", Unit.RATIO, use, _fabric, effect=Effect.NONE),
    )


def last(line: Line | None) -> float:
    """Newest value of a line; NaN when there is none."""
    return float(line[1][-1]) if line is not None and len(line[1]) else math.nan


LEAST_MS = 60_000
"""So long something must have been decoded: without it there is nothing to compare with."""
FEWEST = 5
"""Readings that this is at least, however rarely engines are read."""


def least(scene: Scene) -> int:
    """Readings that a minute of decoding has."""
    slowest = max((target.interval_ms for target in scene.engine_targets), default=1000)
    return max(FEWEST, round(LEAST_MS / max(slowest, 1000)))


@dataclass(frozen=True, slots=True)
class Stretch:
    """What decoding was like for a while. end_ms: its last instant; speed: tokens per second; values: of the factors,
    by key; models: what the engines served. All are medians over the ticks at which tokens moved.

    span_ms: from the first tick of the shown time that was recorded to the end; recorded_ms: how much of that was.
    """

    end_ms: int
    speed: float
    values: Mapping[str, float]
    models: Mapping[str, str] = field(default_factory=dict)
    span_ms: float = SHOWN_MS
    recorded_ms: float = SHOWN_MS

    @property
    def running(self) -> float:
        """Requests that ran, NaN where that was not known."""
        return self.values.get("running", math.nan)


def stretch(scene: Scene) -> Stretch | None:
    """The shown time of a scene as a stretch; None where tokens moved for less than a minute of it.

    A factor that was known for less than that is left out.
    """
    needed = least(scene)
    frame = scene.recorded(cluster.RECORDED_DECODE)
    speed = current.held_total(frame)
    decoding = frame.ticks[speed > 0]
    if len(decoding) < needed:
        return None
    found: dict[str, float] = {}
    for factor in factors(scene):
        line = factor.over(scene, SHOWN_MS)
        if line is None:
            continue
        values = line[1][np.isin(line[0], decoding)]
        if int(np.isfinite(values).sum()) >= needed:
            found[factor.key] = float(np.nanmedian(values))
    span, known = _reach(scene, frame.ticks[~np.isnan(speed)])
    return Stretch(scene.tick, float(np.median(speed[speed > 0])), found, scene.models, span, known)


def _reach(scene: Scene, ticks: Ints) -> tuple[float, float]:
    """How long before the scene's tick the first of these ticks lies, inside the shown time, and for how much of that
    there is one: each speaks for the usual time until the next. In milliseconds."""
    inside_ms = ticks[ticks > scene.tick - SHOWN_MS]
    step = float(np.median(np.diff(inside_ms))) if len(inside_ms) > 1 else 0.0
    return float(scene.tick - inside_ms[0]) + step, len(inside_ms) * step


def lately_running(scene: Scene) -> float:
    """Requests running, the middle of the last minute; NaN where that is not known."""
    line = _running(scene, LEAST_MS)
    known = line[1][np.isfinite(line[1])] if line is not None else np.empty(0)
    return float(np.median(known)) if len(known) else math.nan
