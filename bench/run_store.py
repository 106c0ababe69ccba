"""A store with one long run in it, for benchmarks: 16 nodes, one engine, everything at 1 Hz, every full hour sealed.

A request or four decode at 20 tokens/s with speculative drafts, a prefill every five minutes; one node's clock falls
by a tenth and its temperature rises in the middle of the run. All other series are the catalogue's, made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bench.summary import HOUR_MS, NODES, series_of
from pipeline import digest
from runs.machines import SAMPLES
from runs.model import Mark, Run
from runs.subject import Member
from storage.records import Batch, Episode, Event, Row, RunMark, TargetRow
from storage.store import Store, open_store
from telemetry import catalog
from telemetry.catalog import cluster, engine, gpu, memory, network
from telemetry.frame import Floats
from telemetry.model import Kind, Scope, Series

START_MS = 1_796_000_400_000 // HOUR_MS * HOUR_MS
HOUR_S = 3600
DEPLOYMENT, ENGINE = "model", "head"
MEMBER = Member(ENGINE, "0", "org/model")
SLOW = 6
"""Place of the node that is slowed down."""
PREFILL_S, PREFILL_TOKENS, EVERY_S = 12.0, 9_000, 300
GIB = 1024.0**3
Make = Callable[[np.random.Generator, Floats, bool], Floats]
"""Values of a series: of noise, seconds since the run began, and whether the node is slow then."""
LEAN = frozenset({*(metric.name for metric in SAMPLES), gpu.GPU_ENERGY.name, gpu.GPU_THROTTLE.name})
STEADY = frozenset({network.CAGE_CAPACITY.name, network.MTU.name, gpu.GPU_SM_CLOCK_MAX.name})


def _wave(seconds: Floats, period: float) -> Floats:
    return np.sin(seconds * 2 * np.pi / period)


GAUGES: Mapping[str, Make] = {
    gpu.GPU_POWER.name: lambda noise, t, slow: 62 + 9 * _wave(t, 700) + noise.normal(0, 2, len(t)) - 14 * slow,
    gpu.GPU_UTILIZATION.name: lambda noise, t, _slow: np.clip(0.96 + noise.normal(0, 0.01, len(t)), 0, 1),
    gpu.GPU_TEMPERATURE.name: lambda _noise, t, slow: np.round(64 + 3 * _wave(t, 2400) + 11 * slow),
    gpu.GPU_SM_CLOCK.name: lambda noise, t, slow: 2.4e9 + 1e6 * noise.integers(-9, 9, len(t)) - 2.7e8 * slow,
    memory.MEMORY_USED.name: lambda noise, t, _slow: (96 + t / 3600 + 0.1 * noise.random(len(t))) * GIB,
    memory.MEMORY_TOTAL.name: lambda _noise, t, _slow: np.full(len(t), 119.7 * GIB),
    engine.REQUESTS_RUNNING.name: lambda _noise, t, _slow: np.round(2.5 + 1.6 * _wave(t, 1500)),
    engine.REQUESTS_WAITING.name: lambda _noise, t, _slow: np.maximum(np.round(3 * _wave(t, 1500)) - 1, 0),
    engine.KV_CACHE_USAGE.name: lambda _noise, t, _slow: 0.4 + 0.25 * _wave(t, 1500),
    cluster.RECORDED_DECODE.name: lambda noise, t, _slow: 20 + 6 * _wave(t, 1500) + noise.normal(0, 1.5, len(t)),
    cluster.DEPLOYMENT_RUNNING.name: lambda _noise, t, _slow: np.round(2.5 + 1.6 * _wave(t, 1500)),
}
RATES = {"bytes": 10**7, "energy": 62}


class Story:
    """Values of every series, hour by hour; counters go on from hour to hour."""

    def __init__(self, hours: int, nodes: int, *, lean: bool = False) -> None:
        """lean: of the nodes only what a summary reads of every sample, so that a day is made in minutes."""
        self.seconds = hours * HOUR_S
        self.nodes = [f"spark-{number + 1:02d}" for number in range(nodes)]
        self.series: dict[str, tuple[Series, ...]] = {name: series_of(name, Scope.NODE) for name in self.nodes}
        self.series[ENGINE] = (*series_of(ENGINE, Scope.ENGINE), Series(ENGINE, cluster.SCRAPE_SECONDS.name))
        recorded = (cluster.RECORDED_DECODE, cluster.DEPLOYMENT_RUNNING)
        target = f"{cluster.DEPLOYMENT_PREFIX}{DEPLOYMENT}"
        self.series[target] = tuple(Series(target, metric.name) for metric in recorded)
        if lean:
            self.series |= {name: tuple(one for one in self.series[name] if one.metric in LEAN) for name in self.nodes}
        self.noise = np.random.default_rng(7)
        self.last: dict[Series, float] = {}

    def hour(self, target: str, hour: int) -> Floats:
        """float64[second, series]."""
        t = np.arange(hour * HOUR_S, (hour + 1) * HOUR_S, dtype=np.float64)
        late = target in self.nodes[SLOW : SLOW + 1] and hour * HOUR_S >= self.seconds / 2
        return np.stack([self._line(series, t, late) for series in self.series[target]], axis=1)

    def _line(self, series: Series, t: Floats, slow: bool) -> Floats:
        metric = catalog.stored(series.metric)
        if metric.kind is Kind.COUNTER:
            return self._counter(series, len(t))
        if metric is engine.ENGINE_PHASE:
            return np.where(t % EVERY_S < PREFILL_S, 2.0, 3.0)
        if series.metric in STEADY:
            return np.full(len(t), 2.5e10)
        make = GAUGES.get(series.metric)
        return self.noise.normal(50, 1, len(t)).round(1) if make is None else make(self.noise, t, slow)

    def _counter(self, series: Series, count: int) -> Floats:
        still = series.label("counter") not in (None, "counter_0") or series.label("reason") not in (None, "power_cap")
        most = next((rate for word, rate in RATES.items() if word in series.metric), 40)
        steps = np.zeros(count) if still else self.noise.integers(0, most + 1, count)
        if series.label("le") is not None:
            steps = np.round(np.full(count, 0.2 + 0.05 * min(float(series.label("le") or 0), 60.0)))
        values = self.last.get(series, 0.0) + np.cumsum(steps)
        self.last[series] = float(values[-1])
        return values


def fill(path: Path, hours: int, nodes: int = NODES, *, lean: bool = False) -> Run:
    """Make the store at a path, with its run settled. lean: as of `Story`."""
    store = open_store(f"sqlite:///{path}", writer=True, now_ms=START_MS)
    story = Story(hours, nodes, lean=lean)
    layouts = {name: store.layout(name, series) for name, series in story.series.items()}
    state = [
        TargetRow(name, "engine" if name == ENGINE else "node", "", 1000, "ok", "", START_MS, START_MS)
        for name in (*story.nodes, ENGINE)
    ]
    store.commit(Batch(targets=state), START_MS)
    for hour in range(hours):
        _hour(store, story, layouts, hour)
    end = START_MS + hours * HOUR_MS - 1000
    run = Run(1, DEPLOYMENT, "long run", START_MS, end, "requests ran", "silence", model="org/model", engines=(MEMBER,))
    told = [Event(0, START_MS + n * 1_700_000, story.nodes[n % nodes], "throttle", "slowed by heat") for n in range(9)]
    mark = RunMark(1, Mark(START_MS + hours * HOUR_MS // 2, "note", "fan of spark-07 stopped"))
    store.commit(Batch(runs=[run], marks=[mark], events=told), end)
    digest.settle(store, run)
    store.close()
    return run


def _hour(store: Store, story: Story, layouts: Mapping[str, int], hour: int) -> None:
    values = {name: story.hour(name, hour) for name in story.series}
    begin = START_MS + hour * HOUR_MS
    for low in range(0, HOUR_S, 60):
        rows = [
            Row(begin + second * 1000, name, begin + second * 1000 + 40, layouts[name], values[name][second])
            for second in range(low, low + 60)
            for name in values
        ]
        store.commit(Batch(rows=rows, episodes=_prefills(begin + low * 1000, low)), begin + low * 1000)
    for name in values:
        store.seal(name, begin, begin + 2 * HOUR_MS)


def _prefills(begin: int, low: int) -> list[Episode]:
    if low % EVERY_S:
        return []
    return [Episode(DEPLOYMENT, ENGINE, "0", begin, begin + int(PREFILL_S * 1000), PREFILL_TOKENS, PREFILL_S)]
