"""Prefill episodes, told as stories of readings."""

from __future__ import annotations

import pytest

from telemetry.phases import (
    Judgement,
    Phase,
    Prefill,
)
from tests.telemetry.stories import Story


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


def test_several_prefills_of_one_reading_cover_as_much_as_they_took() -> None:
    """Two of 3 s together end at 20; another, which had begun at 15, ends at 25: it has its 10 s but for these 3."""
    story = Story(ttft_count=0.0)
    story.at(0)
    story.at(1, running=1)
    both = finished(story.at(20, prompt=200, computed=200, ttft_sum=3.0, ttft_count=2.0))
    later = finished(story.at(25, prompt=900, computed=900, ttft_sum=13.0, ttft_count=3.0))
    assert (both.seconds, later.seconds) == (3.0, 7.0)


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
