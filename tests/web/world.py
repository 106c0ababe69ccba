"""A small cluster whose numbers can be worked out by hand, written into a real store tick by tick.

Four nodes, one engine endpoint, one deployment; `World.second` adds another engine, and a deployment of its own where
it has one. Everything is linear in time: what a page must show follows from the
table below without a calculator. Tests change single series by `World.set`, or take things away by `World.drop`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from storage.records import Absence, Batch, Episode, Fact, Offset, Row, TargetRow
from storage.store import Store, open_store
from telemetry.catalog import cluster, engine, gpu, memory, network
from telemetry.model import Metric, Series, part

T0 = 1_796_000_000_000
GIB = 1024.0**3
ENGINE = (("engine", "0"), ("model", "moonshotai/Kimi-K3"))
HEAD, DEPLOYMENT = "head", "deployment/Kimi-K3"
NAN = float("nan")
Value = Callable[[int], float]
"""Value of a series at a tick's number."""


def tick(number: int) -> int:
    """Instant of a tick's number, one a second."""
    return T0 + number * 1000


def constant(value: float) -> Value:
    """The same at every tick."""
    return lambda _number: value


def rising(rate: float) -> Value:
    """A counter that grows by `rate` a second."""
    return lambda number: rate * number


FUNCTIONS = (("p0", "f0"), ("p0", "f1"), ("p1", "f2"), ("p1", "f3"))


def node_series(place: int) -> dict[tuple[Metric, tuple[tuple[str, str], ...]], Value]:
    """What the node at this place (0, 1, …) reports: 50 W, 51 W, …; four functions that send 100 MB/s each."""
    one = (("gpu", "0"),)
    found: dict[tuple[Metric, tuple[tuple[str, str], ...]], Value] = {
        (gpu.GPU_UTILIZATION, one): constant(0.96),
        (gpu.GPU_POWER, one): constant(50.0 + place),
        (gpu.GPU_TEMPERATURE, one): constant(60.0 + place),
        (gpu.GPU_SM_CLOCK, one): constant(2.4e9),
        (gpu.GPU_SM_CLOCK_MAX, one): constant(3.0e9),
        (gpu.GPU_ENERGY, one): rising(50.0 + place),
        (gpu.GPU_CLOCK_EVENT_REASONS, one): constant(0.0),
        (gpu.GPU_READING_STATE, one): constant(0.0),
        (memory.MEMORY_HEADROOM, ()): constant(25 * GIB),
        (memory.MEMORY_USED, ()): constant(96 * GIB),
        (memory.MEMORY_TOTAL, ()): constant(120 * GIB),
        (memory.CMA_DEFECT, ()): constant(0.0),
        (cluster.SCRAPE_SECONDS, ()): constant(0.004),
        (cluster.SCRAPE_BYTES, ()): constant(23_000.0),
        (cluster.CLOCK_SKEW, ()): constant(0.001),
    }
    for cage, function in FUNCTIONS:
        labels = (("cage", cage), ("function", function))
        found[network.RDMA_TRANSMIT, labels] = rising(1e8)
        found[network.RDMA_RECEIVE, labels] = rising(1e8)
        found[network.NETDEV_TRANSMIT, labels] = rising(0.0)
        found[network.NETDEV_RECEIVE, labels] = rising(0.0)
        found[network.LINK_UP, labels] = constant(1.0)
    for cage in ("p0", "p1"):
        found[network.CAGE_CAPACITY, (("cage", cage),)] = constant(25e9)
    return found


TTFT_EDGES = {"1.0": 0.2, "5.0": 0.9, "10.0": 1.0, "+Inf": 1.0}
ITL_EDGES = {"0.1": 0.25, "0.2": 1.0, "+Inf": 1.0}
"""Share of the observations at or below each edge."""


def engine_series() -> dict[tuple[Metric, tuple[tuple[str, str], ...]], Value]:
    """20 tokens/s from 5 drafts/s of 8 tokens, 3 of which are accepted; one request and 5 steps per second."""
    found: dict[tuple[Metric, tuple[tuple[str, str], ...]], Value] = {
        (engine.GENERATION_TOKENS, ENGINE): rising(20.0),
        (engine.PROMPT_TOKENS, ENGINE): rising(100.0),
        (engine.PROMPT_TOKENS_CACHED, ENGINE): rising(56.0),
        (engine.PROMPT_TOKENS_COMPUTED, ENGINE): rising(44.0),
        (engine.REQUESTS_RUNNING, ENGINE): constant(3.0),
        (engine.REQUESTS_WAITING, ENGINE): constant(1.0),
        (engine.KV_CACHE_USAGE, ENGINE): constant(0.41),
        (engine.KV_CACHE_CAPACITY, ENGINE): constant(1e6),
        (engine.DRAFTS, ENGINE): rising(5.0),
        (engine.DRAFT_TOKENS, ENGINE): rising(40.0),
        (engine.ACCEPTED_TOKENS, ENGINE): rising(15.0),
        (engine.ENGINE_PHASE, ENGINE): constant(3.0),
        (part(engine.TTFT, "sum"), ENGINE): rising(4.0),
        (part(engine.TTFT, "count"), ENGINE): rising(1.0),
        (part(engine.ITL, "sum"), ENGINE): rising(0.75),
        (part(engine.ITL, "count"), ENGINE): rising(5.0),
        (cluster.SCRAPE_SECONDS, ()): constant(0.01),
        (cluster.SCRAPE_BYTES, ()): constant(50_000.0),
    }
    for histogram, edges, rate in ((engine.TTFT, TTFT_EDGES, 1.0), (engine.ITL, ITL_EDGES, 5.0)):
        for edge, share in edges.items():
            found[part(histogram, "bucket"), tuple(sorted((*ENGINE, ("le", edge))))] = rising(rate * share)
    return found


def recorded_series() -> dict[str, dict[tuple[Metric, tuple[tuple[str, str], ...]], Value]]:
    """What the collector records of the whole: 206 W, 1.6 GB/s, 20 tokens/s, 750 tokens/s of prefill."""
    return {
        DEPLOYMENT: {
            (cluster.RECORDED_DECODE, ()): constant(20.0),
            (cluster.RECORDED_DECODE_1S, ()): constant(25.0),
            (cluster.DEPLOYMENT_RUNNING, ()): constant(3.0),
            (cluster.PREFILL_TOKENS, ()): rising(150.0),
            (cluster.PREFILL_SECONDS, ()): rising(0.2),
        },
        cluster.CLUSTER_TARGET: {
            (cluster.CLUSTER_POWER, ()): constant(206.0),
            (cluster.CLUSTER_TRANSMIT, ()): constant(1.6e9),
            (cluster.CLUSTER_WORST_CAGE, ()): constant(2e8),
            (cluster.CLUSTER_UTILIZATION, ()): constant(0.96),
        },
    }


class World:
    """The cluster, and the store it is written into. `now` is the clock of whoever reads it: the last tick."""

    def __init__(self, path: Path, nodes: int = 4, engines: bool = True) -> None:
        self.url = f"sqlite:///{path}"
        self.now = T0
        self.writer: Store = open_store(self.url, writer=True, now_ms=T0)
        self.series: dict[str, dict[Series, Value]] = {}
        self.rows: dict[str, TargetRow] = {}
        self.silent: dict[str, int] = {}
        self.gone: dict[str, list[tuple[int, int]]] = {}
        for place in range(nodes):
            self.add(f"spark-{place + 1:02}", "node", node_series(place))
        if engines:
            self.add(HEAD, "engine", engine_series())
        for name, values in recorded_series().items():
            if nodes and (engines or name == cluster.CLUSTER_TARGET):
                self.series[name] = {Series(name, one.name, labels): value for (one, labels), value in values.items()}

    def add(self, name: str, kind: str, values: dict[tuple[Metric, tuple[tuple[str, str], ...]], Value]) -> None:
        """A target with its series."""
        self.series[name] = {Series(name, one.name, labels): value for (one, labels), value in values.items()}
        self.rows[name] = TargetRow(name, kind, f"http://{name}:9810", 1000, "ok", "", T0, T0)

    def second(self, name: str, model: str, deployment: str | None = None, rate: float = 30.0) -> None:
        """Another engine, which makes `rate` tokens/s. model: its label, "" for none. deployment: recorded besides."""
        labels = (("engine", "0"), *((("model", model),) if model else ()))
        own = {
            (metric, labels if of else ()): value
            for (metric, of), value in engine_series().items()
            if "le" not in dict(of)
        }
        self.add(name, "engine", own | {(engine.GENERATION_TOKENS, labels): rising(rate)})
        if deployment is not None:
            target = f"{cluster.DEPLOYMENT_PREFIX}{deployment}"
            self.series[target] = {Series(target, cluster.RECORDED_DECODE.name, ()): constant(rate)}

    def away(self, name: str, first: int, last: int) -> None:
        """A target that is not read at the ticks first … last, and is again afterwards."""
        self.gone.setdefault(name, []).append((first, last))

    def set(self, target: str, metric: Metric, value: Value) -> None:
        """Give every series of a metric on a target another course."""
        hit = [series for series in self.series[target] if series.metric == metric.name]
        assert hit, f"{target} has no {metric.name}"
        for series in hit:
            self.series[target][series] = value

    def drop(self, metric: str, target: str | None = None) -> None:
        """Take a metric off every page, or off that of one target."""
        for name, values in self.series.items():
            if target in (None, name):
                for series in [one for one in values if one.metric == metric]:
                    del values[series]

    def state(self, name: str, state: str, reason: str = "", *, since: int = T0) -> None:
        """What the collector says of a target from now on; written with the next tick."""
        before = self.rows[name]
        self.rows[name] = TargetRow(
            name, before.kind, before.url, 1000, state, reason, since, before.last_ok_ms, before.detail
        )

    def silence(self, name: str, since: int, state: str = "refused", reason: str = "no agent listens") -> None:
        """A target that does not answer from this tick number on."""
        self.silent[name] = since
        self.state(name, state, reason, since=tick(since))

    def run(self, first: int, last: int) -> None:
        """Write the ticks first … last in one commit; the clock stands at the last one."""
        layouts = {name: self.writer.layout(name, tuple(values)) for name, values in self.series.items() if values}
        rows = [row for number in range(first, last + 1) for row in self._rows(number, layouts)]
        self.now = tick(last)
        self.commit(rows=rows, targets=tuple(self.rows.values()))

    def _rows(self, number: int, layouts: dict[str, int]) -> Iterable[Row]:
        for name, values in self.series.items():
            away = any(first <= number <= last for first, last in self.gone.get(name, ()))
            if number >= self.silent.get(name, 10**9) or away or not values:
                continue
            numbers = np.array([value(number) for value in values.values()])
            yield Row(tick(number), name, tick(number), layouts[name], numbers)

    def commit(self, **parts: object) -> None:
        """Write a batch as the collector would, at the clock's instant."""
        self.writer.commit(Batch(**parts), self.now)  # type: ignore[arg-type]

    def absent(self, target: str, metric: str | None, since: int, reason: str) -> None:
        """An absence that lasts."""
        self.commit(absences_opened=[Absence(target, metric, tick(since), None, reason)])

    def prefill(self, first: int, last: int, tokens: int | None, seconds: float | None) -> None:
        """A finished prefill."""
        self.commit(episodes=[Episode("Kimi-K3", HEAD, "0", tick(first), tick(last), tokens, seconds)])

    def fact(self, target: str, name: str, value: str) -> None:
        """A fact from now on."""
        self.commit(facts=[Fact(target, name, value, self.now)])

    def restart(self, target: str, metric: Metric, number: int) -> None:
        """A counter's restart at a tick."""
        hit = [series for series in self.series[target] if series.metric == metric.name]
        self.commit(offsets=[Offset(target, one.metric, one.labels, tick(number), 0.0, "restart") for one in hit])

    def close(self) -> None:
        """Close the writer."""
        self.writer.close()
