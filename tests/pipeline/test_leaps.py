"""An impossible number, from the page to what is asked of the store: no peak, no total, a reason."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.ingest import LEAP
from storage.store import Store
from telemetry.catalog import engine
from telemetry.catalog.ratios import DECODE_TPS
from telemetry.counters import increase
from telemetry.frame import Frame
from telemetry.ratios import evaluate
from tests.pipeline.stage import Stage

TOKENS = engine.GENERATION_TOKENS.name
LEVEL = 10**12


def frame_of(stage: Stage, store: Store, numbers: list[float]) -> Frame:
    """What the store has of a counter that stood at these numbers, second by second."""

    async def story(stage: Stage) -> None:
        for second, number in enumerate(numbers, start=1):
            stage.says(number)
            await stage.tick(second)

    stage.play(story)
    return store.frame([TOKENS], ["one"], 0, 10**12)


def known(frame: Frame) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in frame.values[0]]


def peak(frame: Frame) -> float:
    return float(np.nanmax(evaluate(DECODE_TPS, frame, lambda _: (), 2000.0)[()]))


def test_a_leap_of_one_page(stage: Stage, store: Store) -> None:
    numbers = [5000 + 50 * second for second in range(12)]
    frame = frame_of(stage, store, [*numbers[:6], LEVEL, *numbers[7:]])
    assert known(frame) == [None if second == 6 else 50.0 * second for second in range(12)]
    assert peak(frame) == pytest.approx(50.0)
    assert increase(frame, *frame.ticks[[0, -1]].tolist()).tolist() == [550.0]
    (told,) = [one for one in store.absences(0, 10**12) if one.metric == TOKENS]
    (target,) = [one for one in store.targets() if one.name == "one"]
    assert (told.reason, told.end_ms - told.start_ms) == (LEAP, 1000)
    assert target.detail["impossible_numbers"] == 1


def test_a_level_that_stays_and_one_that_goes(stage: Stage, store: Store) -> None:
    numbers = [5000 + 50 * second for second in range(14)]
    high = [LEVEL + 50 * second for second in range(14)]
    frame = frame_of(stage, store, [*numbers[:4], *high[4:9], *numbers[9:]])
    assert known(frame) == [0, 50, 100, 150, None, 150, 200, 250, 300, 450, 500, 550, 600, 650]
    assert frame.ticks[frame.breaks[0]].tolist() == frame.ticks[[5, 9]].tolist()
    assert peak(frame) == pytest.approx(50.0)


PROMPTS = (
    'vllm:prompt_tokens_total{{engine="0",model_name="org/m"}} {prompts}\n'
    'vllm:prompt_tokens_by_source_total{{engine="0",model_name="org/m",source="local_compute"}} {prompts}\n'
    'vllm:time_to_first_token_seconds_sum{{engine="0",model_name="org/m"}} {first}\n'
    'vllm:time_to_first_token_seconds_count{{engine="0",model_name="org/m"}} {count}\n'
    'vllm:num_requests_running{{engine="0",model_name="org/m"}} 1\n'
)


def test_prefills_while_a_counter_was_at_another_level_are_not_told_as_one(stage: Stage, store: Store) -> None:
    """A prefill of 1,000 tokens and a second, every five seconds; the counters are 10¹² too high for a while."""

    async def story(stage: Stage) -> None:
        for second in range(1, 31):
            done = second // 5
            up = LEVEL if 12 <= second < 23 else 0
            stage.body = PROMPTS.format(prompts=7000 + 1000 * done + up, first=9.0 + done, count=9 + done).encode()
            await stage.tick(second)

    stage.play(story)
    told = [(one.end_ms // 1000, one.tokens) for one in store.episodes("m", 0, 10**12)]
    assert told == [(5, 1000), (10, 1000), (15, 1000), (20, 1000), (25, 1000), (30, 1000)]
