"""Why a ratio is unknown, in one sentence, for every way in which it can be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dashboard.live.unknown import BROKEN, GONE, IDLE, NOT_OFFERED, YOUNG
from storage.records import Offset
from telemetry.catalog import cluster, engine, gpu, memory, network
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import DEPLOYMENT, HEAD, NAN, World, constant, rising, tick

LAST = 140


def told(make_web: MakeWeb, world: World, query: str) -> tuple[float | None, str]:
    web: Web = make_web(world)
    web.step()
    (one,) = web.get(f"latest?{query}")["values"]
    return one["v"], one["reason"]


def until(number: int, rate: float, then: float = NAN) -> Callable[[int], float]:
    """A counter that grows up to a tick, and is `then` afterwards."""
    return lambda at: rate * at if at <= number else then


def run(world: World) -> None:
    world.run(0, LAST)


def idle(world: World) -> None:
    world.set(HEAD, engine.DRAFT_TOKENS, constant(5.0))
    run(world)


def idle_again(world: World) -> None:
    """Drafts stopped 61 s ago: the window of 60 s holds none."""
    world.set(HEAD, engine.DRAFT_TOKENS, lambda number: 40.0 * min(number, LAST - 61))
    run(world)


def restarted(world: World) -> None:
    """The engine began anew 20 s ago and has made nothing since: how much it made before that is not known."""
    world.set(HEAD, engine.DRAFT_TOKENS, lambda number: 40.0 * min(number, 120))
    world.set(HEAD, engine.ACCEPTED_TOKENS, lambda number: 15.0 * min(number, 120))
    world.run(0, LAST - 20)
    for metric in (engine.DRAFT_TOKENS, engine.ACCEPTED_TOKENS):
        world.set(HEAD, metric, constant(0.0))
        world.restart(HEAD, metric, LAST - 19)
    world.run(LAST - 19, LAST)


def gap(world: World) -> None:
    """Not read for 70 s, and nothing seen since."""
    world.set(HEAD, engine.DRAFT_TOKENS, lambda number: 40.0 * min(number, 60))
    world.away(HEAD, 61, LAST - 10)
    run(world)


def young(world: World) -> None:
    world.set(HEAD, engine.DRAFT_TOKENS, constant(0.0))
    world.run(0, 30)


def gone(world: World) -> None:
    world.set(HEAD, engine.DRAFT_TOKENS, until(LAST - 5, 40.0))
    run(world)


def one_side(world: World) -> None:
    world.drop(engine.DRAFT_TOKENS.name)
    run(world)


def neither(world: World) -> None:
    world.drop(engine.DRAFT_TOKENS.name)
    world.drop(engine.ACCEPTED_TOKENS.name)
    run(world)


ACCEPTANCE = [
    (idle, IDLE),
    (idle_again, IDLE),
    (restarted, BROKEN),
    (gap, BROKEN),
    (young, YOUNG),
    (gone, GONE),
    (one_side, NOT_OFFERED),
    (neither, NOT_OFFERED),
]


@pytest.mark.parametrize(("happened", "reason"), ACCEPTANCE, ids=[one.__name__ for one, _ in ACCEPTANCE])
def test_acceptance_is_unknown(
    make_world: MakeWorld, make_web: MakeWeb, happened: Callable[[World], None], reason: str
) -> None:
    world = make_world()
    happened(world)
    assert told(make_web, world, "metric=acceptance_ratio") == (None, reason)


def test_a_term_that_left_long_ago_is_still_said_to_have_been_there(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-01", memory.MEMORY_TOTAL, lambda number: 8.0 if number < 40 else NAN)
    world.run(0, LAST)
    assert told(make_web, world, "metric=memory_used_ratio&node=spark-01") == (None, GONE)


def test_a_whole_of_nothing(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-01", memory.MEMORY_TOTAL, constant(0.0))
    world.run(0, LAST)
    assert told(make_web, world, "metric=memory_used_ratio&node=spark-01") == (None, IDLE)


def test_a_rate_has_nothing_that_could_be_idle(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.restart(HEAD, engine.DRAFTS, LAST - 2)
    world.run(0, LAST)
    assert told(make_web, world, "metric=verify_steps_per_second") == (None, BROKEN)


def test_each_place_has_its_own_reason(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """One cage's port left the page, the other's restarted: neither is told the other's story."""
    world = make_world()
    for series in list(world.series["spark-01"]):
        if series.metric == network.RDMA_TRANSMIT.name and series.label("function") == "f0":
            world.series["spark-01"][series] = until(LAST - 5, 1e8)
        if series.metric == network.RDMA_TRANSMIT.name and series.label("function") == "f2":
            world.commit(offsets=[Offset("spark-01", series.metric, series.labels, tick(LAST - 2), 0.0, "restart")])
    world.run(0, LAST)
    web = make_web(world)
    web.step()
    values = web.get("latest?metric=interconnect_transmit_bytes_per_second&node=spark-01")["values"]
    assert [(one["labels"]["cage"], one["v"], one["reason"]) for one in values] == [
        ("p0", None, GONE),
        ("p1", None, BROKEN),
    ]


def test_a_plain_metric_left_the_page_or_was_never_on_it(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-01", gpu.GPU_POWER, lambda number: 50.0 if number < 100 else NAN)
    world.set(DEPLOYMENT, cluster.DEPLOYMENT_RUNNING, lambda number: 3.0 if number < 100 else NAN)
    world.run(0, LAST)
    assert told(make_web, world, "metric=gpu_power_watts&node=spark-01") == (None, GONE)
    assert told(make_web, world, f"metric={cluster.DEPLOYMENT_RUNNING.name}") == (None, NOT_OFFERED), "it has no page"
    assert told(make_web, world, "metric=gpu_memory_used_bytes&node=spark-01") == (None, NOT_OFFERED)


def test_a_cluster_ratio_looks_at_every_target(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set(HEAD, engine.GENERATION_TOKENS, constant(7.0))
    world.run(0, LAST)
    assert told(make_web, world, "metric=gpu_energy_per_token_joules") == (None, IDLE)
    world.restart("spark-03", gpu.GPU_ENERGY, LAST - 5)
    world.set(HEAD, engine.GENERATION_TOKENS, rising(20.0))
    world.run(LAST + 1, LAST + 2)
    assert told(make_web, world, "metric=gpu_energy_per_token_joules") == (None, BROKEN)
