"""Recorded series: sums over many targets, stored once per tick; a row per deployment and one for the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.deployments import EngineId
from pipeline.window import Window
from telemetry import latest, ratios
from telemetry.catalog import cluster, engine, gpu
from telemetry.catalog.ratios import DECODE_TPS, INTERCONNECT_RECEIVE, INTERCONNECT_TRANSMIT
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame
from telemetry.model import Fold, Metric, Ratio, Series
from telemetry.phases import Prefill

SECOND_MS = 1000.0
LEAD_MS = ratios.SILENT_MS + 11_000
"""How far back a recorded value looks: its 10 s window and the time for which a silent target makes a sum unknown."""

FABRIC = (INTERCONNECT_TRANSMIT, INTERCONNECT_RECEIVE)


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
    found = [_cluster(window, tick)]
    for name, engines in deployments.items():
        found.append(_deployment(window, tick, name, engines, prefills))
    return [row for row in found if not np.isnan(row.values).all()]


def _row(target: str, values: Mapping[Metric, float]) -> RecordedRow:
    series = tuple(Series(target, metric.name) for metric in values)
    return RecordedRow(target, series, np.array(list(values.values()), dtype=np.float64))


def _deployment(window: Window, tick: int, name: str, engines: Sequence[EngineId], prefills: Prefills) -> RecordedRow:
    wanted = set(engines)
    targets = {one.target for one in engines}
    names = (engine.GENERATION_TOKENS.name, engine.REQUESTS_RUNNING.name)
    frame = window.frame(names, start_ms=tick - LEAD_MS, end_ms=tick, targets=targets)
    frame = frame.select(lambda series: engine_of(series) in wanted)
    tokens, seconds = prefills.totals.get(name, (0.0, 0.0))
    values = {
        cluster.RECORDED_DECODE: _ratio(DECODE_TPS, frame, tick),
        cluster.RECORDED_DECODE_1S: _ratio(DECODE_TPS, frame, tick, SECOND_MS),
        cluster.DEPLOYMENT_RUNNING: _sum(frame, engine.REQUESTS_RUNNING, tick),
        cluster.PREFILL_TOKENS: tokens,
        cluster.PREFILL_SECONDS: seconds,
    }
    return _row(cluster.DEPLOYMENT_PREFIX + name, values)


def engine_of(series: Series) -> EngineId:
    """The engine a series belongs to."""
    return EngineId(series.target, series.label("engine") or "", series.label("model") or "")


def _cluster(window: Window, tick: int) -> RecordedRow:
    names = {gpu.GPU_POWER.name, gpu.GPU_UTILIZATION.name}.union(*(ratios.stored_names(ratio) for ratio in FABRIC))
    frame = window.frame(names, start_ms=tick - LEAD_MS, end_ms=tick)
    values = {
        cluster.CLUSTER_POWER: _sum(frame, gpu.GPU_POWER, tick),
        cluster.CLUSTER_UTILIZATION: _fold(frame, gpu.GPU_UTILIZATION, tick, Fold.MEAN),
        cluster.CLUSTER_TRANSMIT: _ratio(INTERCONNECT_TRANSMIT, frame, tick),
        cluster.CLUSTER_WORST_CAGE: _largest(_busiest(ratio, frame, tick) for ratio in FABRIC),
    }
    return _row(cluster.CLUSTER_TARGET, values)


def _at(frame: Frame, tick: int, newest: float) -> float:
    """The newest value, as long as no gap lies between it and this tick; unknown otherwise."""
    if not len(frame.ticks) or not len(frame.series) or tick - frame.ticks[-1] > np.min(frame.gap_ms):
        return float("nan")
    return newest


def _held(frame: Frame) -> Floats:
    return ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(np.float64), ~np.isnan(frame.at_ms))


def _sum(frame: Frame, metric: Metric, tick: int) -> float:
    part = frame.select(lambda series: series.metric == metric.name)
    summed = ratios.total(_held(part), part.ticks.astype(np.float64), ~np.isnan(part.values))
    return _at(part, tick, _last(summed))


def _fold(frame: Frame, metric: Metric, tick: int, how: Fold) -> float:
    part = frame.select(lambda series: series.metric == metric.name)
    return _at(part, tick, _last(fold(_held(part), how)))


def _last(values: Floats) -> float:
    return float(values[-1]) if len(values) else float("nan")


def _ratio(ratio: Ratio, frame: Frame, tick: int, window_ms: float | None = None) -> float:
    found = latest.ratio(ratio, _of(ratio, frame), lambda _: (), window_ms)
    return _at(frame, tick, found.get((), float("nan")))


def _busiest(ratio: Ratio, frame: Frame, tick: int) -> float:
    found = latest.ratio(ratio, _of(ratio, frame), lambda series: (series.target, series.label("cage")))
    return _at(frame, tick, _largest(found.values()))


def _largest(values: Iterable[float]) -> float:
    """The largest of what is known, unknown when nothing is."""
    return max((value for value in values if not np.isnan(value)), default=float("nan"))


def _of(ratio: Ratio, frame: Frame) -> Frame:
    names = ratios.stored_names(ratio)
    return frame.select(lambda series: series.metric in names)
