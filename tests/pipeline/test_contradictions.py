"""Pages that contradict themselves, or what was before: nothing of that becomes a number."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.ingest import BROKEN, Reading
from telemetry.histograms import quantile
from tests.pipeline.source import Source

BUCKET = 'vllm:time_to_first_token_seconds_bucket{{engine="{engine}",model_name="m",le="{edge}"{more}}} {number}\n'
COUNT = 'vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} '
EDGES = ("0.1", "0.5", "+Inf")


def ladder(*numbers: object, engine: str = "0", more: str = "") -> str:
    return "".join(
        BUCKET.format(engine=engine, edge=edge, number=number, more=more)
        for edge, number in zip(EDGES, numbers, strict=True)
        if number is not None
    )


def values(reading: Reading) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in reading.values]


@pytest.mark.parametrize("numbers", [(30, 20, 25), (15, 35, 25), (40, 45, 25), (11, 26, 25)])
def test_buckets_that_fall_are_unknown_all_of_their_histogram(numbers: tuple[int, ...]) -> None:
    source = Source()
    source.body(ladder(10, 15, 20))
    reading = source.body(ladder(*numbers))
    assert values(reading) == [None, None, None]
    assert (reading.nonsense, dict(reading.why)) == (3, {"time_to_first_token_seconds_bucket": BROKEN})
    assert values(source.body(ladder(12, 18, 25))) == [2.0, 3.0, 5.0]


def test_buckets_that_stand_or_are_not_there_are_no_contradiction() -> None:
    source = Source()
    source.body(ladder(10, 10, 10))
    assert values(source.body(ladder(10, 12, 12))) == [0.0, 2.0, 2.0]
    assert values(source.body(ladder(10, "NaN", 13))) == [0.0, None, 3.0]
    assert values(source.body(ladder(10, 14, None))) == [0.0, 4.0], "a histogram without +Inf is read, and says nothing"
    assert quantile({0.1: 0.0, 0.5: 0.0}, 0.5) is None


def test_each_histogram_contradicts_itself_alone() -> None:
    source = Source()
    source.body(ladder(10, 15, 20) + ladder(1, 2, 3, engine="1") + COUNT + "20\n")
    reading = source.body(ladder(16, 15, 20) + ladder(1, 2, 4, engine="1") + COUNT + "21\n")
    assert values(reading) == [None, None, None, 0.0, 0.0, 1.0, 1.0]


def test_the_buckets_of_several_processes_are_looked_at_together() -> None:
    source = Source()
    both = ladder(10, 15, 20, more=',pid="1"') + ladder(1, 1, 1, more=',pid="2"')
    source.body(both)
    assert values(source.body(both)) == [0.0, 0.0, 0.0]
    assert values(source.body(both.replace(" 20\n", " 9\n"))) == [None, None, None]


TOKENS = 'vllm:generation_tokens_total{engine="0",model_name="m"} '
PROMPTS = 'vllm:prompt_tokens_total{engine="0",model_name="m"} '
FINISHED = 'vllm:request_success_total{engine="0",model_name="m",finished_reason="stop"} '


def page(tokens: int, prompts: int, finished: int, start: object) -> str:
    return f"{TOKENS}{tokens}\n{PROMPTS}{prompts}\n{FINISHED}{finished}\nprocess_start_time_seconds {start}\n"


@pytest.mark.parametrize("start", [0, 1e12, 40])
def test_a_start_time_that_is_wrong_for_a_page_invents_no_lifetime(start: float) -> None:
    source = Source()
    source.body(page(5000, 700, 9, 50))
    for tokens, told in ((5010, start), (5020, 50), (5030, start)):
        source.tick += 1000
        reading = source.body(page(tokens, 700, 9, told))
        assert (values(reading), reading.restarted, reading.offsets) == ([tokens - 5000.0, 0.0, 0.0], False, ())


def test_a_restart_is_one_where_a_counter_fell_or_time_was_enough() -> None:
    for after, numbers in ((1000, (5010, 800, 2)), (20_000, (5010, 800, 10))):
        source = Source()
        source.tick = 1000
        source.body(page(5000, 700, 9, 50))
        source.tick += after
        reading = source.body(page(*numbers, 90))
        assert (values(reading), reading.restarted) == ([float(number) for number in numbers], True)


def test_two_counters_do_not_tell_whether_their_process_goes_on() -> None:
    source = Source()
    source.body(page(5000, 700, 0, 50))
    assert source.body(page(5010, 800, 0, 90)).restarted
