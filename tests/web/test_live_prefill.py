"""The prefill that runs, and an engine that is still: what is known of it, in the sentence and on the card."""

from __future__ import annotations

import pytest

from telemetry.catalog import cluster, engine
from telemetry.model import Metric, Series
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, Value, World

PREFILL = [
    ("since the last token", [], "prefilling, 20.0 s"),
    ("with an end in sight", [(0, 31.0), (1, 32.0), (2, 33.0)], "prefilling, 20.0 s, about 12.0 s left"),
    ("of different lengths", [(0, 10.0), (1, 32.0), (2, 33.0)], "prefilling, 20.0 s"),
    ("too few", [(0, 32.0), (1, 32.0)], "prefilling, 20.0 s"),
    ("longer than expected", [(0, 18.0), (1, 19.0), (2, 20.0)], "prefilling, 20.0 s"),
]  # fmt: skip


def prefilling(world: World, since: int) -> None:
    """Nothing moves any more from this tick on; the phase follows ten seconds later, as the judge has it."""
    for metric, rate in {engine.GENERATION_TOKENS: 20.0, engine.PROMPT_TOKENS: 100.0}.items():
        world.set(HEAD, metric, lambda number, rate=rate: rate * min(number, since))  # type: ignore[misc]
    world.set(HEAD, engine.ENGINE_PHASE, lambda number: 2.0 if number >= since + 10 else 3.0)


@pytest.mark.parametrize(("done", "text"), [case[1:] for case in PREFILL], ids=[case[0] for case in PREFILL])
def test_long_prefill(make_world: MakeWorld, make_web: MakeWeb, done: list[tuple[int, float]], text: str) -> None:
    world = make_world()
    prefilling(world, 40)
    for end, seconds in done:
        world.prefill(end, end, 1000, seconds)
    world.run(0, 60)
    message = make_web(world).step()
    quiet = "no token for 20.0 s with 3 requests running"
    assert message["sentence"]["text"] == f"Serving Kimi-K3 on 4 nodes · {quiet}", "nothing shows that it is a prefill"
    assert message["cells"]["prefill.now"] == [text, "", "ok", ""]
    assert message["cells"]["why"] == [quiet, "", "ok", ""]
    assert message["cells"]["phase"][0] == "prefilling"


def test_prefill_begins_when_a_request_comes(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    prefilling(world, 10)
    world.set(HEAD, engine.REQUESTS_RUNNING, lambda number: 0.0 if number < 45 else 1.0)
    world.run(0, 60)
    assert make_web(world).step()["cells"]["prefill.now"][0] == "prefilling, 16.0 s"


def test_prefill_without_a_sign_of_its_beginning(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Neither tokens nor running requests are offered: the stretch of the phase is what is known."""
    world = make_world()
    for metric in (engine.GENERATION_TOKENS, engine.PROMPT_TOKENS, engine.REQUESTS_RUNNING):
        world.drop(metric.name)
    world.set(HEAD, engine.ENGINE_PHASE, lambda number: 2.0 if number >= 35 else 3.0)
    world.run(0, 60)
    message = make_web(world).step()
    assert message["cells"]["prefill.now"][0] == "prefilling, 25.0 s"
    assert message["sentence"]["text"] == "Serving Kimi-K3 on 4 nodes · no token for 25.0 s"


def found(world: World, value: Value) -> None:
    """The engine tells what it finds in its prefix cache."""
    world.series[HEAD][Series(HEAD, engine.PREFIX_CACHE_HITS.name, ENGINE)] = value


def filling(world: World, since: int, *, hits: float = 0.0) -> None:
    """0.1 % of a million tokens a second enter the cache from this tick on; so many more are found in it at once."""
    full = 0.1 + hits / 1e6
    world.set(HEAD, engine.KV_CACHE_USAGE, lambda number: full + 0.001 * (number - since) if number > since else 0.1)
    found(world, lambda number: 5000.0 + (hits if number > since else 0.0))


def test_prefill_grows_in_the_cache(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """0.1 % of a million tokens a second for 20 s."""
    world = make_world()
    prefilling(world, 40)
    filling(world, 40)
    world.run(0, 60)
    message = make_web(world).step()
    text = "prefilling, 20.0k tokens so far, 20.0 s"
    assert message["cells"]["prefill.now"][0] == text
    assert message["sentence"]["text"] == f"Serving Kimi-K3 on 4 nodes · {text}"


@pytest.mark.parametrize(
    ("requests", "text"),
    [(1.0, "prefilling, 20.0k tokens so far, 20.0 s"), (2.0, "prefilling, 20.0 s")],
    ids=["of one request", "of several, which may share it"],
)
def test_what_was_found_in_the_cache_was_not_prefilled(
    make_world: MakeWorld, make_web: MakeWeb, requests: float, text: str
) -> None:
    world = make_world()
    prefilling(world, 40)
    filling(world, 40, hits=30_000.0)
    world.set(HEAD, engine.REQUESTS_RUNNING, lambda _number: requests)
    world.run(0, 60)
    assert make_web(world).step()["cells"]["prefill.now"][0] == text


def test_how_far_is_not_known_when_something_left_the_cache(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A request that was given up takes 8,000 tokens with it."""
    world = make_world()
    prefilling(world, 40)
    filling(world, 40)
    world.set(
        HEAD,
        engine.KV_CACHE_USAGE,
        lambda number: 0.1 + 0.001 * max(number - 40, 0) - (0.008 if number >= 50 else 0.0),
    )
    world.run(0, 60)
    assert make_web(world).step()["cells"]["prefill.now"][0] == "prefilling, 20.0 s"


@pytest.mark.parametrize("metric", [engine.PREFIX_CACHE_HITS, engine.KV_CACHE_CAPACITY, engine.KV_CACHE_USAGE])
def test_how_far_needs_all_three(make_world: MakeWorld, make_web: MakeWeb, metric: Metric) -> None:
    world = make_world()
    prefilling(world, 40)
    filling(world, 40)
    world.drop(metric.name)
    world.run(0, 60)
    assert make_web(world).step()["cells"]["prefill.now"][0] == "prefilling, 20.0 s"


def test_short_prefill_stays_out_of_the_sentence(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """9 s are short; 10 s are told."""
    serving = "Serving Kimi-K3 on 4 nodes"
    for since, text in ((51, serving), (50, f"{serving} · no token for 10.0 s with 3 requests running")):
        world = make_world()
        prefilling(world, since)
        world.run(0, 60)
        assert make_web(world).step()["sentence"]["text"] == text


@pytest.mark.parametrize(("requests", "text"), [(1.0, "1 request running"), (2.0, "2 requests running")])
def test_a_stalled_engine_is_still_too(make_world: MakeWorld, make_web: MakeWeb, requests: float, text: str) -> None:
    """Prefilling for all that is known, then stalled by the judge: the time counts from the last token."""
    world = make_world()
    prefilling(world, 10)
    world.set(HEAD, engine.REQUESTS_RUNNING, lambda _number: requests)
    world.set(HEAD, engine.ENGINE_PHASE, lambda number: 6.0 if number >= 100 else 2.0 if number >= 20 else 3.0)
    world.run(0, 130)
    message = make_web(world).step()
    assert message["cells"]["why"] == [f"no token for 2m 0s with {text}", "", "ok", ""]
    assert message["sentence"]["level"] == "critical"


def test_an_idle_engine_is_not_waited_for(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    prefilling(world, 10)
    world.set(HEAD, engine.ENGINE_PHASE, lambda number: 1.0 if number >= 20 else 3.0)
    world.set(HEAD, engine.REQUESTS_RUNNING, lambda number: 0.0 if number >= 20 else 1.0)
    world.run(0, 60)
    message = make_web(world).step()
    assert message["cells"]["why"] == ["nothing is decoded now", "", "ok", ""]
    assert {row["level"] for row in message["why"]} <= {"ok", "unknown"}, "silence is nobody's fault yet"


RAN_ON = "prefilling, 15.0k tokens so far, 15.0 s"


@pytest.mark.parametrize("outage", ["restart", "gap", "both"])
def test_a_restart_and_a_gap_begin_a_prefill_anew(make_world: MakeWorld, make_web: MakeWeb, outage: str) -> None:
    """The last token came at 10. At 45 the engine answers anew: what filled the cache before is of no prefill now."""
    world = make_world()
    prefilling(world, 10)
    world.set(HEAD, engine.KV_CACHE_USAGE, lambda number: 0.1 + 0.001 * number)
    found(world, lambda _number: 5000.0)
    if outage != "restart":
        world.away(HEAD, 30, 44)
    world.run(0, 60)
    if outage != "gap":
        world.restart(HEAD, engine.PROMPT_TOKENS, 45)
    message = make_web(world).step()
    assert message["cells"]["prefill.now"][0] == RAN_ON
    assert message["sentence"]["text"] == f"Serving Kimi-K3 on 4 nodes · {RAN_ON}"
    assert message["cells"]["why"][0] == "no token for 15.0 s with 3 requests running"


def test_a_restart_before_the_last_token_begins_nothing(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    prefilling(world, 40)
    world.away(HEAD, 20, 25)
    world.run(0, 60)
    world.restart(HEAD, engine.PROMPT_TOKENS, 26)
    assert make_web(world).step()["cells"]["prefill.now"][0] == "prefilling, 20.0 s"


def test_a_reading_that_is_late_is_no_gap(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    prefilling(world, 40)
    world.away(HEAD, 50, 50)
    world.run(0, 60)
    assert make_web(world).step()["cells"]["prefill.now"][0] == "prefilling, 20.0 s"


def test_a_prefill_that_runs_is_not_said_to_be_none(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """For five minutes no prefill has ended: one has been running meanwhile, or none."""
    for running, said in ((3.0, "the prefill that runs counts once it has ended"), (0.0, "no prefill in 5 m")):
        world = make_world(nodes=1)
        prefilling(world, 10)
        world.set(HEAD, engine.REQUESTS_RUNNING, lambda number, now=running: now if number else 0.0)  # type: ignore[misc]
        if not running:
            world.set(HEAD, engine.ENGINE_PHASE, lambda _number: 1.0)
        for one in (cluster.PREFILL_TOKENS, cluster.PREFILL_SECONDS):
            world.set(DEPLOYMENT, one, lambda _number: 0.0)
        world.run(0, 330)
        assert make_web(world).step()["cells"]["prefill.throughput"][3] == said
