"""Intervals of up to a minute: the sentence and the tiles look at as many readings as with the usual one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from telemetry.catalog import gpu
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import HEAD, World, tick

THERMAL = 64.0


def slow(world: World, step: int, *names: str) -> None:
    """Targets (all where none is named) that are read every so many seconds."""
    for name in names or list(world.rows):
        world.rows[name] = replace(world.rows[name], interval_ms=step * 1000)


def play(world: World, step: int, count: int) -> None:
    """So many ticks, every `step` seconds, the first at 0."""
    layouts = {name: world.writer.layout(name, tuple(values)) for name, values in world.series.items() if values}
    rows = [row for number in range(0, step * count, step) for row in world._rows(number, layouts)]
    world.now = tick(step * (count - 1))
    world.commit(rows=rows, targets=tuple(world.rows.values()))


def hot(world: World, since: int) -> None:
    """A node that throttles from a second on."""
    world.set("spark-02", gpu.GPU_CLOCK_EVENT_REASONS, lambda number: THERMAL if number >= since else 0.0)


@pytest.mark.parametrize("step", [1, 4, 5, 6, 15, 60])
@pytest.mark.parametrize(("first", "told"), [(0, True), (19, False)])
def test_throttling_is_named_at_any_interval(
    make_world: MakeWorld, make_web: MakeWeb, step: int, first: int, told: bool
) -> None:
    """In each of the last readings; where all but the newest of twenty are well, nothing is said."""
    world = make_world()
    slow(world, step)
    hot(world, first * step)
    play(world, step, 20)
    text = make_web(world).step()["sentence"]["text"]
    assert ("spark-02 is throttling (hardware thermal)" in text) is told


def test_a_node_that_is_read_often_is_judged_by_its_own_seconds(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Beside one that is read every minute: hot for 10 s is enough, however it was before."""
    world = make_world()
    slow(world, 60, "spark-04")
    hot(world, 170)
    world.run(0, 180)
    assert "spark-02 is throttling" in make_web(world).step()["sentence"]["text"]


@pytest.mark.parametrize(
    ("missed", "text"), [(2, "Serving Kimi-K3 on 4 nodes"), (3, "spark-02 has been silent for 3m 0s")]
)
def test_a_node_is_lost_after_two_and_a_half_of_its_intervals(
    make_world: MakeWorld, make_web: MakeWeb, missed: int, text: str
) -> None:
    """Two readings left out are no gap; nor do its tile and sums lack it then."""
    world = make_world()
    slow(world, 60)
    world.away("spark-02", (20 - missed) * 60, 19 * 60)
    play(world, 60, 20)
    message = make_web(world).step()
    assert message["sentence"]["text"].startswith(text)
    assert (message["nodes"][1]["cells"][1] == ["51", "W", "ok", ""]) is (missed == 2)
    assert (message["cells"]["energy_per_token"] == ["10.3", "J/token", "ok", ""]) is (missed == 2)


def test_an_engine_is_held_over_its_gap(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Read every minute, and not at the last one: what runs is known for two and a half."""
    world = make_world()
    slow(world, 60)
    world.away(HEAD, 19 * 60, 19 * 60)
    play(world, 60, 20)
    assert make_web(world).step()["cells"]["requests.running"] == ["3", "", "ok", ""]


@pytest.mark.parametrize(
    ("step", "cell"),
    [
        (10, ["3.2", "Gb/s", "ok", ""]),
        (15, ["–", "", "unknown", "10.0 s is not measurable, spark-02 is read every 15.0 s"]),
    ],
)
def test_a_tile_says_that_its_window_is_too_short(
    make_world: MakeWorld, make_web: MakeWeb, step: int, cell: list[str]
) -> None:
    world = make_world()
    slow(world, step)
    play(world, step, 20)
    assert make_web(world).step()["nodes"][1]["cells"][5] == cell


@pytest.mark.parametrize(("count", "told"), [(12, "150 ms"), (11, "–")])
def test_a_minute_of_decoding_is_a_minute_at_any_interval(
    make_world: MakeWorld, make_web: MakeWeb, count: int, told: str
) -> None:
    """Read every five seconds, a minute has twelve readings. Of the step time the first is not known yet."""
    world = make_world()
    slow(world, 5)
    play(world, 5, count + 1)
    rows = {row["key"]: row for row in make_web(world).step()["why"]}
    assert rows["step_time"]["baseline"] == told


def test_between_two_readings_of_the_nodes_three_are_looked_at(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Nodes every fifteen seconds, the engine every second: the last reading of a node is fourteen seconds old."""
    world = make_world()
    slow(world, 15, *(f"spark-{place:02}" for place in range(1, 5)))
    hot(world, 0)
    for name in [name for name in world.rows if name != HEAD]:
        for number in range(0, 75, 15):
            world.away(name, number + 1, number + 14)
    world.run(0, 74)
    assert "spark-02 is throttling" in make_web(world).step()["sentence"]["text"]
