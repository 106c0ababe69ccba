"""Recorded series: sums over targets at a tick, unknown while a part of them is."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline import recorded
from pipeline.deployments import EngineId
from pipeline.recorded import Prefills, RecordedRow
from pipeline.window import Window
from telemetry import catalog
from telemetry.catalog import cluster, engine, gpu, network
from telemetry.model import Metric, Series
from telemetry.phases import Prefill

E0, E1 = EngineId("head", "0", "m"), EngineId("second", "0", "m")
STRANGER = EngineId("head", "9", "other")


def engine_row(one: EngineId, tokens: float, running: float) -> dict[Series, float]:
    labels = (("engine", one.engine), ("model", one.model))
    return {
        Series(one.target, engine.GENERATION_TOKENS.name, labels): tokens,
        Series(one.target, engine.REQUESTS_RUNNING.name, labels): running,
    }


def node_row(node: str, watts: float, use: float, sent: float, received: float = 0.0) -> dict[Series, float]:
    cage, chip = (("cage", "p0"),), (("gpu", "0"),)
    return {
        Series(node, gpu.GPU_POWER.name, chip): watts,
        Series(node, gpu.GPU_UTILIZATION.name, chip): use,
        Series(node, network.RDMA_TRANSMIT.name, cage): sent,
        Series(node, network.NETDEV_TRANSMIT.name, cage): 0.0,
        Series(node, network.RDMA_RECEIVE.name, cage): received,
        Series(node, network.NETDEV_RECEIVE.name, cage): 0.0,
    }


class World:
    def __init__(self) -> None:
        self.window = Window(120_000)
        self.prefills = Prefills()

    def add(self, tick: int, values: dict[Series, float]) -> None:
        target = next(iter(values)).target
        self.window.add(target, tick, float(tick), tuple(values), np.array(list(values.values()), dtype=float))

    def rows(self, tick: int, **deployments: list[EngineId]) -> dict[str, dict[str, float | None]]:
        found = recorded.rows(self.window, tick, deployments, self.prefills)
        return {row.target: plain(row) for row in found}


def plain(row: RecordedRow) -> dict[str, float | None]:
    assert all(one.target == row.target and not one.labels for one in row.series)
    return {
        one.metric: None if np.isnan(value) else round(float(value), 6)
        for one, value in zip(row.series, row.values, strict=True)
    }


def test_a_deployments_row_is_the_sum_of_its_engines() -> None:
    world = World()
    for second in range(15):
        world.add(second * 1000, engine_row(E0, 30.0 * second, 2) | engine_row(STRANGER, 1e6 * second, 50))
        world.add(second * 1000, engine_row(E1, 10.0 * second + (7 if second == 14 else 0), 1))
    world.prefills.add("M", Prefill(0, 40_000, 60_000.0, 40.0))
    found = world.rows(14_000, M=[E0, E1])["deployment/M"]
    assert found == {
        "recorded_decode_tokens_per_second": pytest.approx(40.7),
        "recorded_decode_1s_tokens_per_second": pytest.approx(47.0),
        "deployment_requests_running": 3,
        "prefill_tokens_total": 60_000,
        "prefill_seconds_total": 40,
    }
    assert all(catalog.find(name) for name in found)


def test_decode_is_unknown_until_its_window_is_full() -> None:
    world = World()
    for second in range(6):
        world.add(second * 1000, engine_row(E0, 30.0 * second, 2))
    found = world.rows(5000, M=[E0])["deployment/M"]
    assert found["recorded_decode_tokens_per_second"] is None
    assert found["recorded_decode_1s_tokens_per_second"] == 30
    assert (found["prefill_tokens_total"], found["prefill_seconds_total"]) == (0, 0)


def test_an_engine_that_falls_silent_makes_the_sum_unknown_for_fifteen_seconds() -> None:
    world = World()
    for second in range(40):
        world.add(second * 1000, engine_row(E0, 30.0 * second, 2))
        if second <= 12:
            world.add(second * 1000, engine_row(E1, 10.0 * second, 1))
    decode = {
        second: world.rows(second * 1000, M=[E0, E1])["deployment/M"]["recorded_decode_tokens_per_second"]
        for second in (12, 14, 15, 27, 28)
    }
    assert decode == {12: 40, 14: 40, 15: None, 27: None, 28: 30}


def test_an_engine_that_does_not_answer_any_more_is_still_missed() -> None:
    """Its deployment is told without it from then on; for as long as a sum misses it, and no longer."""
    world = World()
    recorder = recorded.Recorder(world.window, world.prefills)
    told: dict[int, tuple[float | None, float | None]] = {}
    for second in range(40):
        world.add(second * 1000, engine_row(E0, 30.0 * second, 2))
        if second <= 12:
            world.add(second * 1000, engine_row(E1, 10.0 * second, 1))
        found = {
            row.target: plain(row) for row in recorder.rows(second * 1000, {"M": [E0, E1] if second < 13 else [E0]})
        }
        values = found["deployment/M"]
        told[second] = values["recorded_decode_tokens_per_second"], values["deployment_requests_running"]
    assert [told[second] for second in (12, 14, 15, 27, 28, 39)] == [(40, 3), (40, 3), (None,) * 2, (None,) * 2] + [
        (30, 2)
    ] * 2


def test_an_engine_of_another_deployment_is_not_missed() -> None:
    world = World()
    recorder = recorded.Recorder(world.window, world.prefills)
    for second in range(20):
        world.add(second * 1000, engine_row(E0, 30.0 * second, 2))
        world.add(second * 1000, engine_row(E1, 10.0 * second, 1))
        deployments = {"M": [E0, E1]} if second < 13 else {"M": [E0], "N": [E1]}
        found = {row.target: plain(row) for row in recorder.rows(second * 1000, deployments)}
    assert found["deployment/M"]["recorded_decode_tokens_per_second"] == 30
    assert found["deployment/N"]["deployment_requests_running"] == 1


def test_values_stand_while_an_engine_is_not_due_and_no_longer() -> None:
    world = World()
    world.window.set_intervals({"head": 2000})
    for second in range(0, 22, 2):
        world.add(second * 1000, engine_row(E0, 30.0 * second, 2))
    for tick, running in ((20_000, 2), (21_000, 2), (25_000, 2), (25_001, None)):
        found = world.rows(tick, M=[E0])["deployment/M"]
        assert found["deployment_requests_running"] == running
        assert found["recorded_decode_tokens_per_second"] == (None if running is None else 30)
        assert found["recorded_decode_1s_tokens_per_second"] is None, "shorter than the interval"


def test_the_clusters_row() -> None:
    world = World()
    for second in range(12):
        world.add(second * 1000, node_row("n1", 80, 0.9, 500.0 * second, 10.0 * second))
        world.add(second * 1000, node_row("n2", 60, 0.5, 300.0 * second, 900.0 * second))
    assert world.rows(11_000) == {
        "cluster": {
            cluster.CLUSTER_POWER.name: 140,
            cluster.CLUSTER_UTILIZATION.name: 0.7,
            cluster.CLUSTER_TRANSMIT.name: 800,
            cluster.CLUSTER_WORST_CAGE.name: 900,
        }
    }


def test_power_is_unknown_while_a_node_is_missing() -> None:
    world = World()
    for second in range(30):
        world.add(second * 1000, node_row("n1", 80, 0.9, 0.0))
        if second < 12:
            world.add(second * 1000, node_row("n2", 60, 0.5, 0.0))
    watts = {
        second: world.rows(second * 1000)["cluster"][cluster.CLUSTER_POWER.name] for second in (11, 13, 14, 26, 27)
    }
    assert watts == {11: 140, 13: 140, 14: None, 26: None, 27: 80}


def test_a_row_of_nothing_is_no_row() -> None:
    assert World().rows(1000) == {}
    assert list(World().rows(1000, M=[E0])) == ["deployment/M"], "its prefills are known: none"


def test_a_cage_is_busy_in_its_own_direction_only() -> None:
    world = World()
    for second in range(12):
        row = node_row("n1", 80, 0.9, 100.0 * second, 90.0 * second)
        row |= {
            Series("n1", network.RDMA_TRANSMIT.name, (("cage", "p1"),)): 120.0 * second,
            Series("n1", network.NETDEV_TRANSMIT.name, (("cage", "p1"),)): 0.0,
        }
        row |= {Series("n1", network.NETDEV_TRANSMIT.name, (("cage", "p1"),)): 0.0}
        world.add(second * 1000, row)
    found = world.rows(11_000)["cluster"]
    assert found[cluster.CLUSTER_WORST_CAGE.name] == 120
    assert found[cluster.CLUSTER_TRANSMIT.name] == 220


@pytest.mark.parametrize(
    ("tokens", "seconds", "counted"),
    [(100.0, 2.0, (100.0, 2.0)), (None, 2.0, (0.0, 0.0)), (100.0, None, (0.0, 0.0)), (0.0, 0.05, (0.0, 0.05))],
)
def test_only_episodes_of_known_size_and_length_count(
    tokens: float | None, seconds: float | None, counted: tuple[float, float]
) -> None:
    prefills = Prefills()
    prefills.add("M", Prefill(0, 1, tokens, seconds))
    assert prefills.totals == {"M": counted}
    prefills.add("M", Prefill(0, 1, 50.0, 1.0))
    assert prefills.totals == {"M": (counted[0] + 50, counted[1] + 1)}


def test_prefills_go_on_from_what_was_stored() -> None:
    prefills = Prefills({"M": (1000.0, 10.0)})
    prefills.add("M", Prefill(0, 1, 500.0, 5.0))
    prefills.add("N", Prefill(0, 1, 1.0, 1.0))
    assert prefills.totals == {"M": (1500.0, 15.0), "N": (1.0, 1.0)}


def test_engine_of() -> None:
    assert recorded.engine_of(Series("head", "m", (("engine", "0"), ("model", "x")))) == EngineId("head", "0", "x")
    assert recorded.engine_of(Series("head", "m")) == EngineId("head", "", "")


def test_every_recorded_series_is_in_the_catalogue() -> None:
    metrics: list[Metric] = [cluster.RECORDED_DECODE, cluster.CLUSTER_POWER]
    assert all(catalog.stored(metric.name) is metric for metric in metrics)
