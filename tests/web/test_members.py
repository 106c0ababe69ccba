"""Engines and deployments that come and go: a sum whose members change is not mistaken for a change of its members."""

from __future__ import annotations

from dashboard.live.scene import gather
from dashboard.live.speed import mean_while_decoding
from telemetry.catalog import engine
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, World


def mean(web: Web, world: World) -> float:
    web.step()
    return mean_while_decoding(gather(web.process.sources.store, web.process.sources.tail, world.now, world.now))


def test_an_engine_that_was_away_brings_what_it_made_and_no_more(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "moonshotai/Kimi-K3")
    world.set("tail", engine.GENERATION_TOKENS, lambda number: 5e6 + 30.0 * number)
    world.away("tail", 60, 90)
    world.run(0, 200)
    assert mean(make_web(world), world) == 50.0


def test_an_engine_that_went_takes_nothing_back(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("tail", "moonshotai/Kimi-K3")
    world.silence("tail", 101)
    world.run(0, 200)
    assert mean(make_web(world), world) == (20 * 200 + 30 * 100) / 200


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
