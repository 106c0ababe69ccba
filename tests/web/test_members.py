"""Engines and deployments that come and go: a sum whose members change is not mistaken for a change of its members."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.live.scene import gather
from dashboard.live.speed import mean_while_decoding
from telemetry.catalog import cluster, engine
from telemetry.model import Series
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, NAN, World, constant, tick


def mean(web: Web, world: World) -> float:
    web.step()
    return mean_while_decoding(gather(web.process.sources.store, web.process.sources.tail, world.now, world.now))


def test_what_an_engine_made_while_it_was_away_is_in_no_mean(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "moonshotai/Kimi-K3")
    world.set("tail", engine.GENERATION_TOKENS, lambda number: 5e6 + 30.0 * number)
    world.away("tail", 60, 90)
    world.run(0, 200)
    found = mean(make_web(world), world)
    assert found == (20 * 197 + 30 * 168) / 197, "of the three seconds until it counts as gone nothing is known"


def test_an_engine_that_went_takes_nothing_back(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "moonshotai/Kimi-K3")
    world.silence("tail", 101)
    world.run(0, 200)
    assert mean(make_web(world), world) == (20 * 197 + 30 * 100) / 197, "without the seconds until it counts as gone"


def test_the_mean_is_over_the_time_in_which_any_engine_made_tokens(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "moonshotai/Kimi-K3")
    world.set(HEAD, engine.GENERATION_TOKENS, lambda number: 20.0 * min(number, 50))
    world.set(
        "tail", engine.GENERATION_TOKENS, lambda number: 30.0 * min(max(number - 40, 0), 30) + 30.0 * (number > 150)
    )
    world.run(0, 200)
    assert mean(make_web(world), world) == (20 * 50 + 30 * 30 + 30) / (70 + 1)


def test_a_pause_of_all_engines_parts_the_windows(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "moonshotai/Kimi-K3")
    world.set(HEAD, engine.GENERATION_TOKENS, lambda number: 20.0 * min(number, 50))
    world.set("tail", engine.GENERATION_TOKENS, lambda number: 30.0 * max(number - 60, 0))
    world.run(0, 100)
    assert mean(make_web(world), world) == (20 * 50 + 30 * 40) / 100, "a pause of ten seconds is none"


def told(web: Web) -> dict[str, list[str]]:
    """Deployment → its engines, as Status tells it."""
    return {one["name"]: one["engines"] for one in web.get("status")["deployments"]}


def engines_in(web: Web, deployment: str) -> list[str]:
    """Engines whose series a question of a deployment's is answered from."""
    query = f"metric=requests_running&deployment={deployment}&start={tick(50)}&end={tick(60)}"
    return sorted({line["labels"]["target"] for line in web.get(f"series?{query}")["series"]})


def test_configured_deployments_are_those_of_the_web(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Both engines serve the same model; the settings make two deployments of them, and name them otherwise."""
    world = make_world(nodes=1)
    model = dict(ENGINE)["model"]
    world.second("tail", model, deployment="Batch")
    world.run(0, 60)
    world.fact(HEAD, f"deployment.{model}", "Kimi-K3")
    world.fact("tail", f"deployment.{model}", "Batch")
    web = make_web(world)
    web.step()
    assert told(web) == {"Batch": ["tail"], "Kimi-K3": [HEAD]}
    assert (engines_in(web, "Batch"), engines_in(web, "Kimi-K3")) == (["tail"], [HEAD])


@pytest.mark.parametrize(
    ("fact", "deployment"),
    [(("deployment.", "Batch"), "Batch"), (("served_models", "Qwen/Qwen3,other"), "Qwen3"), (None, "tail")],
)
def test_an_engine_without_a_model_label_has_its_deployment(
    make_world: MakeWorld, make_web: MakeWeb, fact: tuple[str, str] | None, deployment: str
) -> None:
    world = make_world(nodes=1)
    world.second("tail", "", deployment=deployment)
    world.run(0, 60)
    if fact is not None:
        world.fact("tail", *fact)
    web = make_web(world)
    web.step()
    assert told(web) == {"Kimi-K3": [HEAD], deployment: ["tail"]}
    assert engines_in(web, deployment) == ["tail"]


def test_one_target_with_engines_of_two_deployments(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Facts are told apart by the model; what nothing is noted of goes by its model."""
    world = make_world(nodes=1)
    other = (("engine", "1"), ("model", "Qwen/Qwen3"))
    world.series[HEAD][Series(HEAD, engine.REQUESTS_RUNNING.name, other)] = constant(1.0)
    world.second("tail", "moonshotai/Kimi-K3", deployment="Batch")
    world.run(0, 60)
    world.fact(HEAD, "deployment.Qwen/Qwen3", "Batch")
    web = make_web(world)
    web.step()
    assert told(web) == {"Batch": [HEAD], "Kimi-K3": [HEAD, "tail"]}


@pytest.mark.parametrize(("last", "decode"), [(62, 50.0), (63, None), (77, None), (78, 20.0)])
def test_a_deployment_that_falls_silent_is_missed_live_and_in_history_alike(
    make_world: MakeWorld, make_web: MakeWeb, last: int, decode: float | None
) -> None:
    """Its last row, of tick 60, holds for 2.5 s; what is left is no sum for 15 s, then it is the other's alone."""
    world = make_world(nodes=1)
    world.second("tail", "Qwen/Qwen3", deployment="Qwen3")
    world.silence("tail", 61)
    world.away("deployment/Qwen3", 61, 1000)
    world.run(0, last)
    web = make_web(world)
    assert web.step()["points"]["decode"] == decode
    for minutes in (0.1, 1):
        assert web.get(f"live?minutes={minutes}")["history"]["points"]["decode"][-1] == decode


def test_history_misses_what_fell_silent_before_it_begins(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "Qwen/Qwen3", deployment="Qwen3")
    world.away("deployment/Qwen3", 61, 1000)
    world.run(0, 80)
    web = make_web(world)
    web.step()
    history = web.get("live?minutes=0.2")["history"]
    assert history["t"][0] == tick(68)
    assert history["points"]["decode"] == [None] * 10 + [20.0] * 3


def owners(web: Web, query: str) -> list[tuple[str, float]]:
    return [(one["labels"]["target"], one["v"]) for one in web.get(f"latest?{query}")["values"]]


def test_latest_of_a_deployment_is_of_its_recorded_series_and_its_engines(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    world = make_world(nodes=1)
    world.second("tail", "Qwen/Qwen3", deployment="Qwen3")
    world.set("tail", engine.REQUESTS_RUNNING, constant(7.0))
    world.run(0, 60)
    web = make_web(world)
    web.step()
    both = "metric=requests_running,recorded_decode_tokens_per_second"
    assert owners(web, f"{both}&deployment=Qwen3") == [("tail", 7.0), ("deployment/Qwen3", 30.0)]
    assert owners(web, f"{both}&deployment=Kimi-K3") == [(HEAD, 3.0), ("deployment/Kimi-K3", 20.0)]
    assert owners(web, f"{both}&deployment=Qwen3&engine=tail") == [("tail", 7.0)]
    assert owners(web, f"{both}&deployment=Qwen3&engine={HEAD}") == []
    assert owners(web, f"{both}&engine={HEAD}") == [(HEAD, 3.0)]
    assert owners(web, "metric=decode_tokens_per_second&deployment=Qwen3") == [("tail", pytest.approx(30.0))]


WINDOWS = {"decode.peak_1s": "1.0 s", "decode.now": "5.0 s", "decode.peak": "10.0 s"}


@pytest.mark.parametrize(
    ("interval_ms", "interval", "short"),
    [(1000, "", 0), (1001, "1.0 s", 1), (2000, "2.0 s", 1), (6000, "6.0 s", 2), (20_000, "20.0 s", 3)],
)
def test_a_window_shorter_than_the_interval_says_so(
    make_world: MakeWorld, make_web: MakeWeb, interval_ms: int, interval: str, short: int
) -> None:
    world = make_world(nodes=1)
    world.second("tail", "Qwen/Qwen3")
    world.rows["tail"] = replace(world.rows["tail"], interval_ms=interval_ms)
    for metric in (cluster.RECORDED_DECODE, cluster.RECORDED_DECODE_1S):
        world.set(DEPLOYMENT, metric, constant(NAN))
    world.drop(engine.GENERATION_TOKENS.name)
    world.run(0, 60)
    cells = make_web(world).step()["cells"]
    told = [f"{window} is not measurable, tail is read every {interval}" for window in WINDOWS.values()]
    expected = told[:short] + ["no reading"] * (3 - short)
    assert [cells[key] for key in WINDOWS] == [["–", "", "unknown", why] for why in expected]


def test_an_engine_that_does_not_answer_is_the_first_reason(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.rows[HEAD] = replace(world.rows[HEAD], interval_ms=2000)
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE_1S, constant(NAN))
    world.run(0, 60)
    web = make_web(world)
    assert web.step()["cells"]["decode.peak_1s"][3] == "1.0 s is not measurable, head is read every 2.0 s"
    world.silence(HEAD, 61, "timed out", "")
    world.run(61, 80)
    assert web.step()["cells"]["decode.peak_1s"][3] == "head does not answer in time"
