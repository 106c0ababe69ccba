"""Medians of more values than are kept."""

from __future__ import annotations

import numpy as np
import pytest

from runs.rates import STEP, Median


def test_of_nothing() -> None:
    assert np.isnan(Median().value)
    assert Median().exact


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [5.0, 1.0, 3.0], [0.0, 0.0, 7.0, 8.0]])
def test_few_values_are_exact(values: list[float]) -> None:
    median = Median()
    for one in values:
        median.add(np.array([one]))
    assert (median.exact, median.count, median.value) == (True, len(values), float(np.median(values)))


@pytest.mark.parametrize("most", [0, 1, 10, 999])
@pytest.mark.parametrize("size", [1000, 1001])
def test_many_values_are_good_to_half_a_step(most: int, size: int) -> None:
    values = np.random.default_rng(3).lognormal(3.0, 1.0, size)
    median = Median(most)
    for part in np.array_split(values, 7):
        median.add(part)
    assert (median.exact, median.count) == (False, size)
    assert median.value == pytest.approx(float(np.median(values)), rel=STEP)


def test_zeros_have_their_place() -> None:
    for zeros, expected in ((5, 0.0), (4, 5.0), (3, 10.0)):
        median = Median(1)
        median.add(np.zeros(zeros))
        median.add(np.full(8 - zeros, 10.0))
        assert median.value == pytest.approx(expected, rel=STEP)
    whole = Median(1)
    whole.add(np.zeros(4))
    assert (whole.value, whole.exact) == (0.0, False)


def test_the_middle_two_may_be_in_two_steps() -> None:
    median = Median(3)
    median.add(np.array([1.0, 2.0, 4.0, 8.0]))
    assert median.value == pytest.approx(3.0, rel=STEP)
