"""Sums over nodes of which some are missing say so: a smaller number must not look like less power."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from telemetry.catalog import cluster, engine, gpu, network
from telemetry.model import Series
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import NAN, World, constant, tick

SUMS = ("power", "energy_per_token", "interconnect", "interconnect_per_token")
WHOLE = ["ok", ""]


def gone(world: World) -> None:
    world.silence("spark-02", 61)
    world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_POWER, lambda number: 206.0 if number <= 60 else 155.0)


def without_power(world: World) -> None:
    world.set("spark-03", gpu.GPU_POWER, lambda number: 52.0 if number <= 60 else NAN)


def one_gpu_of_two(world: World) -> None:
    second = Series("spark-03", gpu.GPU_POWER.name, (("gpu", "1"),))
    world.series["spark-03"][second] = lambda number: 10.0 if number <= 60 else NAN


def without_counters(world: World) -> None:
    world.set("spark-03", gpu.GPU_ENERGY, lambda number: 52.0 * number if number <= 60 else NAN)
    world.set("spark-03", network.RDMA_TRANSMIT, lambda number: 1e8 * number if number <= 60 else NAN)
    world.set("spark-03", network.NETDEV_TRANSMIT, lambda number: 0.0 if number <= 60 else NAN)


def no_fabric(world: World) -> None:
    for metric in (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT, network.CAGE_CAPACITY):
        world.drop(metric.name, "spark-04")


def no_fabric_and_gone(world: World) -> None:
    no_fabric(world)
    world.silence("spark-04", 61)


def no_gpu(world: World) -> None:
    for metric in (gpu.GPU_POWER, gpu.GPU_ENERGY, gpu.GPU_READING_STATE):
        world.drop(metric.name, "spark-04")


def no_gpu_and_gone(world: World) -> None:
    no_gpu(world)
    world.silence("spark-04", 61)


def a_gpu_without_a_driver(world: World) -> None:
    no_gpu(world)
    world.series["spark-04"][Series("spark-04", gpu.GPU_READING_STATE.name, (("gpu", "0"),))] = constant(1.0)


def never_seen(world: World) -> None:
    world.silence("spark-01", 0, "not yet scraped", "")


THREE = ["warning", "3 of 4 nodes"]
CASES: list[tuple[Callable[[World], None], list[list[str]]]] = [
    (lambda _world: None, [WHOLE] * 4),
    (gone, [THREE] * 4),
    (without_power, [THREE, WHOLE, WHOLE, WHOLE]),
    (one_gpu_of_two, [THREE, WHOLE, WHOLE, WHOLE]),
    (without_counters, [WHOLE, THREE, THREE, THREE]),
    (no_fabric, [WHOLE] * 4),
    (no_fabric_and_gone, [THREE] * 4),
    (no_gpu, [WHOLE] * 4),
    (no_gpu_and_gone, [THREE] * 4),
    (a_gpu_without_a_driver, [THREE, THREE, WHOLE, WHOLE]),
    (never_seen, [THREE] * 4),
]


@pytest.mark.parametrize(("change", "expected"), CASES, ids=lambda one: getattr(one, "__name__", ""))
def test_a_sum_says_how_many_nodes_are_in_it(
    make_world: MakeWorld, make_web: MakeWeb, change: Callable[[World], None], expected: list[list[str]]
) -> None:
    world = make_world()
    change(world)
    world.run(0, 130)
    cells = make_web(world).step()["cells"]
    assert [cells[key][2:] for key in SUMS] == expected
    assert all(cells[key][0] != "–" for key in SUMS)


def test_an_unknown_sum_says_why_and_counts_nothing(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.silence("spark-02", 61, "timed out", "")
    world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_POWER, constant(NAN))
    world.run(0, 65)
    cells = make_web(world).step()["cells"]
    assert cells["power"] == ["–", "", "unknown", "spark-02 does not answer in time"]
    assert cells["energy_per_token"][2] == "unknown"


def test_the_cell_of_a_partial_sum(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    gone(world)
    world.run(0, 130)
    message = make_web(world).step()
    assert message["cells"]["power"] == ["155", "W", "warning", "3 of 4 nodes"]
    assert message["tick"] == tick(130)


def test_tokens_that_flow_are_not_called_none(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.away("spark-02", 170, 173)
    world.run(0, 180)
    message = make_web(world).step()
    assert message["cells"]["energy_per_token"] == ["–", "", "unknown", "a gap or a restart lies in its window"]
    assert message["cells"]["decode.now"][0] != "–"


def test_no_token_is_called_none(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("head", engine.GENERATION_TOKENS, constant(500.0))
    world.run(0, 180)
    assert make_web(world).step()["cells"]["energy_per_token"] == ["–", "", "unknown", "no token in the last minute"]
