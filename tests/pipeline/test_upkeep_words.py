"""What the scheduler has to say of its jobs is said in sentences of our own, and once."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from apscheduler.events import EVENT_JOB_MAX_INSTANCES

from pipeline.config import Keep
from pipeline.upkeep import Upkeep
from tests.pipeline.stage import Stage

SLOW = "the test takes longer than the time between two of them; some are left out"
FAILED = "the test failed by a defect and will be tried again"


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "pipeline.upkeep"]


def test_a_job_that_takes_long_is_told_once_until_it_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage) -> None:
        upkeep = Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)
        left_out, turns = asyncio.Semaphore(0), asyncio.Semaphore(0)
        upkeep._scheduler.add_listener(lambda _event: left_out.release(), EVENT_JOB_MAX_INSTANCES)

        async def work() -> None:
            await turns.acquire()

        async def leave_out(times: int) -> None:
            for _ in range(times):
                await asyncio.wait_for(left_out.acquire(), 30)

        upkeep.every(0.02, "the test", work)
        upkeep.start()
        await leave_out(3)
        assert said(caplog) == [SLOW]
        turns.release()
        while said(caplog) == [SLOW]:
            await leave_out(1)
        assert said(caplog) == [SLOW, SLOW]
        upkeep.stop()

    with caplog.at_level(logging.INFO):
        Stage(tmp_path / "store.db").play(story)


def test_a_job_that_fails_is_told_with_what_it_met(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage) -> None:
        upkeep = Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)
        times = asyncio.Semaphore(0)

        async def work() -> None:
            times.release()
            raise KeyError("no such thing")

        upkeep.every(0.02, "the test", work, at_once=True)
        upkeep.start()
        for _ in range(3):
            await asyncio.wait_for(times.acquire(), 30)
        upkeep.stop()

    with caplog.at_level(logging.INFO):
        Stage(tmp_path / "store.db").play(story)
    told = [record for record in caplog.records if record.name == "pipeline.upkeep"]
    assert len(told) >= 2
    assert {record.getMessage() for record in told} == {FAILED}
    assert told[0].exc_info is not None
    assert isinstance(told[0].exc_info[1], KeyError)
