"""Where a trailing window begins: found without a search per sample, and always as a search would find it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.counters import _before, bad_steps

STEPS = st.lists(
    st.sampled_from([0.0, 1.0, 400.0, 990.0, 1000.0, 1000.0, 1000.0, 1013.0, 2000.0, 9000.0, -700.0]), max_size=80
)


@settings(max_examples=300, deadline=None)
@given(STEPS, st.sampled_from([1.0, 999.0, 1000.0, 1001.0, 5000.0, 10_000.0, 60_000.0, 1e9]))
def test_positions_are_those_of_a_search(steps: list[float], window: float) -> None:
    at = 1.8e12 + np.cumsum([0.0, *steps])
    for start in (at - window, at - np.minimum(window, np.maximum(at - at[0], 0.0))):
        assert _before(at, start).tolist() == (np.searchsorted(at, start, side="right") - 1).tolist()


@pytest.mark.parametrize("window", [1000.0, 10_000.0, 300_000.0])
def test_regular_samples_with_jitter(window: float) -> None:
    at = np.arange(2000) * 1000.0 + np.random.default_rng(7).integers(0, 900, 2000)
    assert _before(at, at - window).tolist() == (np.searchsorted(at, at - window, side="right") - 1).tolist()


def test_no_sample_and_one() -> None:
    assert _before(np.zeros(0), np.zeros(0)).tolist() == []
    assert _before(np.array([5.0]), np.array([4.0])).tolist() == [-1]
    assert _before(np.array([5.0]), np.array([5.0])).tolist() == [0]


def test_bad_steps_count_gaps_restarts_and_a_clock_set_back() -> None:
    at = np.array([0.0, 1000, 2000, 5000, np.nan, 6000, 5500, 6500, 7500])
    breaks = np.array([False, False, True, False, True, False, False, False, False])
    known = ~np.isnan(at)
    assert bad_steps(at, breaks, known, 2500.0).tolist() == [0, 0, 1, 2, 3, 4, 4, 4]
    assert bad_steps(at[:2], breaks[:2], known[:2], 2500.0).tolist() == [0, 0]
    assert bad_steps(at[:2], breaks[:2], known[:2], 900.0).tolist() == [0, 1]
