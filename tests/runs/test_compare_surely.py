"""What comparisons promise: intervals hold the truth, and what could have been seen is seen. Fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runs.compare.cells import Cells
from runs.compare.measures import PER_REQUEST, THROUGHPUT
from runs.compare.verdict import Verdict, judge
from tests.runs import compare_worlds as worlds

RESAMPLES = 400
TRIALS = 200
Make = Callable[[np.random.Generator, float], tuple[Cells, Cells]]


def autocorrelated(generator: np.random.Generator, factor: float) -> tuple[Cells, Cells]:
    """Two closed loops with r = 0.5 from cell to cell."""
    return worlds.steady(generator, 360), worlds.steady(generator, 360, speed=20.0 * factor)


def wandering(generator: np.random.Generator, factor: float) -> tuple[Cells, Cells]:
    """The same with loads that wander, and a speed that falls with the load."""
    sides = []
    for first, times in ((3, 1.0), (5, factor)):
        load = worlds.wandering(generator, 480, first)
        sides.append(worlds.steady(generator, 480, running=load, speed=20.0 * times * load**-0.4))
    return sides[0], sides[1]


def from_recording(generator: np.random.Generator, factor: float) -> tuple[Cells, Cells]:
    """Blocks of the recorded benchmark."""
    busy = worlds.recorded().take(np.flatnonzero(np.nan_to_num(worlds.recorded().running_s) > 0))
    first, second = (worlds.resampled(generator, busy, 400) for _ in range(2))
    return first, worlds.faster(second, factor)


def trials(make: Make, factor: float, count: int, seed: int) -> list[Verdict]:
    """Verdicts on so many pairs of runs."""
    generator = np.random.default_rng(seed)
    return [judge(PER_REQUEST, *make(generator, factor), resamples=RESAMPLES) for _ in range(count)]


@pytest.mark.parametrize("make", [autocorrelated, wandering, from_recording])
@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_intervals_hold_the_truth(make: Make, factor: float) -> None:
    found = trials(make, factor, TRIALS, seed=5)
    held = sum(one.low is not None and one.high is not None and one.low <= factor - 1.0 <= one.high for one in found)
    assert held >= 183
    assert sum(one.word == "too short" for one in found) <= TRIALS // 20


@pytest.mark.parametrize("make", [autocorrelated, wandering, from_recording])
def test_half_as_much_again_as_the_smallest_is_found(make: Make) -> None:
    smallest = float(np.median([one.smallest for one in trials(make, 1.0, 40, seed=6) if one.smallest]))
    for factor, word in ((1.0 + 1.5 * smallest, "faster"), (1.0 / (1.0 + 1.5 * smallest), "slower")):
        found = trials(make, factor, 100, seed=7)
        assert sum(one.word == word for one in found) >= 90


def test_the_smallest_is_found_four_times_in_five() -> None:
    smallest = float(np.median([one.smallest for one in trials(autocorrelated, 1.0, 40, seed=8) if one.smallest]))
    found = sum(one.word == "faster" for one in trials(autocorrelated, 1.0 + smallest, TRIALS, seed=9))
    assert 145 <= found <= 180


def test_intervals_of_independent_cells_would_be_far_too_narrow() -> None:
    """Why blocks: with r = 0.5 the variance of a mean is three times that of independent cells."""
    found = trials(autocorrelated, 1.0, 40, seed=10)
    widths = np.mean([(one.high or 0.0) - (one.low or 0.0) for one in found])
    alone = 2 * 1.96 * 0.1 * np.sqrt(2 / 360)
    assert widths / alone == pytest.approx(np.sqrt(3.0), rel=0.15)


def test_the_same_run_twice_has_the_same_words() -> None:
    generator = np.random.default_rng(11)
    first, second = autocorrelated(generator, 1.1)
    assert judge(PER_REQUEST, first, second) == judge(PER_REQUEST, first, second)
    same = judge(THROUGHPUT, first, first)
    assert (same.word, same.difference) == ("no difference", 0.0)


@pytest.mark.live
@pytest.mark.parametrize("seed", [21, 22, 23])
@pytest.mark.parametrize("make", [autocorrelated, wandering, from_recording])
def test_other_seeds_promise_the_same(make: Make, seed: int) -> None:
    """Of 200 intervals 190 hold the truth on average; fewer than 183 would be chance once in a hundred."""
    found = trials(make, 1.1, TRIALS, seed)
    assert sum(one.low is not None and one.high is not None and one.low <= 0.1 <= one.high for one in found) >= 183
    smallest = float(np.median([one.smallest for one in found if one.smallest]))
    for factor, word in ((1.0 + 1.5 * smallest, "faster"), (1.0 / (1.0 + 1.5 * smallest), "slower")):
        assert sum(one.word == word for one in trials(make, factor, 100, seed + 100)) >= 90
