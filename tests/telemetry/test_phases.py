"""Phases, told as stories of readings."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine
from telemetry.phases import (
    DECODING_MS,
    STALLED_COLD_MS,
    STALLED_FLAT_MS,
    STALLED_MS,
    Phase,
    Surroundings,
    stalled,
)
from tests.telemetry.stories import BOTH_NO, COLD, STILL, Story


def test_codes_are_those_of_the_catalogue() -> None:
    assert tuple(phase.name.lower() for phase in Phase) == engine.ENGINE_PHASE.states
    assert [phase.value for phase in Phase] == list(range(len(engine.PHASES)))


# Phases ----------


def test_no_request_is_idle() -> None:
    story = Story()
    assert story.at(0).phase is Phase.IDLE
    assert story.at(1).reason == "no request runs"


def test_decoding_of_running_requests_lasts_until_ten_seconds_after_the_last_token() -> None:
    story = Story(running=1)
    story.at(0)
    assert story.at(1, generation=5).phase is Phase.DECODING
    assert story.at(10.999).phase is Phase.DECODING
    assert story.at(11).phase is Phase.PREFILLING
    assert DECODING_MS == 10_000


def test_idle_begins_with_the_reading_that_shows_it() -> None:
    """No request runs and no token came since the reading before: nobody waits for ten seconds to be over."""
    story = Story(running=1)
    story.at(0)
    assert story.at(1, generation=5).phase is Phase.DECODING
    assert story.at(2, generation=9, running=0).phase is Phase.DECODING, "tokens of the last second"
    assert story.at(3).phase is Phase.IDLE
    assert story.at(4).phase is Phase.IDLE


def test_what_runs_after_an_idle_moment_decodes_with_its_own_first_token() -> None:
    story = Story(running=1)
    story.at(0)
    story.at(1, generation=5)
    assert story.at(2, running=0).phase is Phase.IDLE
    found = story.at(3, running=1)
    assert (found.phase, found.prefilling_since_ms) == (Phase.PREFILLING, 2000.0)
    assert story.at(4, generation=6).phase is Phase.DECODING


def test_a_late_step_does_not_flap_while_a_request_runs() -> None:
    story = Story(running=2)
    story.at(0)
    phases = [story.at(second, generation=second // 3 * 8).phase for second in range(3, 30)]
    assert set(phases) == {Phase.DECODING}


def test_tokens_that_are_not_known_show_no_end_of_decoding() -> None:
    for changes in ({"generation": None}, {"leapt": True}):
        story = Story(running=1)
        story.at(0)
        story.at(1, generation=5)
        assert story.at(2, running=0, **changes).phase is Phase.DECODING
        assert story.at(11, **changes).phase is Phase.IDLE


def test_an_unknown_number_of_requests_shows_no_end_of_decoding() -> None:
    story = Story(running=None)
    story.at(0)
    story.at(1, generation=5)
    assert story.at(10.9).phase is Phase.DECODING


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


def test_prefilling_says_since_when() -> None:
    story = Story()
    story.at(0)
    first = story.at(1, running=2)
    assert (first.phase, first.prefilling_since_ms) == (Phase.PREFILLING, 0.0)
    assert first.reason == "2 running, no token yet"
    assert story.at(40).prefilling_since_ms == 0.0


def test_prefilling_after_decoding_runs_since_the_last_token() -> None:
    story = Story(running=1)
    story.at(0)
    story.at(5, generation=9)
    assert story.at(20).prefilling_since_ms == 5000.0


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.DECODING])
def test_only_prefilling_has_a_since(phase: Phase) -> None:
    story = Story()
    story.at(0)
    found = story.at(1, generation=5 if phase is Phase.DECODING else 0)
    assert found.phase is phase
    assert found.prefilling_since_ms is None


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


def test_nothing_follows_from_what_a_counter_gained_by_another_level() -> None:
    """The prompt tokens of three prefills, told at once when the counter is back: no prefill of a second."""
    story = Story(running=0)
    story.at(0)
    told = story.at(1, prompt=9000, computed=9000, generation=500, ttft_sum=1.0, ttft_count=1, leapt=True)
    assert (told.finished, told.phase) == (None, Phase.IDLE)
    told = story.at(2, prompt=9100, computed=9100, leapt=False)
    assert told.finished is not None
    assert told.finished.tokens == 100
