"""The collector seals hours beside its ticks, and gives up what is old."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline import upkeep as upkeeping
from pipeline.config import Keep
from pipeline.retention import summaries_ms
from pipeline.upkeep import HOT_MS, HOUR_MS, Upkeep
from pipeline.writer import Draft, Work
from storage.errors import StoreError
from storage.records import Batch, Row
from storage.store import Store
from telemetry.model import Series
from tests.pipeline.stage import Stage

START = 1_796_000_400_000
DAY_MS = 24 * HOUR_MS
X = Series("old", "x")
DAY = Keep(raw_days=1.0)
SUMMARIES_MS = summaries_ms(DAY)


def write(store: Store, *ticks: int, target: str = "old") -> None:
    """Rows at milliseconds after START."""
    layout = store.layout(target, (Series(target, "x"),))
    rows = [Row(START + tick, target, START + tick, layout, [float(tick)]) for tick in ticks]
    store.commit(Batch(rows=rows), START)


def with_upkeep(path: Path, story: Callable[[Stage, Store, Upkeep], object], keep: Keep = DAY) -> None:
    """Play a story with upkeep over an empty store; the hub's clock stands where the stage sets it."""

    async def run(stage: Stage) -> None:
        store = stage.sampler.writer.store
        upkeep = Upkeep(store, stage.sampler, keep, lambda _error: None)
        upkeep._now_ms = lambda: stage.now_ms  # type: ignore[attr-defined,method-assign]
        outcome = story(stage, store, upkeep)
        if asyncio.iscoroutine(outcome):
            await outcome

    Stage(path / "store.db").play(run)


async def sealing(upkeep: Upkeep) -> None:
    """Seal, with nothing that fails on the way: that would be told to the log alone, and tried again."""
    await upkeep.seal()
    assert upkeep._problems == {}


def test_hours_are_sealed_when_they_are_settled(tmp_path: Path) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        write(store, 0, 1000, HOUR_MS)
        write(store, 5, target="other")
        stage.now_ms = START + HOUR_MS + 299_999
        await sealing(upkeep)
        assert store.sealed(0, START + DAY_MS) == []
        stage.now_ms += 1
        await sealing(upkeep)
        assert [(one.target, one.hour) for one in store.sealed(0, START + DAY_MS)] == [("old", START), ("other", START)]

    with_upkeep(tmp_path, story)


def test_days_are_folded_as_their_hours_are_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.upkeep.PAUSE_S", 0.0)
    monkeypatch.setattr("pipeline.upkeep.MOST_DAYS", 1)

    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        begin = START - START % DAY_MS
        for target in ("old", "other"):
            write(store, begin - START, target=target)
        for left in (["other"], []):
            stage.now_ms = begin + HOUR_MS + 300_000
            await sealing(upkeep)
            await upkeep.fold()
            assert store.days_due(begin + 9 * DAY_MS, 9) == [(target, begin) for target in left]
        write(store, begin - START, HOUR_MS, target="other")
        stage.now_ms += HOUR_MS
        await sealing(upkeep)
        assert store.days_due(stage.now_ms, 9) == [("other", begin)]
        assert upkeep._problems == {}

    with_upkeep(tmp_path, story)


def test_nothing_is_sealed_while_its_rows_wait_in_memory(tmp_path: Path) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        write(store, 0)
        stage.now_ms = START + 2 * HOUR_MS
        waiting = stage.sampler.writer.waiting
        draft = Draft(START + HOUR_MS - 1, "old", START, (X,), [1.0])
        waiting.append(Work(START, (draft,), Batch()))
        await sealing(upkeep)
        assert store.sealed(0, START + DAY_MS) == []
        waiting[0] = Work(START, (Draft(START + HOUR_MS, "old", START, (X,), [1.0]),), Batch())
        await sealing(upkeep)
        assert len(store.sealed(0, START + DAY_MS)) == 1
        waiting.clear()

    with_upkeep(tmp_path, story)


def test_what_is_old_goes_in_three_steps(tmp_path: Path) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        write(store, 0, 1000, HOUR_MS, 9 * HOUR_MS)
        stage.now_ms = START + 10 * HOUR_MS
        await sealing(upkeep)
        stage.now_ms = START + 1000 + HOT_MS
        await upkeep.prune()
        assert [row.tick - START for row in store.rows()] == [1000, HOUR_MS, 9 * HOUR_MS]
        assert store.frame(["x"], None, 0, START + DAY_MS).values.tolist() == [[0, 1000, HOUR_MS, 9 * HOUR_MS]]
        stage.now_ms = START + HOUR_MS + 24 * HOUR_MS
        await upkeep.prune()
        assert store.frame(["x"], None, 0, START + DAY_MS).values.tolist() == [[HOUR_MS, 9 * HOUR_MS]]
        assert len(store.rows()) == 1
        stage.now_ms = START + HOUR_MS + SUMMARIES_MS - 1
        write(store, SUMMARIES_MS - 2 * DAY_MS, target="other")
        assert store.seal("other", START + SUMMARIES_MS - 2 * DAY_MS, stage.now_ms)
        await upkeep.prune()
        assert store.summaries(["x"], None, 0, START + DAY_MS).count.tolist() == [[2, 1]]
        stage.now_ms += 1
        await upkeep.prune()
        assert store.summaries(["x"], None, 0, START + DAY_MS).count.tolist() == [[1]]

    with_upkeep(tmp_path, story)


def test_samples_that_are_kept_longer_keep_their_summaries(tmp_path: Path) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        write(store, 0, HOUR_MS)
        write(store, SUMMARIES_MS - 2 * DAY_MS, target="other")
        stage.now_ms = START + SUMMARIES_MS + 3 * HOUR_MS
        await sealing(upkeep)
        await upkeep.prune()
        assert len(store.sealed(0, START + DAY_MS)) == 2

    with_upkeep(tmp_path, story, keep=Keep(raw_days=SUMMARIES_MS / DAY_MS + 1))


def test_a_store_that_fails_is_told_once_and_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def told() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]

    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        write(store, 0, HOUR_MS)
        write(store, 7, target="other")
        stage.now_ms = START + 2 * HOUR_MS
        with store._database.writing() as connection:
            connection.exec_driver_sql("UPDATE hot SET data = '[1, 2]' WHERE target = 'old' AND tick = ?", (START,))
        for _ in range(2):
            await upkeep.seal()
        assert len(told()) == 1
        assert f"at {START} is damaged: 2 numbers where the layouts say 1" in told()[0]
        assert [one.target for one in store.sealed(0, START + DAY_MS)] == ["other"]
        with store._database.writing() as connection:
            connection.exec_driver_sql("UPDATE hot SET data = '[1]' WHERE target = 'old'")
        await upkeep.seal()
        assert [one.target for one in store.sealed(0, START + DAY_MS)] == ["old", "other"]
        assert len(told()) == 1

    with_upkeep(tmp_path, story)


def test_a_defect_is_told_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        def broken() -> None:
            raise ValueError("nonsense")

        def full() -> None:
            raise StoreError("no room")

        assert await upkeep._guarded("this", broken) is None
        assert await upkeep._guarded("that", full) is None
        assert await upkeep._guarded("that", lambda: 7) == 7
        assert await upkeep._guarded("that", full) is None

    with_upkeep(tmp_path, story)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 3
    assert "ValueError: nonsense" in texts[0]
    assert texts[1] == texts[2] == "upkeep of that failed and will be tried again: no room"


def test_sealing_begins_at_once_and_goes_on_every_minute(tmp_path: Path) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        stage.now_ms = START + 2 * HOUR_MS
        write(store, 0)
        upkeep.start()
        jobs = {job.func.__name__: job.trigger.interval.total_seconds() for job in upkeep._scheduler.get_jobs()}
        async with asyncio.timeout(20):
            while not store.sealed(0, START + DAY_MS) or store.noted("upkeep") is None:
                await asyncio.sleep(0.01)
        upkeep.stop()
        assert (jobs["seal"], jobs["fold"], jobs["prune"], jobs["make_room"]) == (60, 60, 600, 30)
        assert store.noted("upkeep")["keep"]["raw_days"] == 1.0

    with_upkeep(tmp_path, story)


def test_the_hubs_clock_counts(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        upkeep = Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)
        before = upkeep._now_ms()
        stage.sampler.clock._anchor_ms += 5 * HOUR_MS
        assert 5 * HOUR_MS <= upkeep._now_ms() - before < 5 * HOUR_MS + 60_000

    Stage(tmp_path / "store.db").play(story)


@pytest.mark.parametrize("hours", [5, -5])
def test_a_clock_that_was_set_does_not_hold_up_the_jobs(tmp_path: Path, hours: int) -> None:
    """They are timed by the machine's clock: set back, they would rest for hours."""

    async def story(stage: Stage) -> None:
        upkeep = Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)
        stage.sampler.clock._anchor_ms = time.time() * 1000 - time.monotonic() * 1000
        upkeep.start()
        later = datetime.now(UTC) + timedelta(hours=6)
        jobs = upkeep._scheduler.get_jobs()
        for job in jobs:
            job.modify(next_run_time=later)
        await upkeep.check_clock()
        assert all(job.next_run_time == later for job in jobs), "nothing was set"
        stage.sampler.clock._anchor_ms -= hours * HOUR_MS
        await upkeep.check_clock()
        for job in jobs:
            assert timedelta() < job.next_run_time - datetime.now(UTC) <= job.trigger.interval
        assert len(jobs) > 4
        upkeep.stop()

    Stage(tmp_path / "store.db").play(story)


def test_the_clock_is_looked_at_in_monotonic_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stage: Stage) -> None:
        monkeypatch.setattr(upkeeping, "CLOCK_EVERY_S", 0.01)
        upkeep = Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)
        upkeep.start()
        upkeep._scheduler.pause()
        before = stage.sampler.clock._anchor_ms
        async with asyncio.timeout(20):
            while stage.sampler.clock._anchor_ms == before:
                await asyncio.sleep(0.01)
        upkeep.stop()

    Stage(tmp_path / "store.db").play(story)


def test_what_had_to_go_for_want_of_room_is_an_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(stage: Stage, store: Store, upkeep: Upkeep) -> None:
        write(store, 0, 1000, HOUR_MS, 40 * HOUR_MS)
        stage.now_ms = START + 41 * HOUR_MS
        await upkeep.seal()
        stage.says(5)
        await upkeep.make_room()
        await stage.tick(7)
        await stage.sampler._writing
        texts = [one.text for one in store.events(0, START * 2) if one.kind == "store"]
        why = "the store has reached its size limit"
        assert texts[0] == f"samples of 2026-11-30 are given up before their time: {why}"
        assert store.rows()[-1].tick == START + 40 * HOUR_MS
        assert {record.levelname for record in caplog.records if why in record.getMessage()} >= {"WARNING"}

    with_upkeep(tmp_path, story, keep=Keep(size_limit=1))
