"""Quantiles of many windows at once are those of each window alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.histograms import NEEDED, estimate
from telemetry.model import Series
from telemetry.quantiles import SIDES, quantiles, together
from tests.telemetry.frames import numbers

INF = float("inf")
FINE = 300.1234567896
"""More digits than ranks are rounded to: engines are free to count in parts."""
EDGES = np.array([0.5, 1.0, 2.5, 10.0, INF])


def column(*increases: float | None) -> np.ndarray:
    return np.array([[np.nan if value is None else value] for value in increases])


@pytest.mark.parametrize(
    ("increases", "q", "expected"),
    [
        ((0, 100, 100, 100, 100), 0.95, (0.975, "=", 100)),
        ((100, 100, 100, 100, 100), 0.5, (0.5, "<", 100)),
        ((0, 0, 0, 50, 100), 0.9, (10.0, ">", 100)),
        ((0, 0, 0, 50, 100), 0.5, (10.0, "=", 100)),
        ((0, 50, 50, 100, 100), 0.5, (1.0, "=", 100)),
        ((0, 7, 50, 100, 100), 0.07, (1.0, "=", 100)),
        ((0, None, 50, 100, 100), 0.25, (1.5, "=", 100)),
        ((None, None, 50, 100, 100), 0.25, (2.5, "<", 100)),
        ((None, None, None, None, 100), 0.25, (None, None, 100)),
        ((0, 10, 5, 20, 20), 0.5, (1.0, "=", 20)),
        ((0, 9, 9, 9, 9), 0.5, (None, None, 9)),
        ((0, 10, 10, 10, 10), 0.5, (0.75, "=", 10)),
        ((0, 59, 59, 59, 59), 0.95, (None, None, 59)),
        ((0, 299, 299, 299, 299), 0.99, (None, None, 299)),
        ((0, 300, 300, 300, 300), 1.0, (1.0, "=", 300)),
        ((0, FINE, FINE, FINE, FINE), 1.0, (1.0, "=", 300.123457)),
        ((0, None, FINE, FINE, FINE), 1.0, (2.5, "=", 300.123457)),
        ((0, 10, 10, 10, None), 0.5, (None, None, None)),
        ((0, 0, 0, 0, 0), 0.5, (None, None, 0)),
    ],
)
def test_one_column(increases: tuple[float | None, ...], q: float, expected: tuple[object, ...]) -> None:
    found = quantiles(EDGES, column(*increases), q)
    (value,), (side,), (count,) = numbers(found.values), found.side.tolist(), numbers(found.count)
    assert (value, SIDES.get(side), count) == expected


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 200), min_size=5, max_size=5), min_size=1, max_size=8),
    st.floats(0, 1) | st.sampled_from([0.5, 0.95, 0.99, *NEEDED]),
)
def test_columns_are_estimates(steps: list[list[int]], q: float) -> None:
    increases = np.cumsum(np.array(steps, dtype=float), axis=1).T
    found = quantiles(EDGES, increases, q)
    for place in range(len(steps)):
        one = estimate(
            dict(zip(EDGES.tolist(), increases[:, place].tolist(), strict=True)), np.nan, increases[-1, place], q
        )
        known = one.kind == "percentile" and one.value is not None
        assert found.count[place] == increases[-1, place]
        assert numbers([found.values[place]]) == [round(one.value, 6) if known and one.value is not None else None]
        assert SIDES.get(found.side[place]) == (one.relation if known else None)


def bucket(target: str, edge: str) -> Series:
    return Series(target, "x_bucket", (("engine", "0"), ("le", edge)))


def test_histograms_that_stay_away_take_no_part() -> None:
    buckets = [bucket("a", "1"), bucket("a", "+Inf"), bucket("b", "+Inf"), bucket("b", "1")]
    gained = np.array([[3, 3, 3, np.nan], [8, 8, 8, np.nan], [np.nan, np.nan, 4, np.nan], [np.nan, np.nan, 2, np.nan]])
    away = np.array([[False] * 4, [False, False, False, True], [False, True, True, True], [False] * 4])
    edges, found = together(buckets, gained, away)
    assert edges.tolist() == [1, INF]
    assert [numbers(row) for row in found] == [[None, 3, 5, None], [None, 8, 12, None]]


def test_one_histogram_is_itself() -> None:
    buckets = [bucket("a", "+Inf"), bucket("a", "1"), bucket("a", "0.5")]
    edges, found = together(buckets, np.array([[9.0], [np.nan], [4.0]]), np.ones((3, 1), dtype=bool))
    assert edges.tolist() == [0.5, 1, INF]
    assert numbers(found[:, 0]) == [4, None, 9]
    edges, found = together(buckets[1:], np.array([[3.0], [2.0]]), np.zeros((2, 1), dtype=bool))
    assert (edges.tolist(), numbers(found[:, 0])) == ([0.5, 1, INF], [2, 3, None])


def test_one_without_a_last_edge_takes_no_part() -> None:
    buckets = [bucket("a", "1"), bucket("a", "+Inf"), bucket("b", "1"), bucket("b", "2")]
    _, found = together(buckets, np.array([[3.0], [8.0], [50.0], [60.0]]), np.zeros((4, 1), dtype=bool))
    assert [numbers(row) for row in found] == [[3], [None], [8]]


def test_none_that_observed_something_leaves_zeros() -> None:
    buckets = [bucket("a", "1"), bucket("a", "+Inf"), bucket("b", "1"), bucket("b", "+Inf")]
    _, found = together(buckets, np.zeros((4, 1)), np.zeros((4, 1), dtype=bool))
    assert [numbers(row) for row in found] == [[0], [0]]
