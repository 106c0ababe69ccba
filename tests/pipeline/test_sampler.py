"""The tick: what a target's silence, return, restart and lateness become in the store."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import numpy as np

from pipeline.config import TargetConfig, TargetKind
from storage.records import Absence
from storage.store import Store, open_store
from telemetry.catalog import engine, gpu, host
from telemetry.counters import increase
from telemetry.states import TargetState
from tests.pipeline.served import Bench, serving
from tests.pipeline.stage import Stage, values


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
        while stage.sampler.targets[0].busy:
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


def test_a_phase_ends_with_the_reading_that_shows_it(stage: Stage, store: Store) -> None:
    """Two answers with a pause between: idle for as long as nothing runs, and no longer than that."""

    async def story(stage: Stage) -> None:
        seen = ((0, 1), (10, 1), (20, 0), (20, 0), (20, 0), (20, 1), (30, 1))
        for second, (tokens, running) in enumerate(seen, 1):
            stage.says(tokens, running)
            await stage.tick(second)

    stage.play(story)
    assert values(store, engine.ENGINE_PHASE) == [2, 3, 3, 1, 1, 2, 3]


def told(store: Store) -> list[tuple[int, str, str, str]]:
    return [(one.at_ms, one.target, one.kind, one.text) for one in store.events(0, 10**9)]


def test_silence_return_and_restart_are_events(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        stage.status = 500
        for second in (2, 3, 4):
            await stage.tick(second)
        assert told(store) == [], "two and a half intervals are no gap yet"
        await stage.tick(5)
        await stage.tick(6)
        stage.says(130)
        await stage.tick(12)
        stage.says(3, start=500)
        await stage.tick(13)
        await stage.tick(14)
        stage.status = 500
        for second in (15, 16, 20):
            await stage.tick(second)
        stage.says(2, start=900)
        await stage.tick(90)

    stage.play(story)
    assert told(store) == [
        (2000, "one", "silent", "bad answer: HTTP status 500"),
        (12_000, "one", "back", "answers again after 10.0 s"),
        (13_000, "one", "restart", "started anew"),
        (15_000, "one", "silent", "bad answer: HTTP status 500"),
        (90_000, "one", "restart", "started anew; answers again after 1m 15s"),
    ]


def test_a_short_failure_is_no_event(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        for second, status in enumerate((200, 500, 200, 500, 200), 1):
            stage.says(100)
            stage.status = status
            await stage.tick(second)

    stage.play(story)
    assert told(store) == []


def test_a_target_that_was_silent_all_along_is_news_when_it_answers(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        stage.status = 503
        for second in (1, 5, 9):
            await stage.tick(second)
        stage.says(0)
        await stage.tick(19)
        await stage.tick(20)

    stage.play(story)
    assert told(store) == [(19_000, "one", "back", "answers for the first time since the collector began")]


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
