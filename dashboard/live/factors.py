"""Factors of the speed, each as a line over the shown time, so that now and baseline come from one definition.

Decode TPS = verify steps/s × accepted length (plus first tokens) = running ∕ step time × accepted length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.live import current
from dashboard.live.cache import offers
from dashboard.live.scene import SHOWN_MS, WINDOWS_MS, Scene
from storage.records import Episode
from telemetry import ratios
from telemetry.catalog import cluster, engine, network
from telemetry.catalog import ratios as quotients
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Metric, Ratio, Unit

SMOOTH_MS = 10_000.0
"""Factors are compared over this window, like the chart of the speed that they explain."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor. line: values at the ticks of a span of the scene, float64[tick], None where nothing offers it.

    more_is_faster: whether the speed follows the factor, or moves against it; None when neither.
    grave: whether a slow-down by it deserves attention; fewer requests are no fault.
    """

    key: str
    label: str
    unit: Unit
    source: Metric | Ratio
    line: Callable[[Scene, float], tuple[Ints, Floats] | None]
    more_is_faster: bool | None = True
    grave: bool = True


def _quotient(ratio: Ratio) -> Callable[[Scene, float], tuple[Ints, Floats] | None]:
    window = min(ratio.window_s * 1000.0, SMOOTH_MS)

    def line(scene: Scene, span_ms: float) -> tuple[Ints, Floats] | None:
        if not offers(scene, ratio):
            return None
        names = ratios.stored_names(ratio)
        frame = scene.engines.between(scene.tick - span_ms - window - ratios.SILENT_MS, scene.tick)
        frame = frame.select(lambda series: series.metric in names)
        return _cut(frame, ratios.evaluate(ratio, frame, current.together, window).get(()), scene, span_ms)

    return line


def _cut(frame: Frame, values: Floats | None, scene: Scene, span_ms: float) -> tuple[Ints, Floats] | None:
    if values is None:
        return None
    inside = frame.ticks >= scene.tick - span_ms
    return frame.ticks[inside], values[inside]


def _running(scene: Scene, span_ms: float) -> tuple[Ints, Floats] | None:
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


def _recorded_cage(scene: Scene, span_ms: float) -> tuple[Ints, Floats] | None:
    """Busiest cage ∕ the largest capacity of a cage."""
    part = scene.nodes.select(lambda series: series.metric == network.CAGE_CAPACITY.name)
    capacity = current.newest(part, scene.tick)
    frame = scene.engines.select(lambda series: series.metric == cluster.CLUSTER_WORST_CAGE.name)
    if not frame.series or not np.isfinite(capacity).any():
        return None
    return _cut(frame, frame.values[0] / np.nanmax(capacity), scene, span_ms)


def _foreign(scene: Scene, span_ms: float) -> tuple[Ints, Floats] | None:
    """Share of the trailing minute's decoding time that lay inside a prefill."""
    if not scene.recorded(cluster.PREFILL_SECONDS).series:
        return None
    window = WINDOWS_MS["foreign_prefill"]
    frame = scene.engines.select(lambda series: series.metric == cluster.RECORDED_DECODE_1S.name)
    frame = frame.between(scene.tick - span_ms - window, scene.tick)
    if not len(frame.ticks):
        return None
    decoding = current.held_total(frame) > 0
    busy, both = _running_count(decoding), _running_count(decoding & inside(frame.ticks, scene.episodes))
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
    steps = (
        Factor("steps", "Verify steps", Unit.PER_SECOND, quotients.STEP_RATE, _quotient(quotients.STEP_RATE))
        if drafts
        else Factor("steps", "Steps", Unit.PER_SECOND, quotients.STREAM_TPS, _quotient(quotients.STREAM_TPS))
    )
    return (
        Factor("running", "Running", Unit.REQUESTS, engine.REQUESTS_RUNNING, _running, grave=False),
        steps,
        Factor("step_time", "Step time", Unit.SECONDS, quotients.ITL_MEAN, _quotient(quotients.ITL_MEAN), False),
        Factor(
            "accepted_length",
            "Accepted length",
            Unit.TOKENS_PER_STEP,
            quotients.ACCEPTED_LENGTH,
            _quotient(quotients.ACCEPTED_LENGTH),
        ),
        Factor(
            "draft_length",
            "Draft length",
            Unit.TOKENS_PER_STEP,
            quotients.DRAFT_LENGTH,
            _quotient(quotients.DRAFT_LENGTH),
            None,
        ),
        Factor("foreign_prefill", "Foreign prefill", Unit.RATIO, engine.PROMPT_TOKENS, _foreign, False),
        Factor("fabric", "Fabric use", Unit.RATIO, quotients.INTERCONNECT_USE, _recorded_cage, None),
    )


def decoding_ticks(scene: Scene) -> tuple[Ints, Bools]:
    """Ticks of the shown time, and whether tokens had increased in the 10 s before each."""
    frame = scene.recorded(cluster.RECORDED_DECODE)
    return frame.ticks, current.held_total(frame) > 0


def last(line: tuple[Ints, Floats] | None) -> float:
    """Newest value of a line; NaN when there is none."""
    return float(line[1][-1]) if line is not None and len(line[1]) else math.nan


LEAST_DECODING = 60
"""Ticks of decoding without which there is nothing to compare with."""


def baselines(scene: Scene) -> dict[str, float]:
    """Median of each factor over the ticks of the shown time at which tokens moved; a factor without is left out."""
    ticks, decoding = decoding_ticks(scene)
    if int(decoding.sum()) < LEAST_DECODING:
        return {}
    found: dict[str, float] = {}
    for factor in factors(scene):
        line = factor.line(scene, SHOWN_MS)
        if line is None:
            continue
        values = line[1][np.isin(line[0], ticks[decoding])]
        if np.isfinite(values).any():
            found[factor.key] = float(np.nanmedian(values))
    return found
