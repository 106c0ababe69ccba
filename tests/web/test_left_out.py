"""Ticks that the collector itself left out, at the API."""

from __future__ import annotations

from pipeline.away import AWAY, SINCE
from pipeline.left_out import LEFT_OUT, TICKS
from storage.records import Event
from tests.web.conftest import MakeWeb, MakeWorld


def test_ticks_that_the_collector_left_out(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Of the last day, the newest first; other events of the cluster are none."""
    world = make_world()
    world.run(0, 10)
    web = make_web(world)
    web.step()
    assert web.get("status")["collector"] == {"left_out": {"ticks": 0, "stretches": []}, "away": []}
    day = 24 * 3_600_000
    told = [(-day - 1, LEFT_OUT, "9"), (-day, LEFT_OUT, "3"), (-5, "store", "7"), (-1, LEFT_OUT, "4")]
    world.commit(
        events=[
            Event(0, world.now + at, "cluster", kind, f"{kind} {count}", {TICKS: count}) for at, kind, count in told
        ]
    )
    assert web.get("status")["collector"]["left_out"] == {
        "ticks": 7,
        "stretches": [
            {"t": world.now - 1, "ticks": 4, "text": "left out 4"},
            {"t": world.now - day, "ticks": 3, "text": "left out 3"},
        ],
    }


def test_when_no_collector_ran(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 10)
    web = make_web(world)
    web.step()
    told = [(-9, AWAY, {SINCE: str(world.now - 50_000)}), (-2, AWAY, {}), (-1, "store", {})]
    world.commit(events=[Event(0, world.now + at, "cluster", kind, f"{kind} {at}", more) for at, kind, more in told])
    assert web.get("status")["collector"]["away"] == [
        {"t": world.now - 2, "since": world.now - 2, "text": f"{AWAY} -2"},
        {"t": world.now - 9, "since": world.now - 50_000, "text": f"{AWAY} -9"},
    ]
