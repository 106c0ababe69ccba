"""Words for what is unknown, from scenes made by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dashboard.live.reasons import STATE_WORDS, state_words
from dashboard.live.scene import Scene
from storage.records import TargetRow
from telemetry.catalog import cluster, engine
from telemetry.model import Series
from telemetry.states import TargetState
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, NAN, constant

TICK = 1_796_000_000_000


@pytest.mark.parametrize(
    ("ago_ms", "words"),
    [
        (7_300, "has been silent for 7.3 s"),
        (1, "has been silent for 1.0 ms"),
        (0, "was read late"),
        (-7_300, "was read late"),
    ],
)
def test_silence_is_never_negative(ago_ms: int, words: str) -> None:
    target = TargetRow("spark-01", "node", "http://a", 1000, "ok", "", TICK, TICK - ago_ms)
    assert state_words(target, Scene(TICK, TICK, targets=(target,))) == words


def test_a_sum_that_is_not_known_of_ports_that_are_there_is_told_from_no_port(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    world = make_world()
    world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_TRANSMIT, constant(NAN))
    world.run(0, 60)
    assert make_web(world).step()["cells"]["interconnect"][3] == "not every port was read"


@pytest.mark.parametrize(("seconds", "said"), [(299, "not yet a whole window"), (300, "no prefill in 5 m")])
def test_nothing_happened_is_said_of_a_whole_window(
    make_world: MakeWorld, make_web: MakeWeb, seconds: int, said: str
) -> None:
    """Counters that stand still, watched for less than the window's five minutes, and for all of them."""
    world = make_world(nodes=1)
    for one in (cluster.PREFILL_TOKENS, cluster.PREFILL_SECONDS):
        world.set(DEPLOYMENT, one, constant(0.0))
    for one in (engine.PROMPT_TOKENS, engine.PROMPT_TOKENS_CACHED):
        world.series[HEAD][Series(HEAD, one.name, ENGINE)] = constant(0.0)
    world.run(0, seconds)
    cells = make_web(world).step()["cells"]
    assert cells["prefill.throughput"][3] == said
    assert cells["prefix_hits"][3] == said.replace("no prefill in 5 m", "no prompt in the last 5 m")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (lambda number: number > 57, "not yet a whole window"),
        (lambda number: not 50 < number <= 57, "a gap or a restart lies in its window"),
        (lambda number: number < 0, "no reading"),
    ],
)
def test_what_leaves_no_window_of_tokens(
    make_world: MakeWorld, make_web: MakeWeb, known: Callable[[int], bool], said: str
) -> None:
    """The engine answers all along; its tokens are known late, or not all the time, or never."""
    world = make_world(nodes=1)
    world.set(HEAD, engine.GENERATION_TOKENS, lambda number: 20.0 * number if known(number) else NAN)
    world.run(0, 60)
    assert make_web(world).step()["cells"]["decode.now"] == ["–", "", "unknown", said]


def test_every_state_of_a_target_has_words() -> None:
    assert {state.value for state in TargetState} == set(STATE_WORDS)
