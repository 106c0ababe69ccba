"""A part of the store's file that is damaged: the answer has a hole there, and says why."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from telemetry.summary import HOUR_MS, hour_of
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import T0, World, tick

FIRST = (hour_of(T0) + HOUR_MS - T0) // 1000
"""Second of the first whole hour."""
START = tick(FIRST)
SPAN = f"start={START}&end={START + 3 * HOUR_MS - 1}&step=10m"


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """Three sealed hours of two nodes with a reading every two minutes."""
    world = make_world(nodes=2, engines=False)
    for second in range(FIRST, FIRST + 3 * 3600, 120):
        world.run(second, second)
    later = START + 9 * HOUR_MS
    for target, hour in world.writer.due(later):
        world.writer.seal(target, hour, later)
    return world


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    """Of a store whose second hour has a damaged chunk: the GPU power of one of the nodes."""
    mine = "SELECT id FROM series WHERE target = 'spark-01' AND metric = 'gpu_power_watts'"
    with closing(sqlite3.connect(world.url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute(
            f"UPDATE chunk SET codec = 'pco.d0', data = x'0011223344556677' WHERE series IN ({mine}) AND hour = ?",
            (START + HOUR_MS,),
        )
    found = make_web(world)
    found.step()
    return found


def test_the_answer_has_a_hole_and_says_why(web: Web) -> None:
    for _ in range(2):  # the second time from what is kept of the hours
        answer = web.get(f"series?metric=gpu_power_watts&{SPAN}")
        (hole,) = answer["damaged"]
        reason = hole.pop("reason")
        assert hole == {
            "target": "spark-01",
            "metric": "gpu_power_watts",
            "from": START + HOUR_MS,
            "to": START + 2 * HOUR_MS,
        }
        assert reason.startswith("the chunk of gpu_power_watts gpu=0 of spark-01 in the hour of ")
        assert reason.endswith(" is damaged: its checksum is wrong")
        lost, whole = (line["max"] for line in answer["series"])
        assert [value is None for value in lost] == [False] * 6 + [True] * 6 + [False] * 6
        assert None not in whole


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (f"metric=gpu_power_watts&node=spark-01&{SPAN}", True),
        (f"metric=gpu_power_watts&total=1&{SPAN}", True),
        (f"metric=gpu_energy_per_token_joules&{SPAN}", False),
        (f"metric=gpu_power_watts&node=spark-02&{SPAN}", False),
        (f"metric=gpu_temperature_celsius&{SPAN}", False),
        (f"metric=gpu_power_watts&start={START}&end={START + HOUR_MS - 1}", False),
        (f"metric=gpu_power_watts&start={START + 2 * HOUR_MS + 1}&end={START + 3 * HOUR_MS - 1}", False),
    ],
)
def test_only_whoever_asks_for_it_is_told(web: Web, asked: str, told: bool) -> None:
    web.get(f"series?metric=gpu_power_watts&{SPAN}")
    assert ("damaged" in web.get(f"series?{asked}")) == told
