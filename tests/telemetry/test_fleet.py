"""Nodes compared: folds of what is known, distance from the median, the straggler."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.fleet import PEERS_NEEDED, deviation, fold, straggler
from telemetry.model import Fold
from tests.telemetry.frames import numbers

NAN = float("nan")
ROWS = np.array([[1.0, NAN, 4.0, NAN], [3.0, 5.0, NAN, NAN], [8.0, NAN, 2.0, NAN]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Fold.SUM, [12, 5, 6, None]),
        (Fold.MEAN, [4, 5, 3, None]),
        (Fold.MIN, [1, 5, 2, None]),
        (Fold.MAX, [8, 5, 4, None]),
        (Fold.LAST, [8, 5, 2, None]),
    ],
)
def test_fold_of_what_is_known(how: Fold, expected: list[float | None]) -> None:
    assert numbers(fold(ROWS, how)) == expected


@pytest.mark.parametrize("how", list(Fold))
def test_fold_of_nothing_is_unknown(how: Fold) -> None:
    assert numbers(fold(np.zeros((0, 2)), how)) == [None, None]
    assert numbers(fold(np.full((3, 2), NAN), how)) == [None, None]


@given(st.permutations(range(3)), st.sampled_from([Fold.SUM, Fold.MEAN, Fold.MIN, Fold.MAX]))
def test_the_order_of_nodes_changes_nothing(order: list[int], how: Fold) -> None:
    assert numbers(fold(ROWS[order], how)) == numbers(fold(ROWS, how))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100, 100, 82, 101], [0, 0, -0.18, 0.01]),
        ([100, NAN, 100, 120], [0, None, 0, 0.2]),
        ([100, 50], [None, None]),
        ([100, 50, NAN], [None, None, None]),
        ([0, 0, 5], [None, None, None]),
        ([10, 20, 40], [-0.5, 0, 1]),
    ],
)
def test_deviation_from_the_median(values: list[float], expected: list[float | None]) -> None:
    assert PEERS_NEEDED == 3
    assert numbers(deviation(np.array(values, dtype=float))) == [
        None if one is None else pytest.approx(one) for one in expected
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100, 100, 80, 101], (2, -0.2)),
        ([100, 100, 85, 100], (2, -0.15)),
        ([100, 100, 85.1, 100], None),
        ([100, 100, 150], None),
        ([100, NAN, 60, 70, 100], (2, -0.294118)),
        ([100, 50], None),
    ],
)
def test_straggler(values: list[float], expected: tuple[int, float] | None) -> None:
    found = straggler(np.array(values, dtype=float))
    assert (found and (found[0], round(found[1], 6))) == expected


def test_straggler_by_another_threshold() -> None:
    assert straggler(np.array([100.0, 100.0, 94.0]), threshold=0.05) == (2, pytest.approx(-0.06))


def test_a_straggler_is_one_from_the_threshold_itself_on() -> None:
    values = np.array([100.0, 100.0, 100.0, 50.0])
    assert straggler(values, 0.5) == (3, -0.5)
    assert straggler(values, 0.5001) is None
