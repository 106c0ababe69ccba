"""Absent is not zero: every metric of the catalogue taken away, made unknown, or gone silent with its target.

No answer and no cell may show 0 or an old value in its place, and each says why there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.live.reasons import stored_metrics
from telemetry import catalog
from telemetry.model import PARTS, Kind, Metric, Ratio, Scope, Series, part
from tests.web.conftest import Web
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, NAN, World, constant, rising, tick

GONE = 100
"""From this tick number on the metric is not there."""
LAST = 130
TARGETS = {
    Scope.NODE: "spark-02",
    Scope.TARGET: "spark-02",
    Scope.ENGINE: HEAD,
    Scope.DEPLOYMENT: DEPLOYMENT,
    Scope.CLUSTER: "cluster",
}


def all_stored() -> list[Metric]:
    """What can be in a store: metrics, and histograms by their parts."""
    found: list[Metric] = []
    for metric in catalog.METRICS:
        if isinstance(metric, Metric):
            found += [part(metric, name) for name in PARTS] if metric.kind is Kind.HISTOGRAM else [metric]
    return found


def complete(world: World) -> None:
    """Give every stored metric of the catalogue to a target that may have it."""
    values = {"gpu": "0", "engine": "0", "model": ENGINE[1][1], "le": "+Inf"}
    for metric in all_stored():
        owner = TARGETS[metric.scope]
        if not any(series.metric == metric.name for series in world.series[owner]):
            labels = tuple((name, values.get(name, "x")) for name in sorted(metric.by))
            course = rising(3.0) if metric.kind is Kind.COUNTER else constant(0.5)
            world.series[owner][Series(owner, metric.name, labels)] = course


def take_away(world: World, metric: Metric) -> None:
    """The metric is no longer on the page."""
    world.drop(metric.name)


def make_unknown(world: World, metric: Metric) -> None:
    """The metric is on the page, without a number."""
    for target, values in world.series.items():
        if any(series.metric == metric.name for series in values):
            world.set(target, metric, constant(NAN))


WAYS: dict[str, Callable[[World, Metric], None]] = {"taken away": take_away, "not a number": make_unknown}


class Worlds:
    """Web processes over complete worlds from which some metrics are gone since GONE; each is made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, ...], Web] = {}

    def without(self, way: str, metrics: list[Metric]) -> Web:
        """The one without these metrics."""
        key = (way, *(metric.name for metric in metrics))
        if key not in self._made:
            world = World(self._folder / f"{len(self._made)}.db", nodes=2)
            complete(world)
            world.run(GONE - 30, GONE - 1)
            for metric in metrics:
                WAYS[way](world, metric)
            world.run(GONE, LAST)
            self._made[key] = Web(world)
            self._made[key].step()
        return self._made[key]

    def close(self) -> None:
        """Close them all."""
        for web in self._made.values():
            web.close()
            web.world.close()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Makes worlds, and closes them at the end."""
    made = Worlds(tmp_path_factory.mktemp("absences"))
    yield made
    made.close()


GROUPS = sorted({metric.group for metric in all_stored()})


def values_of(web: Web, names: set[str]) -> list[dict[str, Any]]:
    return [one for one in web.get("latest")["values"] if one["metric"] in names]


def dependents(metric: Metric) -> set[str]:
    """The metric itself and the ratios that are read from it."""
    found = {metric.name}
    for other in catalog.METRICS:
        if isinstance(other, Ratio) and metric.name in {one.name for one in stored_metrics(other)}:
            found.add(other.name)
    return found


def check(web: Web, metric: Metric, gone: set[str]) -> None:
    """Nothing that is made of a metric is known any more."""
    for one in values_of(web, dependents(metric)):
        if one["labels"]["target"] in (TARGETS[metric.scope], "cluster"):
            assert one["v"] is None, one
            assert one["reason"], one
    lines = web.get(f"series?metric={metric.name}&start={tick(GONE - 5)}&end={tick(LAST)}")["series"]
    for line in lines:
        late = [value for t, value in zip(line["t"], line["v"], strict=True) if t >= tick(GONE)]
        assert all(value is None for value in late), line["labels"]
    assert metric.name in gone


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("group", GROUPS)
def test_whole_groups(worlds: Worlds, way: str, group: str) -> None:
    metrics = [metric for metric in all_stored() if metric.group == group]
    web = worlds.without(way, metrics)
    for metric in metrics:
        check(web, metric, {one.name for one in metrics})


@pytest.mark.live
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("metric", all_stored(), ids=lambda metric: metric.name)
def test_each_alone(worlds: Worlds, way: str, metric: Metric) -> None:
    check(worlds.without(way, [metric]), metric, {metric.name})


CELLS = {
    "decode.now": "generation_tokens_total",
    "decode.mean": "generation_tokens_total",
    "decode.peak": "recorded_decode_tokens_per_second",
    "decode.peak_1s": "recorded_decode_1s_tokens_per_second",
    "prefill.throughput": "prefill_tokens_total",
    "requests.running": "requests_running",
    "requests.waiting": "requests_waiting",
    "ttft.p50": "time_to_first_token_seconds_count",
    "itl.p95": "inter_token_latency_seconds_count",
    "acceptance": "speculative_draft_tokens_total",
    "accepted_length": "speculative_drafts_total",
    "kv": "kv_cache_usage_ratio",
    "prefix_hits": "prompt_tokens_total",
    "power": "cluster_gpu_power_watts",
    "energy_per_token": "gpu_energy_joules_total",
    "interconnect": "cluster_transmit_bytes_per_second",
    "interconnect_per_token": "rdma_transmit_bytes_total",
}
"""Cells, each with the metric without which it cannot be known."""
STAND_INS = {"decode.now": "reported_throughput_tokens_per_second"}
"""What an engine says itself, where a cell falls back to it."""
OVER_THE_PAST = {"decode.mean", "decode.peak", "decode.peak_1s", "ttft.p50", "itl.p95"}
"""Cells of a longer time, which still tell of what happened before."""


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize(("key", "name"), list(CELLS.items()))
def test_cells(worlds: Worlds, way: str, key: str, name: str) -> None:
    gone = [metric for metric in all_stored() if metric.name in (name, STAND_INS.get(key))]
    message = worlds.without(way, gone).process.hub.latest()[1]
    assert message is not None
    text, _, state, reason = message["cells"][key]
    if key in OVER_THE_PAST and state == "ok":
        assert text not in ("0", "0.0")
        return
    assert (text, state) == ("–", "unknown")
    assert reason


@pytest.mark.parametrize("target", ["spark-02", HEAD])
def test_silent_target_shows_nothing_old(tmp_path: Path, target: str) -> None:
    world = World(tmp_path / "silent.db", nodes=2)
    complete(world)
    world.run(GONE - 30, GONE - 1)
    world.silence(target, GONE, "timed out", "")
    world.run(GONE, LAST)
    web = Web(world)
    try:
        web.step()
        for one in web.get("latest")["values"]:
            if one["labels"]["target"] == target:
                assert one["v"] is None, one
                assert one["reason"] == f"{target} does not answer in time"
        lines = web.get(f"series?metric=scrape_duration_seconds&start={tick(GONE)}&end={tick(LAST)}")["series"]
        assert target not in {line["labels"]["target"] for line in lines if any(v is not None for v in line["v"])}
    finally:
        web.close()
        world.close()
