"""Ticks that the collector itself left out, at the API."""

from __future__ import annotations

from pipeline.left_out import LEFT_OUT, TICKS
from storage.records import Event
from tests.web.conftest import MakeWeb, MakeWorld


def test_ticks_that_the_collector_left_out(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Of the last day, the newest first; other events of the cluster are none."""
    world = make_world()
    world.run(0, 10)
    web = make_web(world)
    web.step()
    assert web.get("status")["collector"] == {"left_out": {"ticks": 0, "stretches": []}}
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
