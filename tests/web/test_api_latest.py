"""/latest: whose values a filter leaves, and which target an unknown value is blamed on."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.deployments import DEPLOYMENT_FACT
from telemetry import catalog
from telemetry.catalog import cluster, engine, gpu
from telemetry.model import Scope
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import HEAD, NAN, World, constant, tick

LAST = 120
RECORDED = {metric.name for metric in catalog.METRICS if metric.scope is Scope.CLUSTER and hasattr(metric, "across")}


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world()


def values(make_web: MakeWeb, world: World, query: str) -> list[dict[str, Any]]:
    web = make_web(world)
    web.step()
    return list(web.get(f"latest?{query}")["values"])


def owners(found: list[dict[str, Any]]) -> set[str]:
    return {one["labels"]["target"] for one in found}


@pytest.mark.parametrize(
    ("query", "whose"),
    [
        ("node=spark-02", {"spark-02"}),
        ("engine=head", {HEAD}),
        ("deployment=Kimi-K3", {HEAD, "deployment/Kimi-K3"}),
        ("node=spark-02&engine=head", set()),
    ],
)
def test_a_filter_leaves_nothing_of_the_whole_cluster(
    world: World, make_web: MakeWeb, query: str, whose: set[str]
) -> None:
    world.run(0, LAST)
    found = values(make_web, world, query)
    assert owners(found) == whose
    assert not {one["metric"] for one in found} & RECORDED
    assert len(RECORDED) == 4


def test_without_a_filter_it_is_there(world: World, make_web: MakeWeb) -> None:
    world.run(0, LAST)
    assert {one["metric"] for one in values(make_web, world, "") if one["labels"]["target"] == "cluster"} >= RECORDED


def test_a_quotient_over_the_cluster_is_a_nodes_share_as_in_the_history(world: World, make_web: MakeWeb) -> None:
    """51 W of spark-02 over all 20 tokens a second; an engine has no share."""
    world.run(0, LAST)
    web = make_web(world)
    web.step()
    query = "metric=gpu_energy_per_token_joules&node=spark-02"
    (one,) = web.get(f"latest?{query}")["values"]
    assert (one["v"], one["labels"]) == (pytest.approx(51 / 20), {"target": "spark-02"})
    (line,) = web.get(f"series?{query}&start={tick(LAST)}&end={tick(LAST) + 1}")["series"]
    assert line["v"] == [pytest.approx(one["v"])]
    assert web.get("latest?metric=gpu_energy_per_token_joules&engine=head")["values"] == []


def blamed(make_web: MakeWeb, world: World, query: str) -> tuple[float | None, str]:
    (one,) = values(make_web, world, query)
    return one["v"], one["reason"]


def second_deployment(world: World) -> None:
    world.second("other", "acme/Tiny", deployment="Tiny")
    for name, model, owner in ((HEAD, "moonshotai/Kimi-K3", "Kimi-K3"), ("other", "acme/Tiny", "Tiny")):
        world.fact(name, f"{DEPLOYMENT_FACT}{model}", owner)


@pytest.mark.parametrize("silent", ["spark-03", "other"])
def test_a_target_that_a_deployment_does_not_use_is_not_blamed(world: World, make_web: MakeWeb, silent: str) -> None:
    second_deployment(world)
    world.set("deployment/Kimi-K3", cluster.DEPLOYMENT_RUNNING, constant(NAN))
    world.silence(silent, LAST - 30)
    world.run(0, LAST)
    query = f"metric={cluster.DEPLOYMENT_RUNNING.name}&deployment=Kimi-K3"
    assert blamed(make_web, world, query) == (None, "not offered")


@pytest.mark.parametrize("since", [LAST - 30, LAST - 110])
def test_its_own_engine_is_however_long_it_has_been_silent(world: World, make_web: MakeWeb, since: int) -> None:
    second_deployment(world)
    world.set("deployment/Kimi-K3", cluster.DEPLOYMENT_RUNNING, lambda number: 3.0 if number < since else NAN)
    world.silence(HEAD, since)
    world.run(0, LAST)
    query = f"metric={cluster.DEPLOYMENT_RUNNING.name}&deployment=Kimi-K3"
    assert blamed(make_web, world, query) == (None, "head refuses the connection (no agent listens)")


def test_power_of_the_cluster_is_not_blamed_on_an_engine(world: World, make_web: MakeWeb) -> None:
    world.set("cluster", cluster.CLUSTER_POWER, constant(NAN))
    world.silence(HEAD, LAST - 30)
    world.run(0, LAST)
    assert blamed(make_web, world, f"metric={cluster.CLUSTER_POWER.name}") == (None, "not offered")


@pytest.mark.parametrize(
    ("silent", "query", "reason"),
    [
        (HEAD, "", "head refuses"),
        ("spark-03", "", "spark-03 refuses"),
        (HEAD, "&node=spark-02", "head refuses"),
        ("spark-02", "&node=spark-02", "spark-02 refuses"),
    ],
)
def test_a_quotient_over_the_cluster_is_blamed_on_either_side(
    world: World, make_web: MakeWeb, silent: str, query: str, reason: str
) -> None:
    world.silence(silent, LAST - 5)
    world.run(0, LAST)
    value, told = blamed(make_web, world, f"metric=gpu_energy_per_token_joules{query}")
    assert value is None
    assert told.startswith(reason)


def test_a_nodes_share_does_not_wait_for_other_nodes(world: World, make_web: MakeWeb) -> None:
    world.silence("spark-03", LAST - 5)
    world.run(0, LAST)
    found = blamed(make_web, world, "metric=gpu_energy_per_token_joules&node=spark-02")
    assert found == (pytest.approx(51 / 20), "")


def test_what_a_target_never_had_is_blamed_on_nobody(world: World, make_web: MakeWeb) -> None:
    """A metric of a node that was never there is not offered, whoever is silent."""
    world.drop(gpu.GPU_POWER.name, "spark-01")
    world.drop(engine.REQUESTS_WAITING.name)
    world.silence("spark-02", LAST - 5)
    world.run(0, LAST)
    assert blamed(make_web, world, f"metric={gpu.GPU_POWER.name}&node=spark-01") == (None, "not offered")
    assert blamed(make_web, world, f"metric={engine.REQUESTS_WAITING.name}") == (None, "not offered")
