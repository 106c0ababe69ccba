"""A target that does not answer, as the status tells it: how often it is asked meanwhile."""

from __future__ import annotations

from dataclasses import replace

from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import HEAD


def test_a_silent_target_is_asked_less_often_and_that_is_told(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=2)
    for name in ("spark-01", "spark-02"):
        world.rows[name] = replace(world.rows[name], detail={"silent_s": 10.0})
    world.rows[HEAD] = replace(world.rows[HEAD], detail={"engine": "vllm"})
    world.silence("spark-02", 20)
    world.run(0, 60)
    web = make_web(world)
    web.step()
    found = web.get("status")
    assert [(one["name"], one["silent_s"]) for one in found["nodes"]] == [("spark-01", None), ("spark-02", 10.0)]
    assert (found["engines"][0]["engine"], found["nodes"][0]["engine"]) == ("vllm", None)
    world.now += 60_000
    assert {one["silent_s"] for one in web.get("status")["nodes"]} == {None}, (
        "nobody asks while the collector is silent"
    )
