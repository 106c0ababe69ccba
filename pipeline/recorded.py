"""Recorded series: sums over many targets, stored once per tick; a row per deployment and one for the cluster."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.deployments import EngineId
from pipeline.slide import Slide
from pipeline.sums import UNKNOWN, Part, Speeds, largest
from pipeline.window import Window
from telemetry import ratios
from telemetry.catalog import cluster, engine, gpu
from telemetry.catalog.ratios import DECODE_TPS, INTERCONNECT_RECEIVE, INTERCONNECT_TRANSMIT
from telemetry.frame import Floats, Frame
from telemetry.model import Metric, Series
from telemetry.phases import Prefill

LEAD_MS = ratios.SILENT_MS + 11_000
"""How far back a recorded value looks: its 10 s window and the time for which a silent target makes a sum unknown."""

FABRIC = (INTERCONNECT_TRANSMIT, INTERCONNECT_RECEIVE)
WINDOW_MS = INTERCONNECT_TRANSMIT.window_s * 1000.0
DECODED_OVER_MS = (DECODE_TPS.window_s * 1000.0, 1000.0)
CLUSTER = (
    cluster.CLUSTER_POWER,
    cluster.CLUSTER_UTILIZATION,
    cluster.CLUSTER_TRANSMIT,
    cluster.CLUSTER_WORST_CAGE,
)
DEPLOYMENT = (
    cluster.RECORDED_DECODE,
    cluster.RECORDED_DECODE_1S,
    cluster.DEPLOYMENT_RUNNING,
    cluster.PREFILL_TOKENS,
    cluster.PREFILL_SECONDS,
)
"""What is recorded of the cluster and of a deployment, in the order of their rows."""


@dataclass(frozen=True)
class RecordedRow:
    """A row to store. target: `deployment/NAME` or `cluster`."""

    target: str
    series: tuple[Series, ...]
    values: Floats


@dataclass
class Prefills:
    """Running totals of finished prefills by deployment; go on from what the store holds."""

    totals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, deployment: str, prefill: Prefill) -> None:
        """Count an episode whose tokens and length are both known."""
        tokens, seconds = self.totals.get(deployment, (0.0, 0.0))
        if prefill.tokens is not None and prefill.seconds is not None:
            tokens, seconds = tokens + prefill.tokens, seconds + prefill.seconds
        self.totals[deployment] = (tokens, seconds)


def rows(
    window: Window, tick: int, deployments: Mapping[str, Sequence[EngineId]], prefills: Prefills
) -> list[RecordedRow]:
    """The recorded rows of a tick, from what has arrived of it."""
    return Recorder(window, prefills).rows(tick, deployments)


class Recorder:
    """The same from tick to tick: its frames slide on, and which series belong together is worked out once."""

    def __init__(self, window: Window, prefills: Prefills) -> None:
        self._window, self._prefills = window, prefills
        self._cluster, self._cluster_sums = Slide(ClusterSums.METRICS, LEAD_MS), ClusterSums(())
        self._deployments: dict[str, tuple[Slide, DeploymentSums]] = {}
        self._answered: dict[str, dict[EngineId, int]] = {}

    def rows(self, tick: int, deployments: Mapping[str, Sequence[EngineId]]) -> list[RecordedRow]:
        """The recorded rows of a tick, from what has arrived of it. deployments: the engines that answer."""
        found = [self._cluster_row(tick)]
        self._deployments = {name: known for name, known in self._deployments.items() if name in deployments}
        self._remember(tick, deployments)
        found += [self._deployment_row(tick, name, engines) for name, engines in self._answered.items()]
        return [row for row in found if not np.isnan(row.values).all()]

    def _remember(self, tick: int, deployments: Mapping[str, Sequence[EngineId]]) -> None:
        """Keep engines that have just fallen silent beside those of their deployment that answer: what they all do is
        unknown then, and no sum of the rest."""
        answer = {one for engines in deployments.values() for one in engines}
        before, self._answered = self._answered, {}
        for name, engines in deployments.items():
            known = {one: at for one, at in before.get(name, {}).items() if one not in answer and tick - at <= LEAD_MS}
            self._answered[name] = known | dict.fromkeys(engines, tick)

    def _cluster_row(self, tick: int) -> RecordedRow:
        frame = self._window.slide(self._cluster, tick)
        if frame.series != self._cluster_sums.series:
            self._cluster_sums = ClusterSums(frame.series)
        return self._cluster_sums.row(frame, tick)

    def _deployment_row(self, tick: int, name: str, engines: Iterable[EngineId]) -> RecordedRow:
        wanted = frozenset(engines)
        targets = frozenset(one.target for one in wanted)
        slide, sums = self._deployments.get(name) or (None, None)
        if slide is None or slide.targets != targets:
            slide = Slide(DeploymentSums.METRICS, LEAD_MS, targets)
        frame = self._window.slide(slide, tick)
        if sums is None or sums.series != frame.series or sums.engines != wanted:
            sums = DeploymentSums(name, frame.series, wanted)
        self._deployments[name] = slide, sums
        return sums.row(frame, tick, self._prefills.totals.get(name, (0.0, 0.0)))


class ClusterSums:
    """What is recorded of all nodes."""

    METRICS = frozenset((gpu.GPU_POWER.name, gpu.GPU_UTILIZATION.name)).union(*map(ratios.stored_names, FABRIC))

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series = series
        self._every = Part(series, lambda _: True)
        self._power = Part(series, lambda one: one.metric == gpu.GPU_POWER.name)
        self._use = Part(series, lambda one: one.metric == gpu.GPU_UTILIZATION.name)
        self._speeds = Speeds(series, ((INTERCONNECT_TRANSMIT, _all), *((ratio, _cage) for ratio in FABRIC)))
        self._row = _series(cluster.CLUSTER_TARGET, CLUSTER)

    def row(self, frame: Frame, tick: int) -> RecordedRow:
        """From a frame of these series."""
        sent, *busy = self._speeds.at(frame, WINDOW_MS) if self._every.stands(frame, tick) else ((), ())
        values = (
            self._power.total(frame, tick),
            self._use.mean(frame, tick),
            largest(sent),
            largest(map(largest, busy)),
        )
        return RecordedRow(cluster.CLUSTER_TARGET, self._row, np.array(values, dtype=np.float64))


class DeploymentSums:
    """What is recorded of a deployment's engines."""

    METRICS = frozenset((engine.GENERATION_TOKENS.name, engine.REQUESTS_RUNNING.name))

    def __init__(self, name: str, series: tuple[Series, ...], engines: frozenset[EngineId]) -> None:
        self.series, self.engines = series, engines
        self._own = Part(series, lambda one: engine_of(one) in engines)
        self._running = Part(
            series, lambda one: engine_of(one) in engines and one.metric == engine.REQUESTS_RUNNING.name
        )
        self._speeds = Speeds(series, ((DECODE_TPS, _all),), lambda one: engine_of(one) in engines)
        self._target = cluster.DEPLOYMENT_PREFIX + name
        self._row = _series(self._target, DEPLOYMENT)

    def row(self, frame: Frame, tick: int, prefilled: tuple[float, float]) -> RecordedRow:
        """From a frame of these series. prefilled: tokens and seconds so far."""
        stands = self._own.stands(frame, tick)
        decode = [largest(self._speeds.at(frame, over)[0]) if stands else UNKNOWN for over in DECODED_OVER_MS]
        values = (*decode, self._running.total(frame, tick), *prefilled)
        return RecordedRow(self._target, self._row, np.array(values, dtype=np.float64))


def _series(target: str, metrics: Iterable[Metric]) -> tuple[Series, ...]:
    return tuple(Series(target, metric.name) for metric in metrics)


def _all(_: Series) -> Hashable:
    return ()


def _cage(series: Series) -> Hashable:
    return series.target, series.label("cage")


def engine_of(series: Series) -> EngineId:
    """The engine a series belongs to."""
    return EngineId(series.target, series.label("engine") or "", series.label("model") or "")
