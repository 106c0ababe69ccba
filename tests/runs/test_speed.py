"""Speed of stretches that can be worked out by hand."""

from __future__ import annotations

import pytest

from runs.coverage import no_window
from runs.speed import BELOW_MEAN
from runs.subject import Member
from storage.records import Episode
from telemetry.catalog import engine as catalog
from telemetry.model import Unit, part
from tests.runs.answers import entry, value
from tests.runs.worlds import HEAD, World, at, engine, ramp

TOKENS = engine(catalog.GENERATION_TOKENS)
RUNNING = engine(catalog.REQUESTS_RUNNING)
STEADY = ramp((5, 0), (20, 10), (15, 0), (10, 30), (10, 0))
"""Idle to 5, 10 a second to 25, a pause of 15 s, 30 a second from 40 to 50, idle to 60: 500 tokens in 30 s of 60."""

LOADED = {catalog.GENERATION_TOKENS: ramp((60, 50)), catalog.REQUESTS_RUNNING: [4.0]}


@pytest.fixture(scope="module")
def steady() -> World:
    return World(61, {TOKENS: STEADY, RUNNING: [0] * 6 + [2] * 20 + [0] * 15 + [4] * 10 + [0]})


def test_decode(steady: World) -> None:
    found = steady.summary()
    assert (entry(found, "speed.decode_peak").note, entry(found, "speed.decode_peak_1s").note) == ("", "")
    assert value(found, "speed.decode_mean") == pytest.approx(500 / 30)
    assert value(found, "speed.decode_wall") == pytest.approx(500 / 60)
    assert value(found, "speed.decode_peak") == 30
    assert value(found, "speed.decode_peak_1s") == 30
    assert value(found, "speed.decoding_seconds") == 30
    assert entry(found, "speed.decoding_seconds").count == 2
    assert value(found, "speed.seconds") == 60
    assert entry(found, "speed.decode_mean").unit is Unit.TOKENS_PER_SECOND


def test_the_mean_says_what_an_interval_may_change(steady: World) -> None:
    assert entry(steady.summary(), "speed.decode_mean").note == "± 6.7 %: one interval of each window"


def test_a_doubt_that_changes_no_digit_is_not_said() -> None:
    found = World(402, {TOKENS: ramp((1, 0), (400, 5))}).summary()
    assert value(found, "speed.decode_mean") == pytest.approx(5)
    assert entry(found, "speed.decode_mean").note == ""


def test_a_window_of_one_interval_says_little() -> None:
    found = World(30, {TOKENS: ramp((5, 0), (1, 7))}).summary()
    assert value(found, "speed.decode_mean") == 7
    assert entry(found, "speed.decode_mean").note == "± all of it: one interval each"


def test_the_median_is_of_10_s_means_while_decoding(steady: World) -> None:
    """Ticks 10 … 25 and 40 … 50; the windows before second 10 reach before the start. Means: 5, 6 … 10 (at 15 to 25),
    then 0 at 40, 3, 6 … 30 at 50. The middle of these 27 numbers is 10."""
    found = entry(steady.summary(), "speed.decode_median")
    assert (found.value, found.count) == (10, 27)


def test_decode_per_request(steady: World) -> None:
    """2 requests for 20 s, 4 for 10 s."""
    assert value(steady.summary(), "speed.stream_mean") == pytest.approx(500 / 80)


def test_decode_per_request_is_of_the_time_in_which_both_are_known() -> None:
    """50 a second for four requests; what came in the gap has no requests beside it."""
    world = World(61, {TOKENS: ramp((60, 50)), RUNNING: [4]}, unread={"head": range(20, 40)})
    found = entry(world.summary(), "speed.stream_mean")
    assert found.value == pytest.approx(12.5)
    assert found.note == "1 gap of the engine, 21 s in all; tokens of that time are left out"
    assert entry(World(61, {TOKENS: ramp((60, 50)), RUNNING: [4]}).summary(), "speed.stream_mean").note == ""


def test_decode_per_request_while_another_engine_is_silent() -> None:
    tail = {engine(metric, target="tail"): line for metric, line in LOADED.items()}
    rows = {TOKENS: ramp((60, 100)), RUNNING: [4], **tail}
    world = World(61, rows, unread={"tail": range(20, 40)}, engines=(HEAD, Member("tail", "0", "m")))
    assert value(world.summary(), "speed.stream_mean") == pytest.approx(150 / 8)
    assert value(world.summary(), "speed.decode_median") == 150


def test_decode_per_request_over_a_restart() -> None:
    """The step into the restarted engine's first reading counts on neither side: 100 tokens in it would."""
    line = [*ramp((20, 10)), *[300.0 + 10 * second for second in range(40)]]
    world = World(61, {TOKENS: line, RUNNING: [2]}, breaks={"head": [21]})
    assert value(world.summary(), "speed.stream_mean") == pytest.approx(5)


def test_decode_per_request_of_a_stretch_that_cuts_a_reading() -> None:
    """30 tokens to second 12 of which a third's time lies in it, then 20 a second; readings every 3 s, 2 running."""
    line = [*ramp((9, 0), (3, 10), (48, 20))]
    found = World(61, {TOKENS: line, RUNNING: [2]}, interval_s=3).summary(11, 18)
    assert value(found, "speed.stream_mean") == pytest.approx((10 + 120) / 14)


def test_decode_per_request_of_engines_that_are_read_at_different_times() -> None:
    """The second one answers every other second: its tokens rise evenly between."""
    tail = {engine(metric, target="tail"): line for metric, line in LOADED.items()}
    rows = {TOKENS: ramp((60, 100)), RUNNING: [4], **tail}
    world = World(61, rows, unread={"tail": range(1, 61, 2)}, engines=(HEAD, Member("tail", "0", "m")))
    assert value(world.summary(), "speed.stream_mean") == pytest.approx(150 / 8)
    assert value(world.summary(0, 20), "speed.stream_mean") == pytest.approx(150 / 8)


def test_a_stretch_of_it(steady: World) -> None:
    found = steady.summary(10, 20)
    assert value(found, "speed.decode_mean") == value(found, "speed.decode_wall") == 10
    assert value(found, "speed.decode_peak") == 10
    assert value(found, "requests.output") == 100


def test_a_stretch_between_readings_counts_from_the_one_before() -> None:
    found = World(61, {TOKENS: STEADY}, interval_s=5).summary(12, 22)
    assert value(found, "requests.output") == 100
    assert value(found, "speed.decode_mean") == 10


def test_windows_of_a_peak_lie_in_the_stretch(steady: World) -> None:
    """Of 45 … 60 the first window of 10 s ends at 55: it holds five busy seconds."""
    assert value(steady.summary(45, 60), "speed.decode_peak") == 15
    assert value(steady.summary(20, 35), "speed.decode_peak") == 5


def test_a_window_that_touches_a_gap_is_no_candidate() -> None:
    found = World(61, {TOKENS: STEADY}, unread={"head": range(43, 48)}).summary()
    peak = entry(found, "speed.decode_peak")
    assert peak.value == 10
    assert peak.note == f"1 gap of the engine, 6 s in all; {BELOW_MEAN}"
    assert value(found, "speed.decode_mean") == pytest.approx(320 / 24), "180 tokens came in the gap"
    assert value(found, "requests.output") == 500, "totals include what happened in gaps"
    said = "1 gap of the engine, 6 s in all; tokens of that time are left out"
    assert entry(found, "speed.decode_mean").note == f"± 8.3 %: one interval of each window; {said}"
    left, spent = entry(found, "speed.decode_left_out"), entry(found, "speed.decoding_seconds")
    assert (left.value, left.note, spent.value, spent.note) == (180, said, 24, said)


def test_no_stretch_decodes_for_longer_than_it_lasts() -> None:
    """Read every 2 s, 20 a second all along; what begins between two readings counts from the first of them."""
    world = World(121, {TOKENS: ramp((120, 20))}, unread={"head": range(1, 121, 2)})
    found = world.summary(61, 103)
    assert value(found, "speed.decode_mean") == pytest.approx(20)
    assert value(found, "requests.output") == 840
    assert value(found, "speed.decode_left_out") == 0
    assert value(found, "speed.decoding_seconds") == 41
    assert value(world.summary(60, 100), "speed.decoding_seconds") == 40
    both = [value(world.summary(*half), "speed.decoding_seconds") for half in ((0, 61), (61, 120))]
    assert both == [60, 59]


def test_a_long_gap_is_no_decoding() -> None:
    """20 a second, but for 287 s in which nobody looked and next to nothing was made; a pause, then 20 again."""
    line = [*ramp((100, 20), (287, 1), (100, 20), (30, 0), (50, 20))]
    found = World(568, {TOKENS: line, RUNNING: [1]}, unread={"head": range(101, 387)}).summary()
    assert value(found, "speed.decode_mean") == pytest.approx(20)
    assert value(found, "speed.decoding_seconds") == 250
    assert entry(found, "speed.decoding_seconds").count == 3
    assert value(found, "speed.decode_left_out") == 287
    assert value(found, "requests.output") == 5287
    assert value(found, "speed.decode_wall") == pytest.approx(5287 / 567)


def test_the_step_over_a_restart_is_no_decoding() -> None:
    """The first reading after the restart has 100 tokens, made nobody knows when."""
    line = [*ramp((20, 10)), *[300.0 + 10 * second for second in range(40)]]
    found = World(61, {TOKENS: line}, breaks={"head": [21]}).summary()
    assert value(found, "speed.decode_mean") == pytest.approx(10)
    assert value(found, "speed.decoding_seconds") == 59
    told = entry(found, "speed.decode_left_out")
    assert (told.value, told.note) == (100, "1 restart of the engine; tokens of that time are left out")


def test_tokens_of_gaps_alone_have_no_speed() -> None:
    found = World(61, {TOKENS: ramp((20, 0), (20, 10), (20, 0))}, unread={"head": range(15, 45)}).summary()
    told = entry(found, "speed.decode_mean")
    why = (
        "output tokens came in gaps or over restarts alone (1 gap of the engine, 31 s in all), so nobody knows how fast"
    )
    assert (told.value, told.note) == (None, why)
    assert value(found, "speed.decoding_seconds") == 0
    assert value(found, "speed.decode_left_out") == 200


def test_what_others_make_in_a_gap_is_left_out_with_it() -> None:
    """Of two engines one is not read for 20 s: how fast both were together then nobody knows."""
    tail = engine(catalog.GENERATION_TOKENS, target="tail")
    both = (HEAD, Member("tail", "0", "m"))
    world = World(61, {TOKENS: ramp((60, 10)), tail: ramp((60, 5))}, unread={"tail": range(20, 39)}, engines=both)
    found = world.summary()
    assert value(found, "speed.decode_mean") == pytest.approx(15)
    assert value(found, "speed.decoding_seconds") == 40
    assert value(found, "speed.decode_left_out") == 20 * 15


def test_a_gap_outside_the_windows_touches_no_mean_of_them() -> None:
    found = World(61, {TOKENS: STEADY}, unread={"head": range(30, 35)}).summary()
    assert entry(found, "speed.decode_mean").note == "± 6.7 %: one interval of each window"
    assert "gap" in entry(found, "speed.decode_wall").note


def test_a_window_that_touches_a_restart_is_no_candidate() -> None:
    """The best that is left are the 10 s from the restart on, five of them busy."""
    found = World(61, {TOKENS: STEADY}, breaks={"head": [45]}).summary()
    assert value(found, "speed.decode_peak") == 15
    assert value(found, "speed.decode_peak_1s") == 30


def test_a_second_is_not_measurable_at_a_longer_interval() -> None:
    found = World(61, {TOKENS: STEADY}, interval_s=5).summary()
    peak = entry(found, "speed.decode_peak_1s")
    assert (peak.value, peak.note) == (None, "not measurable: the engine is read every 5 s")
    assert value(found, "speed.decode_peak") == 30


def test_shorter_than_any_window() -> None:
    found = World(61, {TOKENS: STEADY}).summary(10, 15)
    peak = entry(found, "speed.decode_peak")
    assert (peak.value, peak.note) == (None, "shorter than 10 s")
    median = entry(found, "speed.decode_median")
    assert (median.value, median.count, median.note) == (None, 0, "shorter than 10 s")
    assert value(found, "speed.decode_peak_1s") == 10


def test_shorter_than_a_second() -> None:
    peak = entry(World(61, {TOKENS: STEADY}).summary(10, 10.5), "speed.decode_peak_1s")
    assert (peak.value, peak.note) == (None, "no output token came")
    peak = entry(World(61, {TOKENS: STEADY}, unread={"head": range(11, 14)}).summary(10, 14), "speed.decode_peak_1s")
    assert (peak.value, peak.note) == (None, "no window of 1 s without a gap")


def test_engines_are_added() -> None:
    """Two engines, the second one with a break in the middle: pauses are those of both."""
    second = engine(catalog.GENERATION_TOKENS, number="1")
    rows = {TOKENS: ramp((5, 0), (20, 10)), second: ramp((20, 0), (20, 5))}
    found = World(61, rows, engines=(Member("head", "0", "m"), Member("head", "1", "m"))).summary()
    assert value(found, "requests.output") == 300
    assert value(found, "speed.decoding_seconds") == 35
    assert value(found, "speed.decode_mean") == pytest.approx(300 / 35)
    assert value(found, "speed.decode_peak") == pytest.approx((10 * 10 + 5 * 5) / 10)


def test_engines_of_other_deployments_are_not() -> None:
    other = engine(catalog.GENERATION_TOKENS, target="elsewhere")
    found = World(61, {TOKENS: STEADY, other: ramp((60, 100))}).summary()
    assert value(found, "requests.output") == 500


def test_tokens_are_not_counted() -> None:
    found = World(30, {RUNNING: [1.0]}).summary()
    for key in ("mean", "wall", "median", "peak", "peak_1s"):
        told = entry(found, f"speed.decode_{key}")
        assert (key, told.value, told.note) == (key, None, "the engine does not count output tokens")
    told = entry(found, "speed.decoding_seconds")
    assert (told.value, told.note) == (None, "the engine does not count output tokens")
    assert entry(found, "speed.stream_mean").value is None


def test_no_token_came() -> None:
    """Nothing per second is known to be the peak, but there is no mean of no window."""
    found = World(30, {TOKENS: [7.0]}).summary()
    assert value(found, "speed.decode_peak") == value(found, "speed.decode_peak_1s") == 0
    for key in ("mean", "median"):
        told = entry(found, f"speed.decode_{key}")
        assert (key, told.value, told.note) == (key, None, "no output token came")
    told = entry(found, "speed.stream_mean")
    assert (told.value, told.note) == (None, "an engine does not tell how many requests run")
    told = entry(World(30, {TOKENS: [7.0], RUNNING: [0.0]}).summary(), "speed.stream_mean")
    assert (told.value, told.note) == (None, "no request was seen running")


def test_no_token_came_is_known_to_be_zero_over_wall_time() -> None:
    found = World(30, {TOKENS: [7.0]}).summary()
    assert value(found, "speed.decode_wall") == 0
    assert value(found, "speed.decoding_seconds") == 0


def test_no_length_no_rate() -> None:
    found = World(61, {TOKENS: STEADY}).summary(10, 10)
    assert entry(found, "speed.decode_wall").value is None


def episode(start: float, end: float, tokens: int | None, seconds: float | None) -> Episode:
    return Episode("model", "head", "0", at(start), at(end), tokens, seconds)


def test_prefill_is_of_episodes() -> None:
    episodes = [
        episode(2, 10, 6000, 8.0),
        episode(12, 16, 2000, 4.0),
        episode(20, 22, 900, None),
        episode(24, 26, None, 2.0),
    ]
    found = World(61, {TOKENS: STEADY}, episodes=episodes).summary()
    throughput = entry(found, "speed.prefill_throughput")
    assert throughput.value == pytest.approx(8000 / 12)
    assert throughput.count == 2
    assert throughput.note == "2 of 4 prefills are left out: size or length not known"
    assert value(found, "speed.prefill_episodes") == 4
    assert (value(found, "speed.prefill_tokens"), value(found, "speed.prefill_seconds")) == (8000, 12)
    assert value(found, "speed.largest_prefill_tokens") == 6000
    assert value(found, "speed.largest_prefill_seconds") == 8
    assert value(found, "speed.largest_prefill_speed") == 750


@pytest.mark.parametrize(("prompts", "told"), [(3, False), (2, False), (4, True), (1_200, True)])
def test_prompts_that_end_in_one_reading_are_said_to_count_one_after_the_other(prompts: int, told: bool) -> None:
    episodes = [episode(2, 10, 6000, 8.0), episode(12, 16, 2000, 4.0), episode(20, 22, 900, None)]
    rows = {
        engine(catalog.PROMPT_TOKENS_COMPUTED): ramp((30, 0), (1, 8900)),
        engine(part(catalog.TTFT, "sum")): ramp((30, 0), (1, 14.0)),
        engine(part(catalog.TTFT, "count")): ramp((30, 0), (1, prompts)),
    }
    found = World(61, rows, episodes=episodes).summary()
    left = "1 of 3 prefills are left out: size or length not known"
    several = f"; {prompts:,} prompts ended in 3 readings, and those of one reading count one after the other"
    assert entry(found, "speed.prefill_throughput").note == left + (f"{several}, so it may have been faster" * told)
    assert entry(found, "speed.prefill_seconds").note == left + (f"{several}, so it may have been less" * told)
    assert entry(found, "speed.prefill_tokens").note == left


def test_one_prompt_more_in_two_hundred_readings_is_not_worth_saying() -> None:
    episodes = [episode(0.2 * n, 0.2 * n + 0.1, 10, 0.1) for n in range(200)]
    for prompts, told in ((202, False), (203, True)):
        rows = {
            engine(catalog.PROMPT_TOKENS_COMPUTED): ramp((30, 0), (1, 2000)),
            engine(part(catalog.TTFT, "count")): ramp((30, 0), (1, prompts)),
        }
        note = entry(World(61, rows, episodes=episodes).summary(), "speed.prefill_throughput").note
        several = f"{prompts} prompts ended in 200 readings, and those of one reading count one after the other"
        assert note == f"{several}, so it may have been faster" * told


def test_time_in_prefills_is_no_longer_than_the_stretch() -> None:
    """Two engines' at once, one inside another, and one that began before the stretch."""
    episodes = [episode(0, 30, 6000, 30.0), episode(20, 40, 2000, 20.0), episode(22, 24, 500, 2.0)]
    episodes += [episode(44, 50, 600, 5.0)]
    found = World(61, {TOKENS: STEADY}, episodes=episodes).summary(10, 60)
    assert value(found, "speed.prefill_seconds") == 30 + 5
    assert entry(found, "speed.prefill_seconds").count == 4
    assert value(found, "speed.prefill_throughput") == pytest.approx(9100 / 57), "each by its own length"


@pytest.mark.parametrize(("start", "end", "tokens"), [(0, 10, 6000), (10, 20, 2000), (3, 9.9, 0), (10, 15.9, 0)])
def test_a_prefill_belongs_to_the_stretch_in_which_it_ended(start: float, end: float, tokens: float) -> None:
    episodes = [episode(2, 10, 6000, 8.0), episode(12, 16, 2000, 4.0)]
    found = World(61, {TOKENS: STEADY}, episodes=episodes).summary(start, end)
    assert value(found, "speed.prefill_tokens") == tokens


def test_no_prefill() -> None:
    found = World(61, {TOKENS: STEADY}).summary()
    told = entry(found, "speed.prefill_throughput")
    assert (told.value, told.count, told.note) == (None, 0, "no prefill ended in the stretch")
    assert (value(found, "speed.prefill_episodes"), value(found, "speed.prefill_seconds")) == (0, 0)
    assert entry(found, "speed.largest_prefill_tokens").value is None


def test_prefills_of_unknown_length_only() -> None:
    found = World(61, {TOKENS: STEADY}, episodes=[episode(2, 10, 6000, None)]).summary()
    told = entry(found, "speed.prefill_seconds")
    assert (told.value, told.note) == (None, "1 of 1 prefills are left out: size or length not known")


def test_prefill_speed_of_a_request() -> None:
    rows = {
        engine(catalog.PROMPT_TOKENS_COMPUTED): ramp((30, 0), (1, 3000)),
        engine(part(catalog.TTFT, "sum")): ramp((30, 0), (1, 4.0)),
        engine(part(catalog.TTFT, "count")): ramp((30, 0), (1, 2)),
    }
    told = entry(World(61, rows).summary(), "speed.prefill_speed")
    assert (told.value, told.count) == (750, 2)
    missing = entry(World(61, {TOKENS: STEADY}).summary(), "speed.prefill_speed")
    assert (missing.value, missing.note) == (None, "the engine does not tell both of its terms")


def test_what_is_as_long_as_a_window_lacks_it_because_of_gaps() -> None:
    assert [no_window(10.0, seconds) for seconds in (9.9, 10.0)] == [
        "shorter than 10 s",
        "no window of 10 s without a gap",
    ]
    assert no_window(1.0, 0.5) == "shorter than 1 s"
