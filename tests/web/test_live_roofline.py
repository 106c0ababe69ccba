"""The step time against the roofline: what stands beside it, what it is made of, and when nothing stands there.

The world's steps take 150 ms, serve 0.75 requests in the mean (so one) and verify eight draft tokens of each: nine
tokens a step. Four nodes read 4 × 273 GB/s.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from telemetry.catalog import cluster, engine
from telemetry.model import Series, part
from telemetry.roofline import Weights
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, Value, World, constant, rising

Change = Callable[[World], None]
MODEL = "Kimi-K3"
GB10 = "NVIDIA GB10"
LAST = 60


def nothing(_world: World) -> None:
    pass


def told(
    make_world: MakeWorld, make_web: MakeWeb, weights: Weights | None, change: Change = nothing, **shape: int
) -> tuple[str, str]:
    """(note, hint) of the step time's row."""
    world = make_world(**shape)
    for name in list(world.rows):
        if name != HEAD:
            world.fact(name, "gpu.0.name", GB10)
    change(world)
    world.run(0, LAST)
    message = make_web(world, roofline={} if weights is None else {MODEL: weights}).step()
    row = next(row for row in message["why"] if row["key"] == "step_time")
    return row["note"], row["hint"]


def three_requests(world: World) -> None:
    world.set(HEAD, part(engine.ITL, "sum"), rising(3.0))
    world.set(HEAD, part(engine.ITL, "count"), rising(20.0))


def without_drafts(world: World) -> None:
    for metric in (engine.DRAFTS, engine.DRAFT_TOKENS, engine.ACCEPTED_TOKENS):
        world.drop(metric.name)


def two_gpus(world: World) -> None:
    world.fact("spark-01", "gpu.1.name", GB10)


def bends(before: float, after: float) -> Value:
    """A counter that grows by `before` a second, and by `after` in the last 15."""
    return lambda number: before * min(number, LAST - 15) + after * max(number - LAST + 15, 0)


def longer_steps(world: World) -> None:
    world.set(HEAD, part(engine.ITL, "sum"), bends(0.75, 1.5))


def more_requests(world: World) -> None:
    world.set(HEAD, part(engine.ITL, "sum"), bends(0.75, 3.0))
    world.set(HEAD, part(engine.ITL, "count"), bends(5.0, 20.0))


def shorter_drafts(world: World) -> None:
    world.set(HEAD, engine.DRAFT_TOKENS, bends(40.0, 10.0))


def second_engine(world: World) -> None:
    world.second("tail", f"moonshotai/{MODEL}")


MIXTURE = Weights(30e9, 160e9, 8, 1)
KNOWN: list[tuple[str, Weights, Change, str]] = [
    ("one token's bytes", Weights(132e9), nothing, "80.6 %"),  # 132 ∕ 1,092 = 121 ms
    ("experts of nine tokens", MIXTURE, nothing, "74.4 %"),  # 30 + 160 × (69.93 − 12.5 %) = 121.9 GB, 111.6 ms
    ("of 27 tokens", Weights(30e9, 120e9, 8, 1), three_requests, "80.4 %"),  # 30 + 120 × (97.28 − 12.5 %) = 131.7 GB
    ("of one token, not drafted", MIXTURE, without_drafts, "18.3 %"),  # 30 ∕ 1,092 = 27.5 ms
    ("a bandwidth that is set", Weights(132e9, bandwidth=5e11), nothing, "44.0 %"),  # 132 ∕ 2,000 = 66 ms
    ("nodes that are set", Weights(132e9, nodes=8), nothing, "40.3 %"),  # 132 ∕ 2,184 = 60.4 ms
    ("both are set", Weights(132e9, bandwidth=5e11, nodes=2), nothing, "88.0 %"),
    ("a node with two GPUs", Weights(132e9), two_gpus, "64.5 %"),  # 132 ∕ 1,365 = 96.7 ms
    ("each engine on two nodes", Weights(66e9, nodes=2), second_engine, "80.6 %"),  # 66 ∕ 546 = 121 ms
    ("requests of two engines", Weights(30e9, 60e9, 8, 1, nodes=2), second_engine, "78.7 %"),  # 64.5 GB
    ("step time of 10 s", Weights(132e9), longer_steps, "40.3 %"),  # 121 of 300 ms
    ("requests of 10 s", Weights(30e9, 120e9, 8, 1), more_requests, "80.4 %"),  # 27 tokens, not 9 … 27
    ("drafts of 10 s", MIXTURE, shorter_drafts, "38.3 %"),  # 3 tokens: 30 + 160 × (33.01 − 12.5 %) = 62.8 GB
    ("as fast as can be", Weights(163.8e9), nothing, "100 %"),
]


@pytest.mark.parametrize(("weights", "change", "share"), [case[1:] for case in KNOWN], ids=[case[0] for case in KNOWN])
def test_share_of_the_roofline(
    make_world: MakeWorld, make_web: MakeWeb, weights: Weights, change: Change, share: str
) -> None:
    assert told(make_world, make_web, weights, change)[0] == f"{share} of the roofline"


@pytest.mark.parametrize(
    ("weights", "nodes", "hint"),
    [
        (
            Weights(132e9),
            4,
            "Roofline: a step of 9 tokens reads 132 GB of weights (as for one token, at least), "
            "4 nodes read 1.1 TB/s: 121 ms a step, 8.3 /s at best. ",
        ),
        (
            Weights(10e9, 16e9, 8, 1),
            1,
            "Roofline: a step of 9 tokens reads 19.2 GB of weights (experts as if drawn evenly), "
            "1 node reads 273 GB/s: 70.3 ms a step, 14.2 /s at best. ",
        ),
    ],
)
def test_definition(make_world: MakeWorld, make_web: MakeWeb, weights: Weights, nodes: int, hint: str) -> None:
    assert told(make_world, make_web, weights, nodes=nodes)[1] == (
        f"{hint}KV cache, draft model, fabric and prefills in the same step are not counted."
    )


def other_gpu(world: World) -> None:
    world.fact("spark-02", "gpu.0.name", "NVIDIA GB11")


def new_node(world: World) -> None:
    """A node that has told of no GPU."""
    world.rows["spark-09"] = world.rows["spark-01"].__class__("spark-09", "node", "", 1000, "ok", "", 0, 0)


def two_deployments(world: World) -> None:
    world.second("tail", "org/Other", "Other")


def stuck(world: World) -> None:
    for metric in (part(engine.ITL, "sum"), part(engine.ITL, "count")):
        world.set(HEAD, metric, lambda number: float(min(number, 20)))


def no_step_times(world: World) -> None:
    for name in ("sum", "count"):
        world.drop(part(engine.ITL, name).name)


def times_tokens(world: World) -> None:
    without_drafts(world)
    world.series[HEAD][Series(HEAD, engine.REPORTED_ACCEPTED_LENGTH.name, ENGINE)] = constant(3.0)


def drafts_stuck(world: World) -> None:
    for metric in (engine.DRAFTS, engine.DRAFT_TOKENS):
        world.set(HEAD, metric, lambda number: float(min(number, 20)))


def no_deployment(world: World) -> None:
    world.drop(cluster.RECORDED_DECODE.name)


def another_name(world: World) -> None:
    world.series["deployment/Other"] = {
        Series("deployment/Other", one.metric, one.labels): value for one, value in world.series.pop(DEPLOYMENT).items()
    }


DENSE = Weights(132e9)
UNKNOWN: list[tuple[str, Weights | None, Change, str]] = [
    ("nothing is set", None, nothing, "set active_bytes of Kimi-K3 to see it (setting `roofline`)"),
    ("set for another", DENSE, another_name, "set active_bytes of Other to see it (setting `roofline`)"),
    ("no deployment", DENSE, no_deployment, "nothing is served now"),
    ("two deployments", DENSE, two_deployments, "steps of several deployments are mixed here"),
    ("another GPU", DENSE, other_gpu, "memory bandwidth of spark-02 is not known; set bandwidth"),
    ("no GPU known", DENSE, new_node, "memory bandwidth of spark-09 is not known; set bandwidth"),
    (
        "two engines",
        DENSE,
        second_engine,
        "several engines step by themselves; set how many nodes one of them has (nodes)",
    ),
    ("nodes that differ", Weights(132e9, nodes=2), two_gpus, "nodes differ in memory; set bandwidth"),
    ("no steps", DENSE, stuck, "nothing is decoded now"),
    ("no drafts", DENSE, drafts_stuck, "nothing is decoded now"),
    ("not offered", DENSE, no_step_times, "this engine does not offer step times"),
    ("times of tokens", DENSE, times_tokens, "this engine times tokens, not steps"),
    (
        "faster than light",
        Weights(170e9),
        nothing,
        "steps are shorter than the figures of Kimi-K3 allow (156 ms); check them",
    ),
]


@pytest.mark.parametrize(
    ("weights", "change", "why"), [case[1:] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN]
)
def test_where_it_cannot_be_told(
    make_world: MakeWorld, make_web: MakeWeb, weights: Weights | None, change: Change, why: str
) -> None:
    assert told(make_world, make_web, weights, change) == ("", f"Roofline: {why}")


def only_the_engine(world: World) -> None:
    """No node is watched, but the deployment is recorded."""
    world.series[DEPLOYMENT] = {Series(DEPLOYMENT, cluster.RECORDED_DECODE.name, ()): constant(20.0)}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (DENSE, ("", "Roofline: no node is watched; set how many take part (nodes)")),
        (Weights(132e9, nodes=4), ("", "Roofline: memory bandwidth of the nodes is not known; set bandwidth")),
    ],
)
def test_without_a_node(make_world: MakeWorld, make_web: MakeWeb, weights: Weights, expected: tuple[str, str]) -> None:
    assert told(make_world, make_web, weights, only_the_engine, nodes=0) == expected


def test_without_a_node_but_with_figures(make_world: MakeWorld, make_web: MakeWeb) -> None:
    weights = Weights(132e9, bandwidth=273e9, nodes=4)
    assert told(make_world, make_web, weights, only_the_engine, nodes=0)[0] == "80.6 % of the roofline"


def test_a_node_that_tells_of_its_gpu_later(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Read again after ten seconds, not before."""
    world = make_world(nodes=1)
    web = make_web(world, roofline={MODEL: Weights(10e9)})
    notes = []
    for first, last in ((0, LAST), (LAST + 1, LAST + 9), (LAST + 10, LAST + 10)):
        world.run(first, last)
        message = web.step()
        notes.append(next(row["note"] for row in message["why"] if row["key"] == "step_time"))
        world.fact("spark-01", "gpu.0.name", GB10)
    assert notes == ["", "", "24.4 % of the roofline"]
