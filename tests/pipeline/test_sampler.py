"""The tick: what a target's silence, return, restart and lateness become in the store."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import TargetConfig, TargetKind
from pipeline.sampler import Sampler
from storage.records import Absence
from storage.store import Store, open_store
from telemetry.catalog import engine, gpu, host
from telemetry.counters import increase
from telemetry.model import Metric
from telemetry.states import TargetState
from tests.pipeline.served import Bench, serving

TOKENS = 'vllm:generation_tokens_total{{engine="0",model_name="org/m"}} {tokens}\n'
PAGE = (
    TOKENS
    + 'vllm:num_requests_running{{engine="0",model_name="org/m"}} {running}\nprocess_start_time_seconds {start}\n'
)
ROOT = Path(__file__).parents[2]
COLLECT = """
import sys
from pipeline.collector import run
from pipeline.config import CollectorConfig, TargetConfig, TargetKind
sys.exit(run(CollectorConfig({path!r}, (), (TargetConfig("one", {url!r}, TargetKind.ENGINE),))))
"""
Story = Callable[["Stage"], Awaitable[None]]


class Stage:
    """One engine (or node) whose page a story sets between ticks."""

    def __init__(self, path: Path, kind: TargetKind = TargetKind.ENGINE) -> None:
        self.path, self.kind = path, kind
        self.status, self.body = 200, b""
        self.asked: list[str] = []
        self.hold: threading.Event | None = None
        self.slow_s = 0.0
        self.sampler: Sampler
        self.bench: Bench

    def answer(self, where: str) -> tuple[int, bytes]:
        self.asked.append(where)
        if where != "/metrics":
            return 404, b""
        if self.hold is not None:
            self.hold.wait(5)
        self.bench.clock.now_s += self.slow_s
        return self.status, self.body

    def says(self, tokens: float, running: float = 1, start: float = 100) -> None:
        self.status, self.body = 200, PAGE.format(tokens=tokens, running=running, start=start).encode()

    async def tick(self, second: float) -> None:
        self.bench.clock.now_s = second
        await self.sampler.tick(second)

    def play(self, story: Story) -> None:
        """Open a sampler on the store, play the story, close it."""

        async def run() -> None:
            with serving(self.answer) as url:
                self.bench = Bench(self.path, [TargetConfig("one", url, self.kind)])
                self.sampler, store = self.bench.open()
                await story(self)
                await self.sampler.finish()
                store.close()

        asyncio.run(run())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "store.db")


@pytest.fixture
def store(stage: Stage) -> Iterator[Store]:
    opened = open_store(str(stage.path), writer=True, now_ms=0)
    yield opened
    opened.close()


def values(store: Store, metric: Metric) -> list[float]:
    frame = store.frame([metric.name], ["one"], 0, 10**12)
    return [] if not len(frame.series) else frame.values[0].tolist()


def test_ticks_are_scheduled_instants_and_arrivals_keep_their_own_time(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.says(100)
        stage.bench.clock.now_s = 10.4
        await stage.sampler.tick(10.0)

    stage.play(story)
    (row,) = [row for row in store.rows() if row.target == "one"]
    assert (row.tick, row.at_ms) == (10_000, 10_400)


def test_an_http_error_leaves_no_row_and_names_its_reason(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        stage.status = 500
        await stage.tick(2)
        stage.says(150)
        await stage.tick(10)

    stage.play(story)
    assert values(store, engine.GENERATION_TOKENS) == [0, 50]
    assert store.absences(0, 10**9, "one") == [Absence("one", None, 2000, 10_000, "bad answer: HTTP status 500")]


def test_a_server_that_is_not_ready_is_loading(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.status = 503
        await stage.tick(1)

    stage.play(story)
    (target,) = store.targets()
    assert target.state == TargetState.LOADING.value
    assert target.last_ok_ms is None
    assert (target.detail["missed"], target.detail["scrapes"]) == (1, 0)


def test_a_restart_counts_from_zero_even_when_it_has_overtaken_the_old_count(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.says(100, start=100)
        await stage.tick(1)
        stage.says(130, start=100)
        await stage.tick(2)
        stage.says(140, start=500)
        await stage.tick(3)

    stage.play(story)
    assert values(store, engine.GENERATION_TOKENS) == [0, 30, 170]
    frame = store.frame([engine.GENERATION_TOKENS.name], ["one"], 0, 10**9)
    assert frame.breaks.tolist() == [[False, False, True]]
    assert store.targets()[0].detail["restarts"] == 1


def test_a_late_answer_is_written_under_the_tick_that_asked(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.says(100)
        stage.hold = threading.Event()
        await stage.tick(1)
        await stage.tick(2)
        stage.hold.set()
        stage.hold = None
        while not stage.sampler.arrived:
            await asyncio.sleep(0.01)
        await stage.tick(3)

    stage.play(story)
    assert [row.tick for row in store.rows() if row.target == "one"] == [1000, 3000]
    assert store.targets()[0].detail["late"] == 1


def test_a_collector_that_starts_again_goes_on_counting(stage: Stage, store: Store) -> None:
    async def first(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        stage.says(130)
        await stage.tick(2)

    async def second(stage: Stage) -> None:
        stage.says(190)
        await stage.tick(60)
        stage.says(200)
        await stage.tick(61)

    stage.play(first)
    stage.play(second)
    assert values(store, engine.GENERATION_TOKENS) == [0, 30, 90, 100]
    frame = store.frame([engine.GENERATION_TOKENS.name], ["one"], 0, 10**9)
    assert increase(frame, 0, 10**9).tolist() == [100]


def test_an_engine_restarted_while_the_collector_was_away_is_seen(stage: Stage, store: Store) -> None:
    async def first(stage: Stage) -> None:
        stage.says(100, start=100)
        await stage.tick(1)
        stage.says(150, start=100)
        await stage.tick(2)

    async def second(stage: Stage) -> None:
        stage.says(400, start=900)
        await stage.tick(60)

    stage.play(first)
    stage.play(second)
    assert values(store, engine.GENERATION_TOKENS) == [0, 50, 450]


def test_phases_and_recorded_rows_are_stored(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        for second, tokens, running in ((1, 0, 0), (2, 0, 1), (3, 40, 1), (14, 40, 0)):
            stage.says(tokens, running)
            await stage.tick(second)

    stage.play(story)
    assert values(store, engine.ENGINE_PHASE) == [1, 2, 3, 1]
    recorded = [row for row in store.rows() if row.target == "deployment/m"]
    assert len(recorded) == 4


def test_a_node_that_said_goodbye_is_stopped_not_lost(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)

    async def story(stage: Stage) -> None:
        stage.body = f"tachograph_{host.AGENT_GOODBYE.name} 1\ntachograph_{host.CPU_CORES.name} 20\n".encode()
        await stage.tick(1)

    stage.play(story)
    with serving(lambda _: (200, b"")) as url:
        closed = url
    bench = Bench(stage.path, [TargetConfig("one", closed, TargetKind.NODE)])

    async def silence() -> TargetState:
        sampler, store = bench.open()
        sampler.targets[0].note(ever=True, goodbye=True)
        bench.clock.now_s = 2.0
        await sampler.tick(2.0)
        await sampler.finish()
        store.close()
        return sampler.targets[0].health.verdict.state

    assert asyncio.run(silence()) is TargetState.STOPPED


def test_a_metric_that_leaves_the_page_is_an_absence_of_its_own(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)
    cores = f"tachograph_{host.CPU_CORES.name} 20\n"
    power = f'tachograph_{gpu.GPU_POWER.name}{{gpu="0"}} 80\n'

    async def story(stage: Stage) -> None:
        for second, body in ((1, cores + power), (2, cores), (3, cores + power)):
            stage.body = body.encode()
            await stage.tick(second)

    stage.play(story)
    store = open_store(str(stage.path), writer=False, now_ms=0)
    reason = "no longer on the page, or not a number"
    assert store.absences(0, 10**9, "one") == [Absence("one", gpu.GPU_POWER.name, 2000, 3000, reason)]
    frame = store.frame([gpu.GPU_POWER.name], ["one"], 0, 10**9)
    assert np.isnan(frame.values[0]).tolist() == [False, True, False]
    store.close()


def test_facts_are_asked_once_per_start(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        for second in range(1, 8):
            stage.says(second)
            await stage.tick(second)

    stage.play(story)
    others = [where for where in stage.asked if where != "/metrics"]
    assert others == ["/version", "/v1/models"]


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
        assert time.monotonic() - began < 2.0, "the ticks did not wait for the store"
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
        stage.says(30)
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
            assert asked.wait(30)
            process.terminate()
        assert process.wait(30) == code
