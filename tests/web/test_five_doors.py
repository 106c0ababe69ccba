"""One number, several doors: what a page shows, /latest, /series and the store itself agree, after one formatter."""

from __future__ import annotations

import random

import numpy as np
import pytest

from telemetry import catalog, formatting
from telemetry.catalog import cluster, engine, gpu, memory
from telemetry.catalog import ratios as quotients
from telemetry.model import Kind, Metric, Ratio, Scope
from telemetry.near import answer
from telemetry.query import Query
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import World, tick

LAST = 400
NODE_CELLS: list[Metric | Ratio | None] = [
    gpu.GPU_UTILIZATION,
    gpu.GPU_POWER,
    gpu.GPU_TEMPERATURE,
    gpu.GPU_SM_CLOCK,
    memory.MEMORY_HEADROOM,
    None,  # summed over cages below
]
CELLS: dict[str, Metric | Ratio] = {
    "requests.running": engine.REQUESTS_RUNNING,
    "requests.waiting": engine.REQUESTS_WAITING,
    "acceptance": quotients.ACCEPTANCE,
    "accepted_length": quotients.ACCEPTED_LENGTH,
    "kv": engine.KV_CACHE_USAGE,
    "prefix_hits": quotients.PREFIX_HITS,
    "power": cluster.CLUSTER_POWER,
    "energy_per_token": quotients.ENERGY_PER_TOKEN,
    "interconnect": cluster.CLUSTER_TRANSMIT,
    "interconnect_per_token": quotients.INTERCONNECT_PER_TOKEN,
    "prefill.throughput": quotients.PREFILL_TPS,
}


def uneven(world: World, seed: int) -> None:
    """Every series goes its own uneven way: counters in random steps, gauges around their level."""
    dice = random.Random(seed)
    for values in world.series.values():
        for series, before in list(values.items()):
            steps = [dice.uniform(0.2, 1.8) for _ in range(LAST + 1)]
            if catalog.stored(series.metric).kind is Kind.COUNTER:
                line = np.cumsum([(before(n + 1) - before(n)) * steps[n] for n in range(LAST + 1)])
            else:
                line = np.array([before(n) * (0.95 + 0.05 * steps[n]) for n in range(LAST + 1)])
            if catalog.stored(series.metric).kind is not Kind.STATE:
                values[series] = lambda number, line=line: float(line[number])  # type: ignore[misc]


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A web process over an uneven world."""
    world = make_world()
    uneven(world, 2)
    world.run(0, LAST)
    web = make_web(world)
    web.step()
    return web


def shown(cell: list[str]) -> str:
    return " ".join(part for part in cell[:2] if part)


def through_latest(web: Web, metric: Metric | Ratio, **scope: str) -> float:
    query = "&".join(f"{key}={value}" for key, value in {"metric": metric.name, **scope}.items())
    (one,) = web.get(f"latest?{query}")["values"]
    return float(one["v"])


def through_series(web: Web, metric: Metric | Ratio, **scope: str) -> float:
    query = "&".join(f"{key}={value}" for key, value in {"metric": metric.name, **scope}.items())
    (line,) = web.get(f"series?{query}&start={tick(LAST - 5)}&end={tick(LAST)}")["series"]
    assert line["t"][-1] == tick(LAST)
    return float(line["v"][-1])


def through_store(web: Web, metric: Metric | Ratio, target: str | None = None) -> float:
    targets = None if target is None else frozenset({target})
    query = Query(metric, tick(LAST - 5), tick(LAST), targets=targets)
    frame = web.world.writer.frame(list(query.stored()), None, query.start_ms - query.lead_ms, query.end_ms)
    (line,) = answer(query, frame)
    assert line.values is not None
    return float(line.values[-1])


@pytest.mark.parametrize("key", list(CELLS))
def test_first_screen(web: Web, key: str) -> None:
    message = web.process.hub.latest()[1]
    assert message is not None
    metric = CELLS[key]
    text = shown(message["cells"][key])
    for value in (through_latest(web, metric), through_series(web, metric), through_store(web, metric)):
        assert formatting.text(value, metric.unit) == text


@pytest.mark.parametrize(("key", "metric"), [("ttft", engine.TTFT), ("itl", engine.ITL)])
def test_percentiles(web: Web, key: str, metric: Metric) -> None:
    message = web.process.hub.latest()[1]
    assert message is not None
    for name, quantile in (("p50", "0.5"), ("p95", "0.95")):
        told = through_latest(web, metric, quantile=quantile)
        assert formatting.text(told, metric.unit) == shown(message["cells"][f"{key}.{name}"])


def test_a_percentile_of_few_requests_has_the_pages_window(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A request in ten seconds: 100 of them take 1000 s, and slower ones before are in neither answer."""
    world = make_world()
    for series in list(world.series["head"]):
        if series.metric.startswith(engine.TTFT.name):
            share = {"1.0": 0.0, "5.0": 0.5}.get(series.label("le") or "", 1.0)
            slow = 0.0 if "le" in dict(series.labels) and series.label("le") in ("1.0", "5.0") else 0.1
            rate = 0.1 * share * (4.0 if series.metric.endswith("_sum") else 1.0)
            world.series["head"][series] = lambda n, slow=slow, rate=rate: (  # type: ignore[misc]
                slow * n if n < 200 else slow * 200 + rate * (n - 200)
            )
    world.run(0, 1400)
    web = make_web(world)
    cells = web.step()["cells"]
    (one,) = web.get("latest?metric=time_to_first_token_seconds")["values"]
    assert (one["count"], one["window_ms"]) == (pytest.approx(100), 1_000_000)
    assert formatting.text(one["v"], engine.TTFT.unit) == shown(cells["ttft.p50"])


@pytest.mark.parametrize("place", range(5))
def test_node_tiles(web: Web, place: int) -> None:
    message = web.process.hub.latest()[1]
    assert message is not None
    metric = NODE_CELLS[place]
    assert metric is not None
    for node in message["nodes"]:
        name = node["name"]
        doors = (
            through_latest(web, metric, node=name),
            through_series(web, metric, node=name),
            through_store(web, metric, name),
        )
        assert {formatting.text(value, metric.unit) for value in doors} == {shown(node["cells"][place])}


def test_a_nodes_interconnect_is_the_sum_of_its_cages(web: Web) -> None:
    message = web.process.hub.latest()[1]
    assert message is not None
    metric = quotients.INTERCONNECT_TRANSMIT
    for node in message["nodes"]:
        values = web.get(f"latest?metric={metric.name}&node={node['name']}")["values"]
        assert formatting.text(sum(one["v"] for one in values), metric.unit) == shown(node["cells"][5])


def test_two_hundred_random_questions(web: Web) -> None:
    """Any metric, any scope, any window: /series, /latest and the store say the same at the newest tick."""
    dice = random.Random(7)
    offered = {one["metric"] for one in web.get("latest")["values"] if one["v"] is not None}
    metrics = [metric for metric in catalog.METRICS if metric.name in offered]
    asked = 0
    for _ in range(200):
        metric = dice.choice(metrics)
        target = dice.choice(["spark-01", "spark-04"]) if metric.scope is Scope.NODE else None
        points = dice.choice([7, 60, 600, 600])
        span = dice.choice([20, 100, 300])
        scope = {} if target is None else {"node": target}
        query = "&".join(f"{key}={value}" for key, value in {"metric": metric.name, **scope}.items())
        history = web.get(f"series?{query}&start={tick(LAST - span)}&end={tick(LAST)}&points={points}")
        newest = {_place(one): one["v"] for one in web.get(f"latest?{query}")["values"] if one["v"] is not None}
        stored = Query(metric, tick(LAST - span), tick(LAST), points, None if target is None else frozenset({target}))
        frame = web.world.writer.frame(list(stored.stored()), None, stored.start_ms - stored.lead_ms, tick(LAST))
        lines = answer(stored, frame)
        assert len(lines) == len(history["series"])
        for line, told in zip(lines, history["series"], strict=True):
            of_bins = ("max", line.maximum) if metric.kind is Kind.STATE else ("mean", line.mean)
            name, kept = of_bins if line.values is None else ("v", line.values)
            assert kept is not None
            assert told[name] == pytest.approx([None if np.isnan(v) else v for v in kept.tolist()])
            if "v" in told and told["v"] and told["v"][-1] is not None:
                assert newest[_place(told)] == pytest.approx(told["v"][-1]), metric.name
                asked += 1
    assert asked > 100, "enough of the questions had an answer to compare"


def _place(one: dict[str, dict[str, str]]) -> tuple[tuple[str, str], ...]:
    labels = {key: value for key, value in one["labels"].items() if value != "cluster"}
    return tuple(sorted(labels.items()))
