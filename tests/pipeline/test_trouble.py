"""What a hostile page, a locked store, a slow target and a broken file cost: little, and never a tick."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import TargetKind
from pipeline.writer import MERGE_AT_MOST, Work
from storage.records import Absence, Batch, Event
from storage.store import Store, open_store
from telemetry.catalog import engine, host
from telemetry.states import TargetState
from tests.pipeline.served import serving
from tests.pipeline.stage import Stage, values

ROOT = Path(__file__).parents[2]
COLLECT = """
import sys
from pipeline.collector import run
from pipeline.config import CollectorConfig, TargetConfig, TargetKind
sys.exit(run(CollectorConfig({path!r}, (), (TargetConfig("one", {url!r}, TargetKind.ENGINE),))))
"""


def test_absences_keep_the_time_and_the_reason_of_each_stretch(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        for second, status in ((2, 500), (60, 500), (120, 503), (180, 503)):
            stage.status = status
            await stage.tick(second)
        stage.says(100)
        await stage.tick(300)

    stage.play(story)
    assert store.absences(0, 10**9, "one") == [
        Absence("one", None, 2000, 120_000, "bad answer: HTTP status 500"),
        Absence("one", None, 120_000, 300_000, "loading: it listens, and answers that it is not ready yet"),
    ]


def test_a_target_still_away_has_an_open_absence(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        for second, status in ((2, 500), (60, 503), (120, 503)):
            stage.status = status
            await stage.tick(second)

    stage.play(story)
    assert [(one.start_ms, one.end_ms) for one in store.absences(0, 10**9, "one")] == [(2000, 60_000), (60_000, None)]


def test_a_locked_store_costs_no_tick_and_no_sample(stage: Stage, store: Store) -> None:
    """Another process holds the lock while a new line comes onto the page: the ticks wait in memory and are written."""
    lock = sqlite3.connect(stage.path, isolation_level=None)

    async def story(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        while not any(row.target == "one" for row in store.rows()):
            await asyncio.sleep(0.01)
        lock.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        for second in range(2, 6):
            stage.says(100 + second)
            stage.body += f'vllm:num_requests_waiting{{engine="{second}",model_name="org/m"}} 1\n'.encode()
            await stage.tick(second)
        assert time.monotonic() - began < 6.0, "four ticks that waited for the store would take two seconds each"
        lock.execute("ROLLBACK")

    stage.play(story)
    lock.close()
    assert values(store, engine.GENERATION_TOKENS) == [0, 2, 3, 4, 5]


def test_a_number_that_no_database_holds_costs_one_value(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        for second, tokens in ((1, "0"), (2, "1.7e308"), (3, "5")):
            stage.says(0)
            computed = (
                'vllm:prompt_tokens_by_source_total{engine="0",model_name="org/m",source="local_compute",a="%s"} %s\n'
            )
            stage.body += ((computed % (1, tokens)) + (computed % (2, tokens))).encode()
            stage.body += b'vllm:prompt_tokens_total{engine="0",model_name="org/m"} ' + tokens.encode() + b"\n"
            await stage.tick(second)

    stage.play(story)
    assert len([row for row in store.rows() if row.target == "one"]) == 3
    assert store.targets()[0].state == TargetState.OK.value


def test_a_target_that_answers_slowly_is_no_silent_target(stage: Stage, store: Store) -> None:
    """Every answer takes 2.4 s: it can be read every 3 s, and that is its interval."""

    async def story(stage: Stage) -> None:
        stage.slow_s = 2.4
        for second in (1, 4, 7, 10):
            stage.says(10 * second)
            stage.bench.clock.now_s = second
            await stage.sampler.tick(second)

    stage.play(story)
    (target,) = store.targets()
    assert target.interval_ms == 3000


def test_an_engine_that_left_its_page_is_in_no_deployment(stage: Stage, store: Store) -> None:
    seen: list[list[str]] = []

    async def story(stage: Stage) -> None:
        for second, model in ((1, "org/old"), (2, "org/new")):
            stage.says(100)
            stage.body = stage.body.replace(b"org/m", model.encode())
            await stage.tick(second)
            seen.append(list(stage.sampler.hub.deployments()))

    stage.play(story)
    assert seen == [["old"], ["new"]]
    named = {fact.name: fact.value for fact in store.facts("one") if fact.name.startswith("deployment.")}
    assert named == {"deployment.org/old": "old", "deployment.org/new": "new"}


@pytest.mark.parametrize("monotonic", ["1e306", "-5", "NaN"])
def test_a_node_without_a_usable_clock_is_timed_by_arrival(tmp_path: Path, monotonic: str) -> None:
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)

    async def story(stage: Stage) -> None:
        stage.body = (
            f"tachograph_{host.AGENT_MONOTONIC.name} {monotonic}\ntachograph_{host.CPU_CORES.name} 20\n".encode()
        )
        await stage.tick(7)

    stage.play(story)
    store = open_store(str(stage.path), writer=False, now_ms=0)
    assert [row.at_ms for row in store.rows() if row.target == "one"] == [7000]
    store.close()


def test_a_series_that_was_away_when_the_collector_stopped_goes_on_too(stage: Stage, store: Store) -> None:
    """The Rust front end has just started anew and shows nothing; then the collector starts anew as well."""
    declared = b"# TYPE vllm:generation_tokens counter\n"

    async def first(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        stage.says(150)
        await stage.tick(2)
        stage.body = declared
        await stage.tick(3)

    async def second(stage: Stage) -> None:
        stage.says(30, start=500)
        await stage.tick(60)

    stage.play(first)
    stage.play(second)
    known = [value for value in values(store, engine.GENERATION_TOKENS) if not np.isnan(value)]
    assert known == [0, 50, 80]


@pytest.mark.parametrize(("content", "code"), [(b"no database at all, only text", 2), (None, 0)])
def test_a_store_that_cannot_be_used_ends_the_collector_for_good(
    tmp_path: Path, content: bytes | None, code: int
) -> None:
    path, asked = tmp_path / "store.db", threading.Event()
    if content is not None:
        path.write_bytes(content * 100)

    def answer(_: str) -> tuple[int, bytes]:
        asked.set()
        return 200, b""

    with serving(answer) as url:
        process = subprocess.Popen([sys.executable, "-c", COLLECT.format(path=str(path), url=url)], cwd=ROOT)
        if content is None:
            assert asked.wait(60)
            process.terminate()
        assert process.wait(60) == code


def test_a_write_that_succeeds_in_part_is_a_commit(stage: Stage, store: Store) -> None:
    """Thirty ticks are written and one is not: the last commit is of now, though one still waits."""
    with contextlib.closing(sqlite3.connect(stage.path)) as database, database:
        database.execute(
            "CREATE TRIGGER picky BEFORE INSERT ON event WHEN NEW.text = 'no' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )

    def work(text: str) -> Work:
        return Work(1000, (), Batch(events=[Event(0, 1000, "one", "kind", text)]))

    async def story(stage: Stage) -> None:
        sampler = stage.sampler
        sampler.writer.waiting.append(work("yes"))
        sampler._committed_s -= 60.0
        assert sampler._commit_age_s() >= 60.0
        sampler.writer.write([*(work("yes") for _ in range(MERGE_AT_MOST - 1)), work("no")], 1000)
        assert len(sampler.writer.waiting) == 1
        assert sampler._commit_age_s() < 60.0
        sampler._committed_s -= 60.0
        assert sampler._commit_age_s() >= 60.0, "one still waits, and nothing was written since"
        sampler.writer.waiting.clear()
        assert sampler._commit_age_s() == 0.0, "nothing waits"

    stage.play(story)
    assert [one.text for one in store.events(0, 10_000, "one")] == ["yes"] * MERGE_AT_MOST
