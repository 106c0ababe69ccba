"""Words for what is unknown, from scenes made by hand."""

from __future__ import annotations

import pytest

from dashboard.live.reasons import state_words
from dashboard.live.scene import Scene
from storage.records import TargetRow
from telemetry.catalog import cluster
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import NAN, constant

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
