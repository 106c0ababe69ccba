"""Phases and prefill episodes, told as stories of readings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from telemetry.catalog import engine
from telemetry.phases import (
    DECODING_MS,
    STALLED_COLD_MS,
    STALLED_FLAT_MS,
    STALLED_MS,
    EngineJudge,
    EngineReading,
    Judgement,
    Phase,
    Prefill,
    Surroundings,
    stalled,
)

COLD, STILL = Surroundings(gpus_cold=True), Surroundings(fabric_still=True)
BOTH_NO = Surroundings(gpus_cold=False, fabric_still=False)


class Story:
    """An engine that is told what happens, second by second."""

    def __init__(self, **first: float) -> None:
        given = {"generation": 0.0, "prompt": 0.0, "computed": 0.0, "cached": 0.0, "ttft_sum": 0.0, "running": 0.0}
        self.now = EngineReading(0.0, **{**given, **first})  # type: ignore[arg-type]
        self.judge = EngineJudge()

    def at(self, second: float, around: Surroundings = BOTH_NO, **changes: float | bool | None) -> Judgement:
        self.now = replace(self.now, restarted=False)
        self.now = replace(self.now, at_ms=second * 1000, **changes)  # type: ignore[arg-type]
        return self.judge.read(self.now, around)


def test_codes_are_those_of_the_catalogue() -> None:
    assert tuple(phase.name.lower() for phase in Phase) == engine.ENGINE_PHASE.states
    assert [phase.value for phase in Phase] == list(range(len(engine.PHASES)))


# Phases ----------


def test_no_request_is_idle() -> None:
    story = Story()
    assert story.at(0).phase is Phase.IDLE
    assert story.at(1).reason == "no request runs"


def test_decoding_lasts_until_ten_seconds_after_the_last_token() -> None:
    story = Story(running=1)
    story.at(0)
    assert story.at(1, generation=5).phase is Phase.DECODING
    assert story.at(10.999).phase is Phase.DECODING
    assert story.at(11).phase is Phase.PREFILLING
    assert DECODING_MS == 10_000


def test_decoding_needs_an_increase_not_a_running_request() -> None:
    story = Story(generation=500, running=0)
    assert story.at(0).phase is Phase.IDLE
    assert story.at(1, generation=510).phase is Phase.DECODING, "running reads 0 in many a busy tick"
    assert story.at(2, running=3).phase is Phase.DECODING
    story = Story(generation=500, running=3)
    assert story.at(0).phase is Phase.PREFILLING
    assert story.at(1).phase is Phase.PREFILLING


def test_tokens_of_a_long_silence_are_not_known_to_be_of_the_last_ten_seconds() -> None:
    for silence, running, phase in (
        (10, 0, Phase.DECODING),
        (10.001, 0, Phase.IDLE),
        (10.001, 1, Phase.DECODING),
        (10.001, None, Phase.UNKNOWN),
    ):
        story = Story(running=1)
        story.at(0)
        assert story.at(silence, generation=500, running=running).phase is phase


def test_a_sleeping_engine_is_asleep_whatever_else_it_says() -> None:
    story = Story(running=1)
    story.at(0)
    assert story.at(1, generation=5, asleep=True).phase is Phase.ASLEEP


def test_an_engine_that_does_not_say_what_runs_is_unknown_unless_tokens_move() -> None:
    story = Story()
    assert story.at(0, running=None).phase is Phase.UNKNOWN
    assert story.at(1, generation=3).phase is Phase.DECODING
    assert story.at(12).phase is Phase.UNKNOWN


def test_an_engine_without_token_counter_shows_what_runs() -> None:
    story = Story()
    assert story.at(0, generation=None).phase is Phase.IDLE
    assert story.at(1, running=2).phase is Phase.PREFILLING


def test_prefilling_says_since_when_and_with_what_kv_usage() -> None:
    story = Story()
    story.at(0, kv_usage=0.1)
    first = story.at(1, running=2, kv_usage=0.2)
    assert (first.phase, first.prefilling_since_ms, first.kv_usage_since) == (Phase.PREFILLING, 0.0, 0.1)
    assert first.reason == "2 running, no token yet"
    later = story.at(40, kv_usage=0.5)
    assert (later.prefilling_since_ms, later.kv_usage_since) == (0.0, 0.1)


def test_prefilling_after_decoding_runs_since_the_last_token() -> None:
    story = Story(running=1)
    story.at(0)
    story.at(5, generation=9, kv_usage=0.3)
    found = story.at(20, kv_usage=0.6)
    assert (found.prefilling_since_ms, found.kv_usage_since) == (5000.0, 0.3)


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.DECODING])
def test_only_prefilling_has_a_since(phase: Phase) -> None:
    story = Story()
    story.at(0)
    found = story.at(1, generation=5 if phase is Phase.DECODING else 0)
    assert found.phase is phase
    assert found.prefilling_since_ms is None
    assert found.kv_usage_since is None


# Stalled ----------


@pytest.mark.parametrize(
    ("still_ms", "around", "is_stalled"),
    [
        (STALLED_MS, Surroundings(), True),
        (STALLED_MS - 1, Surroundings(), False),
        (STALLED_MS, BOTH_NO, True),
        (STALLED_COLD_MS, COLD, True),
        (STALLED_COLD_MS - 1, COLD, False),
        (STALLED_COLD_MS, BOTH_NO, False),
        (STALLED_FLAT_MS, STILL, True),
        (STALLED_FLAT_MS - 1, STILL, False),
        (STALLED_FLAT_MS, BOTH_NO, False),
        (STALLED_FLAT_MS, Surroundings(), False),
    ],
)
def test_stalled_exactly_at_its_edges(still_ms: float, around: Surroundings, is_stalled: bool) -> None:
    assert (stalled(still_ms, around) is not None) is is_stalled


def test_the_edges_of_stalled() -> None:
    assert (STALLED_MS, STALLED_COLD_MS, STALLED_FLAT_MS) == (1_200_000, 60_000, 90_000)
    assert "20 minutes" in (stalled(1_200_000, COLD) or "")
    assert "idle power" in (stalled(60_000, COLD) or "")
    assert "fabric" in (stalled(90_000, STILL) or "")


@pytest.mark.parametrize(
    ("around", "last_s", "first_s"), [(COLD, 59.999, 60), (STILL, 89.999, 90), (BOTH_NO, 1199.999, 1200)]
)
def test_a_wedged_engine_stalls(around: Surroundings, last_s: float, first_s: float) -> None:
    story = Story(running=2, generation=100)
    story.at(0, around)
    assert story.at(last_s, around).phase is Phase.PREFILLING
    found = story.at(first_s, around)
    assert (found.phase, found.reason) == (Phase.STALLED, stalled(first_s * 1000, around))
    assert found.prefilling_since_ms is None


def test_a_wedge_in_the_middle_of_decoding_counts_from_the_last_token() -> None:
    story = Story(running=2)
    story.at(0)
    story.at(30, generation=100)
    assert story.at(89, COLD).phase is Phase.PREFILLING
    assert story.at(90, COLD).phase is Phase.STALLED
    assert story.at(91, COLD, generation=101).phase is Phase.DECODING


def test_a_finished_prefill_ends_a_standstill_even_without_a_token() -> None:
    story = Story(running=2)
    story.at(0)
    story.at(50, prompt=100)
    assert story.at(109, COLD).phase is Phase.PREFILLING
    assert story.at(110, COLD).phase is Phase.STALLED


def test_an_idle_moment_ends_a_standstill() -> None:
    story = Story(running=1)
    story.at(0)
    story.at(50, running=0)
    assert story.at(100, COLD, running=1).phase is Phase.PREFILLING


def test_a_restart_ends_a_standstill() -> None:
    story = Story(running=1, generation=100)
    story.at(0)
    story.at(1190)
    assert story.at(1195, restarted=True).phase is Phase.PREFILLING
    assert story.at(1260).phase is Phase.PREFILLING
    assert story.at(2395).phase is Phase.STALLED


def test_a_restart_ends_decoding() -> None:
    story = Story(running=1)
    story.at(0)
    assert story.at(1, generation=10).phase is Phase.DECODING
    assert story.at(2, restarted=True, running=0).phase is Phase.IDLE


# Prefill episodes ----------


def finished(judgement: Judgement) -> Prefill:
    assert judgement.finished is not None
    return judgement.finished


def test_a_prefill_is_as_long_as_its_time_to_first_token() -> None:
    story = Story()
    story.at(0)
    story.at(1, running=1)
    found = finished(story.at(41.5, prompt=60_000, computed=60_000, ttft_sum=40.0, generation=1))
    assert found == Prefill(1500.0, 41_500.0, 60_000.0, 40.0)
    assert story.at(42).finished is None


def test_a_prefill_is_no_longer_than_since_the_engine_was_idle() -> None:
    story = Story()
    story.at(0)
    story.at(10, running=2)
    found = finished(story.at(11, computed=3000, prompt=3000, ttft_sum=20.0))
    assert found.seconds == 11.0, "two requests waited at the same time"
    assert found.start_ms == 0.0


def test_prefills_that_follow_each_other_share_no_time() -> None:
    """Two requests arrive together; one prefill after the other, 10 s each: TTFT 10 s and 20 s."""
    story = Story()
    story.at(0)
    story.at(1, running=2)
    first = finished(story.at(10, computed=15_000, prompt=15_000, ttft_sum=10.0))
    second = finished(story.at(20, computed=30_000, prompt=30_000, ttft_sum=30.0))
    assert (first.seconds, second.seconds) == (10.0, 10.0)
    assert (second.start_ms, second.tokens) == (10_000.0, 15_000.0)


def test_an_idle_tick_after_an_episode_is_the_later_bound() -> None:
    story = Story()
    story.at(0)
    story.at(5, computed=100, prompt=100, ttft_sum=1.0, running=1)
    story.at(30, running=0)
    found = finished(story.at(33, computed=200, prompt=200, ttft_sum=51.0, running=1))
    assert found.seconds == 3.0


def test_short_requests_between_two_ticks() -> None:
    story = Story()
    story.at(0)
    found = finished(story.at(1, computed=128, prompt=128, ttft_sum=0.07, generation=100, running=0))
    assert found.seconds == pytest.approx(0.07)
    assert found.start_ms == pytest.approx(930.0)


def test_a_prefill_that_began_before_we_looked_has_no_length() -> None:
    story = Story(running=1)
    story.at(0)
    first = finished(story.at(5, computed=60_000, prompt=60_000, ttft_sum=40.0))
    assert first == Prefill(0.0, 5000.0, 60_000.0, None)
    second = finished(story.at(15, computed=63_000, prompt=63_000, ttft_sum=42.0))
    assert second.seconds == 2.0, "from then on the end of the last one is known"


def test_the_one_prefill_of_a_reading_is_timed_by_itself_though_it_began_before_we_looked() -> None:
    story = Story(running=1, ttft_count=7.0)
    story.at(0)
    found = finished(story.at(5, computed=60_000, prompt=60_000, ttft_sum=40.0, ttft_count=8.0))
    assert found == Prefill(-35_000.0, 5000.0, 60_000.0, 40.0)


def test_a_short_prompt_inside_a_long_prefill_does_not_cut_it() -> None:
    """60 k tokens from second 0 to 80; 200 tokens from 68 to 70 meanwhile: 80 s of prefill in all, not 12."""
    story = Story(ttft_count=0.0)
    story.at(0)
    story.at(1, running=1)
    story.at(69, running=2)
    short = finished(story.at(70, prompt=200, computed=200, ttft_sum=2.0, ttft_count=1.0, generation=1))
    long = finished(story.at(80, prompt=60_200, computed=60_200, ttft_sum=82.0, ttft_count=2.0, generation=20))
    assert (short.seconds, long.seconds) == (2.0, 78.0)
    assert (short.tokens, long.tokens) == (200.0, 60_000.0)


def test_prompts_that_waited_for_each_other_share_no_time_though_each_is_timed_by_itself() -> None:
    """Arrived together, 10 s of prefill each: times to first token of 10, 20 and 30 s, 30 s of prefill in all."""
    story = Story(ttft_count=0.0)
    story.at(0)
    story.at(1, running=3)
    sums, lengths = 0.0, []
    for number in (1, 2, 3):
        sums += 10.0 * number
        tokens = 15_000 * number
        ended = story.at(10 * number, prompt=tokens, computed=tokens, ttft_sum=sums, ttft_count=float(number))
        lengths.append(finished(ended).seconds)
    assert lengths == [10.0, 10.0, 10.0]


def test_what_happened_before_the_engine_was_idle_covers_nothing_after_it() -> None:
    story = Story(ttft_count=0.0)
    story.at(0)
    story.at(5, prompt=100, computed=100, ttft_sum=5.0, ttft_count=1.0, running=1)
    story.at(6, running=0)
    late = finished(story.at(16, prompt=300, computed=300, ttft_sum=25.0, ttft_count=2.0, running=1))
    assert late.seconds == 10.0, "its time to first token cannot reach back over the idle moment"


def test_stretches_that_touch_are_counted_once() -> None:
    """Three prefills of 10 s, each beginning 4 s after the one before: 18 s in all."""
    story = Story(ttft_count=0.0)
    story.at(0)
    story.at(1, running=3)
    lengths = []
    for number, end in enumerate((11, 15, 19), start=1):
        given = {"ttft_sum": 10.0 * number, "ttft_count": float(number)}
        lengths.append(finished(story.at(end, prompt=100 * number, computed=100 * number, **given)).seconds)
    assert lengths == [10.0, 4.0, 4.0]


def test_without_time_to_first_token_the_length_is_unknown() -> None:
    story = Story()
    story.at(0, ttft_sum=None)
    found = finished(story.at(10, computed=500, prompt=500))
    assert (found.tokens, found.seconds, found.start_ms) == (500.0, None, 0.0)


def test_the_seconds_spent_on_prompts_stand_in_for_time_to_first_token() -> None:
    story = Story()
    story.at(0, ttft_sum=None, prompt_seconds=100.0)
    found = finished(story.at(10, computed=500, prompt=500, prompt_seconds=104.0))
    assert found.seconds == 4.0


def test_time_to_first_token_comes_before_seconds_spent_on_prompts() -> None:
    story = Story()
    story.at(0, prompt_seconds=0.0)
    assert finished(story.at(10, computed=5, prompt=5, ttft_sum=3.0, prompt_seconds=9.0)).seconds == 3.0


def test_an_all_cached_prompt_computed_nothing() -> None:
    story = Story()
    story.at(0)
    found = finished(story.at(1, prompt=4096, cached=4096, ttft_sum=0.05))
    assert (found.tokens, found.seconds) == (0.0, pytest.approx(0.05))


@pytest.mark.parametrize(
    ("computed", "cached", "tokens"),
    [(300.0, 700.0, 300.0), (None, 700.0, 300.0), (None, None, None), (None, 1200.0, 0.0)],
)
def test_computed_tokens_as_counted_else_all_less_the_cached(
    computed: float | None, cached: float | None, tokens: float | None
) -> None:
    story = Story()
    nothing = {"computed": None if computed is None else 0.0, "cached": None if cached is None else 0.0}
    story.at(0, **nothing)
    found = finished(story.at(1, prompt=1000, computed=computed, cached=cached, ttft_sum=0.5))
    assert found.tokens == tokens


def test_an_engine_that_only_counts_computed_tokens_has_episodes_too() -> None:
    story = Story()
    story.at(0, prompt=None)
    assert finished(story.at(1, computed=10, ttft_sum=0.5)).tokens == 10.0


def test_no_prompt_no_episode() -> None:
    story = Story()
    story.at(0)
    assert story.at(1, generation=50, running=1, ttft_sum=3.0).finished is None


def test_after_a_restart_a_prefill_began_no_earlier_than_the_reading_before() -> None:
    story = Story(running=1, prompt=1000, computed=1000, ttft_sum=10.0)
    story.at(0)
    story.at(100, computed=2000, prompt=2000, ttft_sum=15.0)
    story.at(200)
    found = finished(story.at(203, restarted=True, computed=9000, prompt=9000, ttft_sum=60.0, running=2))
    assert (found.seconds, found.tokens) == (3.0, 7000.0)
    later = finished(story.at(205, computed=9500, prompt=9500, ttft_sum=70.0))
    assert later.seconds == 2.0


def test_an_episode_is_told_in_every_phase() -> None:
    for changes in ({"asleep": True}, {"running": None}, {"running": 0}, {"running": 2}):
        story = Story()
        story.at(0)
        assert story.at(1, prompt=10, computed=10, ttft_sum=0.5, **changes).finished is not None  # type: ignore[arg-type]
    story = Story(running=1)
    story.at(0)
    found = story.at(1200, prompt=10, computed=10, ttft_sum=0.5)
    assert found.phase is Phase.PREFILLING
