"""Ticks that the collector itself leaves out: counted, told as an event with the reason, and not too often."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.left_out import LEFT_OUT, OWN_WORK, STOOD_STILL, TICKS, TOGETHER_MS, LeftOut, reason
from storage.records import Event
from storage.store import Store
from telemetry.catalog import cluster
from tests.pipeline.served import Clock
from tests.pipeline.stage import Stage


@pytest.mark.parametrize(("processor_s", "why"), [(1.99, STOOD_STILL), (2.0, OWN_WORK), (0.0, STOOD_STILL)])
def test_why_a_tick_came_late(processor_s: float, why: str) -> None:
    assert reason(processor_s, passed_s=4.0) == why


def test_none_is_told_of() -> None:
    left = LeftOut()
    left.add(0, "nothing")
    assert left.due(0) is None


def test_what_is_left_out_within_a_minute_is_told_together() -> None:
    left = LeftOut()
    left.add(1, "one reason")
    assert left.due(1000) == ("the collector left out 1 tick: one reason", {TICKS: "1"})
    left.add(2, "one reason")
    left.add(3, "another")
    left.add(0, "none")
    assert left.due(1000 + TOGETHER_MS - 1) is None
    assert left.due(1000 + TOGETHER_MS) == ("the collector left out 5 ticks: another", {TICKS: "5"})
    assert left.due(10**9) is None


INTERVAL_S = 0.125


@pytest.mark.parametrize(("worked_s", "why"), [(0.0, STOOD_STILL), (0.5, OWN_WORK)])
def test_the_loop_tells_of_them(stage: Stage, store: Store, worked_s: float, why: str) -> None:
    """The clock goes on by four and a half intervals while one is waited for: three ticks are not made."""
    stage.settings = {"interval_s": INTERVAL_S}
    processor = Clock()

    async def story(stage: Stage) -> None:
        stage.says(100)
        stage.sampler.processor = processor
        stop = asyncio.Event()
        loop = asyncio.get_running_loop().create_task(stage.sampler.run(stop))
        await asyncio.sleep(0)
        stage.bench.clock.now_s, processor.now_s = 4.5 * INTERVAL_S, worked_s
        async with asyncio.timeout(20):
            while stage.sampler.last_tick == 0:
                await asyncio.sleep(0.01)
        stop.set()
        await loop

    stage.play(story)
    (told,) = store.events(0, 10**6, cluster.CLUSTER_TARGET)
    expected = Event(
        told.id, 562, cluster.CLUSTER_TARGET, LEFT_OUT, f"the collector left out 3 ticks: {why}", {TICKS: "3"}
    )
    assert told == expected
    assert min(row.tick for row in store.rows()) == 500
