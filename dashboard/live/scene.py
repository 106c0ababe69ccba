"""Scene: everything one message is made of, read once per tick. What follows is arithmetic on it, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from alerts.record import Alert
from dashboard.live import current
from dashboard.live.alarms import Alarms
from dashboard.sources import Recent
from pipeline.deployments import MODEL_FACTS, model_in
from storage.records import Absence, Episode, TargetRow
from storage.store import Store
from telemetry import ratios
from telemetry.catalog import cluster, engine, gpu, memory, network
from telemetry.catalog import ratios as quotients
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Frame, empty
from telemetry.histograms import WINDOW_MAX_MS
from telemetry.model import Metric, Ratio, part
from telemetry.states import REMOVED

SHOWN_MS = 15 * 60_000
"""What the first screen shows: its charts, peaks and baselines reach back this far."""
NODE_MS = 90_000
"""Least reach of node metrics: the longest window of a ratio on the first screen, and the silence before a sum is
unknown. Where targets are read so rarely that a gap is longer than that silence, as much more (`node_reach_ms`)."""
LEAD_MS = 90_000

NODE_METRICS: tuple[Metric, ...] = (
    gpu.GPU_UTILIZATION,
    gpu.GPU_POWER,
    gpu.GPU_TEMPERATURE,
    gpu.GPU_SM_CLOCK,
    gpu.GPU_SM_CLOCK_MAX,
    gpu.GPU_ENERGY,
    gpu.GPU_CLOCK_EVENT_REASONS,
    gpu.GPU_READING_STATE,
    memory.MEMORY_HEADROOM,
    memory.MEMORY_USED,
    memory.MEMORY_TOTAL,
    memory.CMA_DEFECT,
    network.RDMA_TRANSMIT,
    network.NETDEV_TRANSMIT,
    network.RDMA_RECEIVE,
    network.NETDEV_RECEIVE,
    network.LINK_UP,
    network.CAGE_CAPACITY,
    engine.GENERATION_TOKENS,
    cluster.SCRAPE_SECONDS,
)
ENGINE_METRICS: tuple[Metric, ...] = (
    engine.GENERATION_TOKENS,
    engine.PROMPT_TOKENS,
    engine.PROMPT_TOKENS_CACHED,
    engine.REQUESTS_RUNNING,
    engine.REQUESTS_WAITING,
    engine.KV_CACHE_USAGE,
    engine.KV_CACHE_CAPACITY,
    engine.PREFIX_CACHE_QUERIES,
    engine.PREFIX_CACHE_HITS,
    engine.DRAFTS,
    engine.DRAFT_TOKENS,
    engine.ACCEPTED_TOKENS,
    engine.REPORTED_ACCEPTANCE,
    engine.REPORTED_ACCEPTED_LENGTH,
    engine.REPORTED_THROUGHPUT,
    engine.ENGINE_PHASE,
    part(engine.ITL, "sum"),
    part(engine.ITL, "count"),
    cluster.RECORDED_DECODE,
    cluster.RECORDED_DECODE_1S,
    cluster.PREFILL_TOKENS,
    cluster.PREFILL_SECONDS,
    cluster.CLUSTER_POWER,
    cluster.CLUSTER_TRANSMIT,
    cluster.CLUSTER_WORST_CAGE,
    cluster.CLUSTER_UTILIZATION,
)
LATENCY_METRICS: tuple[Metric, ...] = tuple(
    part(histogram, name) for histogram in (engine.TTFT, engine.ITL) for name in ("bucket", "sum", "count")
)


@dataclass(frozen=True)
class Scene:
    """The cluster at one tick.

    commit_ms: when the newest commit was made. absences: those that last.
    nodes: node metrics (and output tokens) of the last NODE_MS at least; engines: engine metrics and recorded series of
    SHOWN_MS + LEAD_MS; latency: parts of the latency histograms over an hour, None where it was not asked for.
    alerts: causes that fire and that nobody silenced. silenced: how many others fire that somebody did silence.
    episodes: finished prefills of the shown time. models: what each engine target serves.
    gpus: names of each node's GPUs, where they were asked for.
    kept: results that several cards need, by name.
    """

    tick: int
    now_ms: int
    commit_ms: int | None = None
    targets: tuple[TargetRow, ...] = ()
    absences: tuple[Absence, ...] = ()
    nodes: Frame = field(default_factory=empty)
    engines: Frame = field(default_factory=empty)
    latency: Frame | None = None
    episodes: tuple[Episode, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)
    gpus: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alerts: tuple[Alert, ...] = ()
    silenced: int = 0
    kept: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def seen_ms(self) -> int:
        """Until when the collector has looked: what a target's silence is measured against."""
        return self.tick if self.commit_ms is None else self.commit_ms

    @cached_property
    def last_read(self) -> Mapping[str, int]:
        """Tick of the newest reading of each target, where `nodes` has one."""
        found: dict[str, int] = {}
        read = ~np.isnan(self.nodes.at_ms)
        for row, series in enumerate(self.nodes.series):
            if series.target not in found and read[row].any():
                found[series.target] = int(self.nodes.ticks[np.flatnonzero(read[row])[-1]])
        return found

    @cached_property
    def node_now(self) -> Floats:
        """Newest value of each row of `nodes`: float64[series]."""
        return current.newest(self.nodes, self.tick)

    @cached_property
    def _node_index(self) -> Mapping[str, list[int]]:
        return _by_metric(self.nodes)

    def node_rows(self, metric: Metric) -> list[int]:
        """Rows of `nodes` that hold a metric."""
        return self._node_index.get(metric.name, [])

    def nodes_of(self, ratio: Ratio) -> Frame:
        """The rows of `nodes` that a ratio is made of."""
        names = sorted(ratios.stored_names(ratio))
        return self.nodes.take([row for name in names for row in self._node_index.get(name, [])])

    def alive(self, target: TargetRow) -> bool:
        """Whether a target was read within its gap, so that what is known of it is of now.

        A target's row says how its last request ended, and is renewed every ten seconds; its samples say when.
        """
        last = self.last_read.get(target.name)
        return last is not None and self.tick - last <= NOMINAL_PER_GAP * target.interval_ms

    @property
    def node_targets(self) -> list[TargetRow]:
        """The nodes, by name."""
        return [target for target in self.targets if target.kind == "node"]

    @property
    def engine_targets(self) -> list[TargetRow]:
        """The engine endpoints, by name."""
        return [target for target in self.targets if target.kind == "engine"]

    @cached_property
    def _engine_index(self) -> Mapping[str, list[int]]:
        return _by_metric(self.engines)

    def engines_of(self, *names: str) -> Frame:
        """The rows of `engines` that hold these metrics, in the frame's order."""
        return self.engines.take(sorted(row for name in names for row in self._engine_index.get(name, [])))

    def gauge(self, metric: Metric) -> float:
        """Sum of an engine gauge or recorded series over everything that offers it."""
        return current.total(self.engines_of(metric.name), metric.name, self.tick)

    def quotient(self, ratio: Ratio, window_ms: float | None = None) -> float:
        """Σ numerator ∕ Σ denominator over all engines. Several cards ask for the same: computed once per scene."""
        key = f"{ratio.name} over {window_ms}"
        if key not in self.kept:
            frame = self.engines_of(*ratios.stored_names(ratio))
            self.kept[key] = current.whole(ratio, frame, self.tick, window_ms)
        return float(self.kept[key])

    def recorded(self, metric: Metric) -> Frame:
        """A recorded series over the shown time."""
        return self.engines_of(metric.name).between(self.tick - SHOWN_MS, self.tick)


def _by_metric(frame: Frame) -> Mapping[str, list[int]]:
    index: dict[str, list[int]] = {}
    for row, series in enumerate(frame.series):
        index.setdefault(series.metric, []).append(row)
    return index


def names(metrics: tuple[Metric, ...]) -> frozenset[str]:
    """Names of some metrics."""
    return frozenset(metric.name for metric in metrics)


MODELS_EVERY_MS = 10_000


@dataclass
class Models:
    """What each engine target serves, read anew every ten seconds: facts hardly change."""

    read_ms: int | None = None
    known: Mapping[str, str] = field(default_factory=dict)

    def at(self, store: Store, now_ms: int) -> Mapping[str, str]:
        """Model by engine target."""
        if self.read_ms is None or not 0 <= now_ms - self.read_ms < MODELS_EVERY_MS:
            found = [fact for name in MODEL_FACTS for fact in store.facts(at_ms=now_ms, name=name)]
            self.known = {fact.target: model_in(fact.value) for fact in found}
            self.read_ms = now_ms
        return self.known


def watched(store: Store) -> list[TargetRow]:
    """The targets that the settings name, by name."""
    return [row for row in store.targets() if row.state != REMOVED]


def node_reach_ms(targets: Iterable[TargetRow]) -> float:
    """How far back node metrics are read: a window, a gap of the target that is read most rarely, and a margin."""
    slowest = max((target.interval_ms for target in targets), default=0)
    return max(NODE_MS, LONGEST * 1000 + NOMINAL_PER_GAP * slowest + current.MARGIN_MS)


def gather(
    store: Store,
    tail: Recent,
    tick: int,
    now_ms: int,
    *,
    models: Models | None = None,
    alarms: Alarms | None = None,
    gpus: Mapping[str, tuple[str, ...]] | None = None,
    latency: bool = False,
) -> Scene:
    """Read what the message of a tick needs. latency: with the histograms of the last hour."""
    targets = tuple(watched(store))
    commit = store.latest_commit()
    sources = [row.name for row in targets if row.kind == "engine"]
    recorded = [name for name in tail.targets() if name.startswith(cluster.DEPLOYMENT_PREFIX)]
    start = tick - SHOWN_MS
    alarms = alarms or Alarms()
    speaking = alarms.at(store, now_ms)
    return Scene(
        tick=tick,
        now_ms=now_ms,
        commit_ms=None if commit is None else commit.at_ms,
        targets=targets,
        absences=tuple(absence for absence in store.absences(tick, now_ms) if absence.end_ms is None),
        nodes=tail.frame(names(NODE_METRICS), start_ms=tick - node_reach_ms(targets), end_ms=tick),
        engines=tail.frame(
            names(ENGINE_METRICS),
            start_ms=start - LEAD_MS,
            end_ms=tick,
            targets=[*sources, *recorded, cluster.CLUSTER_TARGET],
        ),
        latency=_latency(tail, tick, sources) if latency else None,
        episodes=tuple(episode for name in recorded for episode in _episodes(store, name, start, tick)),
        models=(models or Models()).at(store, now_ms),
        alerts=speaking,
        silenced=alarms.silenced(now_ms),
        gpus=gpus or {},
    )


def _latency(tail: Recent, tick: int, sources: list[str]) -> Frame:
    return tail.frame(names(LATENCY_METRICS), start_ms=tick - WINDOW_MAX_MS, end_ms=tick, targets=sources)


def _episodes(store: Store, target: str, start: int, end: int) -> list[Episode]:
    return store.episodes(target.removeprefix(cluster.DEPLOYMENT_PREFIX), start, end)


WINDOWS_MS = {
    "decode_now": 5_000.0,
    "foreign_prefill": 60_000.0,
}
"""Windows of the first screen that are not a ratio's own."""

LONGEST = max(ratio.window_s for ratio in (quotients.ENERGY_PER_TOKEN, quotients.INTERCONNECT_PER_TOKEN))
assert LONGEST * 1000 + ratios.SILENT_MS + current.MARGIN_MS <= NODE_MS, "node frames must reach back far enough"
