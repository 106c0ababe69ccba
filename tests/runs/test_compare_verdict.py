"""Verdicts on pairs of runs whose truth is known, and every reason for which there is none."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from runs.compare import strata
from runs.compare.blocks import block_cells, block_variance, interval, memory, spread, student
from runs.compare.cells import Cells
from runs.compare.measures import MEASURES, PER_REQUEST, STEP_TIME, THROUGHPUT, TPOT
from runs.compare.verdict import Verdict, compare, judge
from tests.runs.compare_worlds import cells, noise, steady


def loop(seed: int, count: int = 240, **lines: Any) -> Cells:
    """A closed loop of four."""
    return steady(np.random.default_rng(seed), count, **lines)


def test_faster_slower_and_no_difference() -> None:
    base = loop(1)
    words = {speed: judge(PER_REQUEST, base, loop(2, speed=speed)).word for speed in (18.0, 20.0, 22.0)}
    assert words == {18.0: "slower", 20.0: "no difference", 22.0: "faster"}


def test_values_difference_and_what_it_rests_on() -> None:
    found = judge(PER_REQUEST, loop(1, sigma=0.01), loop(2, 480, sigma=0.01, speed=25.0))
    assert found.values == (pytest.approx(20.0, rel=0.01), pytest.approx(25.0, rel=0.01))
    assert found.difference == pytest.approx(0.25, abs=0.01)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.25 < found.high
    assert found.high - found.low < 0.01
    assert (found.shares, found.wait_s, found.why, found.notes) == ((1.0, 1.0), None, "", [])
    assert [one.label for one in found.strata] == ["4"]
    assert (found.strata[0].seconds, found.strata[0].weight) == ((1200.0, 2400.0), 1.0)
    assert found.blocks is not None
    assert found.block_s is not None
    assert [count * length for count, length in zip(found.blocks, found.block_s, strict=True)] == [1200.0, 2400.0]
    assert json.loads(json.dumps(found.to_json()))["word"] == "faster"


@pytest.mark.parametrize("measure", [STEP_TIME, TPOT])
def test_of_times_less_is_faster(measure: Any) -> None:
    lines = ("step_s", "steps") if measure is STEP_TIME else ("tpot_s", "tpots")
    wave = 1.0 + 0.05 * noise(np.random.default_rng(3), 240, 0.5)
    first, second = (loop(1, **{lines[0]: wave * 10.0 * times, lines[1]: 10.0}) for times in (0.2, 0.15))
    found = judge(measure, first, second)
    assert (found.word, found.difference) == ("faster", pytest.approx(-0.25))
    assert found.values == (pytest.approx(0.2, rel=0.02), pytest.approx(0.15, rel=0.02))
    assert judge(measure, second, first).word == "slower"


def test_other_loads_do_not_make_a_run_faster() -> None:
    """A speed per request that falls with the load; the second run has more of the small loads."""
    generator = np.random.default_rng(4)
    sides = []
    for odds in ((0.2, 0.3, 0.5), (0.5, 0.3, 0.2)):
        load = generator.choice((2.0, 4.0, 8.0), 600, p=odds)
        sides.append(steady(generator, 600, running=load, speed=20.0 * load**-0.5, memory=0.0))
    plain = [float(one.tokens.sum() / one.running_s.sum()) for one in sides]
    assert plain[1] / plain[0] > 1.15
    found = judge(PER_REQUEST, sides[0], sides[1])
    assert found.word == "no difference"
    assert [one.label for one in found.strata] == ["2", "4", "8"]
    assert sum(one.weight for one in found.strata) == pytest.approx(1.0)
    by_hand = [sum(one.weight * one.values[place] for one in found.strata) for place in range(2)]
    assert found.values == (pytest.approx(by_hand[0]), pytest.approx(by_hand[1]))


def test_only_loads_that_both_had_count() -> None:
    first = loop(1, running=np.repeat((2.0, 4.0), 120), speed=np.repeat((30.0, 20.0), 120), memory=0.0)
    second = loop(3, running=np.repeat((4.0, 9.0), (60, 180)), speed=np.repeat((20.0, 5.0), (60, 180)), memory=0.0)
    found = judge(PER_REQUEST, first, second)
    assert [one.label for one in found.strata] == ["4"]
    assert found.shares == (0.5, 0.25)
    assert found.word == "no difference"
    assert found.notes == ["only 25 % of the second run's time is compared: the rest ran at another concurrency"]


def test_too_short() -> None:
    found = judge(PER_REQUEST, loop(1), loop(2, 60, speed=40.0, request_s=25.0))
    assert found.word == "too short"
    assert found.blocks is not None
    assert found.block_s is not None
    assert (found.blocks[1], found.block_s[1]) == (12.0, 25.0)
    assert found.wait_s == pytest.approx(8.0 * 25.0)
    assert found.smallest is not None
    few = judge(PER_REQUEST, loop(1), loop(2, 15, request_s=25.0))
    assert (few.word, few.low, few.high, few.smallest) == ("too short", None, None, None)
    assert few.difference is not None
    none = judge(PER_REQUEST, loop(1), loop(2, 4))
    assert (none.word, none.difference) == ("too short", None)
    assert none.why == "they ran equally many requests for less than 25 s"


def test_a_block_is_as_long_as_a_request_at_least() -> None:
    found = judge(PER_REQUEST, loop(1, request_s=42.0), loop(2, request_s=61.0))
    assert found.block_s == (45.0, 65.0)
    unknown = judge(PER_REQUEST, loop(1, requests=0.0, finished=0.0), loop(2, request_s=25.0))
    assert unknown.block_s is not None
    assert unknown.block_s[0] == 60.0
    assert unknown.notes == ["how long a request lasts is not known of the first run: 60 s are taken"]


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({}, {"running": 6.0}, "they never ran equally many requests: 4 in the first, 6 in the second"),
        (
            {"running": np.repeat((17.0, 20.0), 120)},
            {},
            "they never ran equally many requests: 17–18 to 19–20 in the first, 4 in the second",
        ),
        ({"running": np.nan}, {}, "of the first run it is not known how many requests ran"),
        ({}, {"running": 0.0}, "in the second run no request was seen running"),
        ({}, {"speed": np.nan}, "the engine of the second run does not offer it"),
        ({}, {"speed": 0.0}, "in the second run it is 0"),
        ({"speed": 0.0}, {}, "in the first run it is 0"),
    ],
)
def test_not_comparable_because(first: dict[str, Any], second: dict[str, Any], why: str) -> None:
    found = judge(PER_REQUEST, loop(1, **first), loop(2, **second))
    assert (found.word, found.why, found.difference) == ("not comparable", why, None)


def test_nothing_was_watched() -> None:
    found = judge(PER_REQUEST, cells(0), loop(1))
    assert found.why == "the first run has no five seconds in a row that were watched"
    empty = judge(STEP_TIME, loop(1, step_s=0.0, steps=0.0), loop(1, step_s=1.0, steps=1.0))
    assert empty.why == "nothing of it was counted at a concurrency that both ran at"


def test_throughput_only_where_nothing_limits_it() -> None:
    base = loop(1)
    found = judge(THROUGHPUT, base, loop(2, speed=25.0))
    assert (found.word, [one.label for one in found.strata]) == ("higher", ["all"])
    assert found.values == (pytest.approx(80.0, rel=0.02), pytest.approx(100.0, rel=0.02))
    assert judge(THROUGHPUT, loop(2, speed=25.0), base).word == "lower"
    open_loop = loop(2, moved=2.0)
    assert judge(THROUGHPUT, base, open_loop).why == "the second run is limited by arrivals"
    unknown = loop(2, finished=0.0)
    assert judge(THROUGHPUT, unknown, base).why == "whether arrivals limited the first run is not known"
    other = judge(THROUGHPUT, base, loop(2, running=8.0))
    assert other.why == "the loads differ: about 4 and 8 requests in the system"
    queued = [loop(seed, running=running, queue=3.0, waiting_s=15.0) for seed, running in ((1, 4.0), (2, 8.0))]
    assert judge(THROUGHPUT, queued[0], queued[1]).word == "higher"


def test_every_measure_has_its_verdict() -> None:
    found = compare(loop(1), loop(2))
    assert [one.measure for one in found] == [one.key for one in MEASURES]
    assert [one.word for one in found] == ["no difference", "not comparable", "not comparable", "no difference"]
    assert isinstance(found[0], Verdict)


def test_unknown_cells_are_left_out() -> None:
    tokens = np.where(np.arange(240) % 3 == 0, np.nan, 400.0)
    found = judge(PER_REQUEST, loop(1, sigma=0.0, tokens=tokens), loop(2, sigma=0.0, tokens=440.0))
    assert found.difference == pytest.approx(0.1)
    assert found.strata[0].seconds == (800.0, 1200.0)


def test_strata_of_many_requests_are_a_tenth_wide() -> None:
    edges = strata.EDGES[strata.EXACT :]
    low, high = edges[:-1] + 0.5, edges[1:] - 0.5
    assert (high / low <= 1.1).all()
    assert strata.label(int(strata.number(np.array([100.0]))[0])) == "96–105"


def test_a_request_that_finishes_lived_in_the_load_before() -> None:
    told = loop(1, 6, running=[1, 1, 5, 5, 5, 5], request_s=10.0)
    assert strata.lagged(told).tolist() == [1.0, 1.0, 3.0, 5.0, 5.0, 5.0]
    gap = loop(1, 4, running=[1, np.nan, 5, 5], request_s=10.0)
    assert strata.lagged(gap).tolist() == pytest.approx([1.0, np.nan, 5.0, 5.0], nan_ok=True)
    assert strata.lagged(loop(1, 2, running=[1, 3], requests=0.0, finished=0.0)).tolist() == [1.0, 3.0]


def test_memory_is_that_of_the_process() -> None:
    generator = np.random.default_rng(12)
    found = [memory(noise(generator, 20_000, rho)) for rho in (0.0, 0.5, 0.8)]
    assert found == pytest.approx([1.0, 3.0, 9.0], rel=0.12)
    assert memory(np.zeros(100)) == 1.0
    assert memory(np.ones(5)) == 1.0


def test_blocks_grow_with_memory_and_with_the_run() -> None:
    generator = np.random.default_rng(13)
    short, long = (noise(generator, count, 0.5) for count in (400, 12_800))
    assert block_cells(noise(generator, 400, 0.0), 1) == 1
    assert 7 <= block_cells(short, 1) <= 13
    assert 25 <= block_cells(long, 1) <= 36
    assert block_cells(short, 40) == 40


def test_variance_of_blocks_is_that_of_the_sum() -> None:
    values = noise(np.random.default_rng(14), 50_000, 0.5)
    values -= values.mean()
    assert block_variance(values, 1) / len(values) == pytest.approx(1.0, rel=0.05)
    assert block_variance(values, 100) / len(values) == pytest.approx(3.0, rel=0.1)
    assert block_variance(np.array([1.0, -1.0]), 5) == 0.0


def test_draws_spread_as_sums_do() -> None:
    generator = np.random.default_rng(15)
    values = noise(generator, 4_000, 0.5)
    values -= values.mean()
    groups = np.zeros(4_000, dtype=np.int64)
    found = spread(values, groups, 1, generator, 4_000)
    assert found.variance / 4_000 == pytest.approx(3.0, rel=0.2)
    assert found.blocks == pytest.approx(4_000 / found.block)
    assert abs(float(found.draws.mean())) < 1e-9
    least = spread(values, groups, 900, generator, 50)
    assert (least.block, least.blocks) == (900, pytest.approx(4_000 / 900))
    whole = spread(values, groups, 9_000, generator, 50)
    assert (whole.blocks, whole.variance) == (1.0, pytest.approx(0.0, abs=1e-12))


def test_draws_are_as_long_as_the_run_and_make_good_for_short_blocks() -> None:
    """31 cells are three blocks of 8 and seven more; by the same blocks on a circle their sum is known."""
    generator = np.random.default_rng(19)
    values = noise(generator, 31, 0.8)
    values -= values.mean()
    found = spread(values, np.zeros(31, dtype=np.int64), 8, generator, 40_000)
    longer = 2.0 - block_variance(values, 4) / block_variance(values, 8)
    circle = np.concatenate((values, values))
    eights, sevens = (np.array([circle[at : at + length].sum() for at in range(31)]) for length in (8, 7))
    drawn = 3 * float(eights @ eights) / 31 + float(sevens @ sevens) / 31
    assert found.block == 8
    assert longer > 1.25
    assert found.variance == pytest.approx(drawn * longer / (1.0 - 8 / 31), rel=0.03)


def test_weights_are_what_differences_are_known_by() -> None:
    first = loop(1, 120, running=np.repeat((2.0, 4.0), (20, 100)))
    second = loop(2, 120, running=np.repeat((2.0, 4.0), (90, 30)))
    known = (20 * 90 / 110, 100 * 30 / 130)
    found = judge(PER_REQUEST, first, second)
    assert [one.weight for one in found.strata] == pytest.approx([one / sum(known) for one in known])


def test_small_groups_spread_more_than_they_show() -> None:
    """Cells that were centred in groups of four, with blocks of two: half of their variance was taken."""
    generator = np.random.default_rng(16)
    values = generator.standard_normal(4_000).reshape(-1, 4)
    groups = np.repeat(np.arange(1_000), 4)
    flat = (values - values.mean(axis=1, keepdims=True)).ravel()
    one = spread(flat, np.zeros(4_000, dtype=np.int64), 2, generator, 4_000)
    many = spread(flat, groups, 2, generator, 4_000)
    assert many.variance / one.variance == pytest.approx(2.0, rel=0.1)


def test_an_interval_by_hand() -> None:
    generator = np.random.default_rng(17)
    sides = [
        spread(generator.standard_normal(400) * 0.01, np.zeros(400, dtype=np.int64), 1, generator, 20_000)
        for _ in range(2)
    ]
    found = interval(0.3, sides[0], sides[1])
    error = np.sqrt(sides[0].variance + sides[1].variance)
    assert (found.high - found.low) / 2 == pytest.approx(1.963 * error, rel=0.02)
    assert (found.high + found.low) / 2 == pytest.approx(0.3, abs=0.05 * error)
    assert found.smallest == pytest.approx((1.963 + 0.8416) * error, rel=0.01)


@pytest.mark.parametrize(("freedom", "quantile"), [(8, 2.306), (19, 2.093), (38, 2.024), (120, 1.980)])
def test_students_quantiles(freedom: float, quantile: float) -> None:
    assert student(0.975, freedom) == pytest.approx(quantile, abs=0.002)
