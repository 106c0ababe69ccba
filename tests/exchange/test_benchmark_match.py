"""Which run a result belongs to: model and tokens first, then minutes; what fits two is not decided."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from exchange.benchmarks import match, reading
from exchange.benchmarks.record import Benchmark
from runs.model import Run
from runs.subject import Member
from tests.exchange import results
from tests.exchange.results import packed

HOUR = 3_600_000
END = round(datetime(2026, 11, 30, 0, 53, 50, tzinfo=UTC).timestamp() * 1000)
NOW = END + 20 * HOUR


def run(number: int, end_ms: int, length_ms: int = 20_000, model: str = "Kimi-K3", **fields: Any) -> Run:
    return Run(number, "Kimi-K3", f"run {number}", end_ms - length_ms, end_ms, model=model, **fields)


def result(**changed: Any) -> Benchmark:
    return reading.read(packed(results.vllm(**changed)), "x.json")[0]


def steady(per_s: float) -> match.Tokens:
    """A deployment that makes tokens at this rate as long as a run goes on."""

    def tokens(one: Run, start_ms: int, end_ms: int) -> float:
        last = NOW if one.end_ms is None else one.end_ms
        return per_s * max(min(end_ms, last) - max(start_ms, one.start_ms), 0) / 1000

    return tokens


def fits(benchmark: Benchmark, *runs: Run, per_s: float = 20.0, offset_ms: int = 0) -> list[int]:
    return [one.run.id for one in match.fits(benchmark, runs, steady(per_s), NOW, offset_ms)]


def test_model_and_tokens_in_whatever_zone() -> None:
    for hours in (-14, -3.5, 0, 5.75, 12):
        (found,) = match.fits(result(), [run(1, END + round(hours * HOUR))], steady(20), NOW, 0)
        assert (found.run.id, found.whole, found.how) == (1, True, "the same model and output tokens")


def test_a_day_apart_is_no_zone() -> None:
    assert fits(result(), run(1, END + 15 * HOUR)) == []
    assert fits(result(), run(1, END - 15 * HOUR)) == []


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("org/Kimi-K3", True),
        ("kimi-k3", True),
        ("/models/Kimi-K3/", True),
        ("org/Kimi-K2", False),
        ("", False),
    ],
)
def test_a_models_path_does_not_count(name: str, same: bool) -> None:
    assert match.same_model(name, run(1, END)) is same
    assert match.same_model(name, run(1, END, model="", engines=(Member("head", "0", "x/kimi-K3"),))) is same
    assert match.same_model(name, run(1, END, model="other, Kimi-K3")) is same


EXACTLY, NEARLY = "the same model and output tokens", "the same model and minutes, and most of the output tokens"


@pytest.mark.parametrize(
    ("per_s", "how"),
    [(19.9, [EXACTLY]), (19.8, []), (21.0, [EXACTLY]), (21.1, [NEARLY]), (25.0, [NEARLY]), (25.1, [])],
)
def test_warm_up_and_other_requests_may_be_in_the_servers_count(per_s: float, how: list[str]) -> None:
    """From 0.5 % fewer to 5 % more; to a quarter more where it has its minutes."""
    assert [one.how for one in match.fits(result(), [run(1, END)], steady(per_s), NOW, 0)] == how


def test_a_run_with_other_requests_has_the_minutes_of_the_only_zone_that_fits() -> None:
    """An hour ahead of this machine; a run that has not four fifths of them is not it, nor is a longer one."""
    tokens, mine = steady(22.0), run(1, END - HOUR + 2_000, 24_000)
    (found,) = match.fits(result(), [mine], steady(20), NOW, 0)
    assert (found.start_ms, found.end_ms, found.whole) == (mine.start_ms, mine.end_ms, False)
    (long,) = match.fits(
        result(duration=200.0, total_output_tokens=4000), [run(1, END + 10_000, 220_000)], tokens, NOW, 0
    )
    assert (long.start_ms, long.end_ms, long.how) == (END - 205_000, END + 5_000, NEARLY)
    assert fits(result(), run(1, END - HOUR + 5_000), per_s=22.0) == []
    assert fits(result(), run(1, END - HOUR, 26_000), per_s=17.0) == []


def test_of_two_that_have_nearly_as_many_neither_is_chosen() -> None:
    assert fits(result(), run(1, END), run(2, END - HOUR), per_s=22.0) == [1, 2]


def test_a_zone_in_which_it_is_not_over_is_none() -> None:
    """Written two hours ahead of UTC, just now: it cannot have been in a run of an hour ago, nor yet to come."""
    now = END - 2 * HOUR
    assert match.fits(result(), [run(1, END - HOUR)], steady(20), now, 0) == []
    assert [one.run.id for one in match.fits(result(), [run(1, now)], steady(20), now, 0)] == [1]
    assert [one.run.id for one in match.fits(result(), [run(1, now)], steady(20), now - match.LATE_MS, 0)] == [1]


def test_what_is_left_of_a_trimmed_run_may_be_its_own() -> None:
    """22 tokens more than 5 % in all of it, as many as the result's in the rest."""
    trimmed = run(1, END, 30_000, trim_start_ms=END - 20_000)
    (found,) = match.fits(result(), [trimmed], steady(20), NOW, 0)
    assert (found.start_ms, found.end_ms, found.whole, found.how) == (END - 20_000, END, True, EXACTLY)


@pytest.mark.parametrize(("early_ms", "ids"), [(4_000, [1]), (4_001, [1, 2]), (-4_000, [1]), (-4_001, [1, 2])])
def test_of_two_with_as_many_tokens_the_one_with_most_of_its_minutes(early_ms: int, ids: list[int]) -> None:
    """Four fifths of its 20 s; where neither has them, both are told."""
    other = run(2, END + 2 * HOUR + 7 * 60_000)
    assert fits(result(), run(1, END + 2 * HOUR - early_ms), other) == ids


def test_two_that_both_fit_are_both_told() -> None:
    assert fits(result(), run(1, END), run(2, END + 3 * HOUR)) == [1, 2]
    assert fits(result(), run(1, END + 7 * 60_000), run(2, END + 3 * HOUR + 7 * 60_000)) == [1, 2]


def test_a_part_of_a_longer_run_by_the_minutes_of_this_machines_zone() -> None:
    """A second of its edge on either side is not exactly known, so a little more may be counted."""
    long = run(1, END + HOUR, 3 * HOUR)
    (found,) = match.fits(result(duration=600.0, total_output_tokens=12_000), [long], steady(20), NOW, 0)
    assert (found.start_ms, found.end_ms, found.whole) == (END - 605_000, END + 5_000, False)
    assert found.how == "the same model, minutes and output tokens"
    (found,) = match.fits(result(duration=600.0, total_output_tokens=12_000), [long], steady(20), NOW, HOUR)
    assert found.end_ms == END - HOUR + 5_000
    assert fits(result(duration=600.0, total_output_tokens=12_000), long, offset_ms=9 * HOUR) == []


def test_a_part_that_only_one_zone_fits() -> None:
    def busy(one: Run, start_ms: int, end_ms: int) -> float:
        mine = start_ms <= END - 20_000 and end_ms >= END
        return 4000.0 if end_ms - start_ms > HOUR else 400.0 if mine else 0.0

    long = run(1, END + HOUR, 3 * HOUR)
    (found,) = match.fits(result(), [long], busy, NOW, 9 * HOUR)
    assert (found.start_ms, found.end_ms) == (END - 25_000, END + 5_000)


def test_other_traffic_in_the_same_minutes_is_no_part() -> None:
    assert fits(result(duration=600.0, total_output_tokens=12_000), run(1, END + HOUR, 3 * HOUR), per_s=30.0) == []


def test_tokens_that_are_not_known_fit_nothing() -> None:
    assert match.fits(result(), [run(1, END)], lambda *_: None, NOW, 0) == []
    assert fits(result(total_output_tokens=0), run(1, END)) == []


def test_a_run_that_goes_on() -> None:
    live = Run(3, "Kimi-K3", "x", NOW - 20_000, model="Kimi-K3")
    given = datetime.fromtimestamp(NOW / 1000, UTC).strftime("%Y%m%d-%H%M%S")
    assert fits(result(date=given), live) == [3]


def timed(start_ms: int, end_ms: int | None) -> Benchmark:
    return Benchmark("guidellm", "Kimi-K3", (), start_ms=start_ms, end_ms=end_ms)


def test_by_instants_that_are_known() -> None:
    one = run(1, END, 100_000)
    (found,) = match.fits(timed(END - 60_000, END - 10_000), [one], steady(1), NOW, 9 * HOUR)
    assert (found.start_ms, found.end_ms, found.whole) == (END - 65_000, END - 5_000, False)
    assert found.how == "the same model and minutes"
    assert fits(timed(END - 130_000, END - 30_000), one) == []
    assert fits(timed(END - 115_000, END - 15_000), one) == [1]
    assert fits(timed(END + 1, END + 2), one) == []
    (whole,) = match.fits(timed(END - 99_000, END), [one], steady(1), NOW, 0)
    assert whole.whole


def test_of_a_start_alone() -> None:
    one = run(1, END, 100_000)
    (found,) = match.fits(timed(END - 60_000, None), [one], steady(1), NOW, 0)
    assert (found.start_ms, found.end_ms, found.whole) == (END - 60_000, END, False)
    (whole,) = match.fits(timed(END - 150_000, None), [one], steady(1), NOW, 0)
    assert (whole.start_ms, whole.whole) == (END - 100_000, True)
    assert fits(timed(END - 300_000, None), one) == []
    assert fits(timed(END + 1, None), one) == []


def test_a_result_without_a_time_fits_nothing() -> None:
    assert fits(Benchmark("llama-benchy", "Kimi-K3", ()), run(1, END)) == []


def test_people_may_name_a_run_of_another_model() -> None:
    other = run(1, END, model="renamed")
    assert fits(result(), other) == []
    assert [one.run.id for one in match.fits(result(), [other], steady(20), NOW, 0, any_model=True)] == [1]


def test_where_a_result_stands_that_belongs_to_no_run() -> None:
    assert match.placed(result(), 0, NOW) == (END - 20_000, END)
    assert match.placed(result(), HOUR, NOW) == (END - HOUR - 20_000, END - HOUR)
    assert match.placed(timed(5, 9), HOUR, NOW) == (5, 9)
    assert match.placed(timed(5, None), HOUR, NOW) == (5, 5)
    assert match.placed(Benchmark("x", "", ()), 0, NOW) is None


@pytest.mark.parametrize(
    ("ahead_ms", "end_ms"),
    [
        (0, END),
        (1, END - 1),
        (180_000, END - 180_000),
        (180_001, END - HOUR),
        (HOUR, END - HOUR),
        (HOUR + 1, END - 2 * HOUR),
    ],
)
def test_it_never_stands_in_the_future(ahead_ms: int, end_ms: int) -> None:
    """A clock may be a little ahead; else it is in a zone further to the east."""
    assert match.placed(result(), 0, END - ahead_ms) == (end_ms - 20_000, end_ms)
