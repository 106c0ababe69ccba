"""Series that were read less often for a while: gaps and windows by the interval of each stretch."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.counters import trailing_increase
from telemetry.gaps import keep
from tests.telemetry.frames import Numbers, numbers, table

COARSE_MS, FINE_MS = 37_500.0, 2_500.0
AT_S = [0, 15, 30, 38, 39, 40, 45, 46, 47, 90, 91]
"""Every 15 s up to 30, then every second, with silences of 5 and of 43 s."""


def mixed(values: Numbers) -> tuple[np.ndarray, list[float | None]]:
    frame = table([values], at_s=AT_S, interval_s=15)
    keep(frame, 0, np.where(np.arange(len(AT_S)) < 3, COARSE_MS, FINE_MS))
    return frame.breaks[0], numbers(trailing_increase(frame, 2_000)[0])


def test_a_gap_is_one_by_the_interval_of_its_stretch() -> None:
    broken, gained = mixed(AT_S)
    assert np.flatnonzero(broken).tolist() == [6]  # 8 s are none after the coarse part; 43 s are one for all
    assert gained == [None, None, None, None, None, 2, None, None, 2, None, None]


def test_samples_without_a_number_are_passed_over() -> None:
    broken, _ = mixed([0, 15, 30, 38, None, None, None, 46, None, 90, 91])
    assert np.flatnonzero(broken).tolist() == [7]


@pytest.mark.parametrize(
    ("apart_s", "broken"),
    [(2.4, False), (2.5, False), (2.6, True), (37.5, True), (37.6, False)],
    ids=["short", "as long as a gap is", "longer", "as long as a gap is now", "longer than that, which is one anyhow"],
)
def test_a_gap_is_longer_than_its_own_and_no_gap_by_now(apart_s: float, broken: bool) -> None:
    frame = table([[1, 2]], at_s=[0, apart_s], interval_s=15)
    keep(frame, 0, np.full(2, FINE_MS))
    assert frame.breaks[0].tolist() == [False, broken]


@pytest.mark.parametrize(
    ("at_s", "window_s", "expected"),
    [
        ([0, 15, 30, 45], 15, [None, 15, 15, 15]),
        ([0, 15, 30, 45], 14.9, [None, None, None, None]),
        ([0, 15, 17, 19, 21], 4, [None, None, None, 4, 4]),
        ([0, 15, 17, 19, 21], 5, [None, None, None, None, 5]),
        ([0, 3, 6, 21, 24], 6, [None, None, 6, None, None]),
    ],
)
def test_a_window_is_measurable_where_neither_end_lies_in_a_longer_step(
    at_s: list[float], window_s: float, expected: Numbers
) -> None:
    frame = table([at_s], at_s=at_s, interval_s=15)
    assert numbers(trailing_increase(frame, window_s * 1000)[0]) == expected
