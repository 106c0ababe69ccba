"""Nodes that stand apart: at a moment, and by how much and since when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from runs.apart import Apart, Least, furthest, outliers

NODES = ("a", "b", "c", "d")
NONE = None


@pytest.mark.parametrize(
    ("values", "least", "sides"),
    [
        ([50.0, 51.0, 49.0, 30.0], Least(share=0.1), [0, 0, 0, -1]),
        ([50.0, 51.0, 49.0, 70.0], Least(share=0.1), [0, 0, 0, 1]),
        ([50.0, 50.0, 50.0, 55.0], Least(share=0.1), [0, 0, 0, 0]),  # exactly a tenth is not more than it
        ([50.0, 50.0, 50.0, 55.1], Least(share=0.1), [0, 0, 0, 1]),
        ([60.0, 60.0, 60.0, 64.9], Least(absolute=5.0), [0, 0, 0, 0]),
        ([60.0, 60.0, 60.0, 65.1], Least(absolute=5.0), [0, 0, 0, 1]),
        ([40.0, 50.0, 60.0, 70.0, 80.0], Least(share=0.1), [0, 0, 0, 0, 0]),  # all differ: nobody does
        ([50.0, NONE, 50.0, 30.0], Least(share=0.1), [0, 0, 0, -1]),
        ([50.0, NONE, 30.0], Least(share=0.1), [0, 0, 0]),  # two are no company
        ([], Least(), []),
    ],
)
def test_outliers_at_a_moment(values: Sequence[float | None], least: Least, sides: list[int]) -> None:
    assert outliers(values, least) == sides


def lines(*rows: Sequence[float]) -> np.ndarray:
    return np.array(rows, dtype=np.float64)


def slowest(values: np.ndarray) -> Apart | None:
    return furthest(NODES[: len(values)], values, 1_000_000, 60_000, Least(share=0.05), below=True)


def test_a_node_that_fell_behind_is_named_with_when_and_by_how_much() -> None:
    calm = [100.0] * 10
    found = slowest(lines(calm, calm, [100.0] * 6 + [80.0] * 4, calm))
    assert found is not None
    assert (found.node, found.start_ms, found.end_ms) == ("c", 1_000_000 + 6 * 60_000, 1_000_000 + 10 * 60_000)
    assert (found.by, found.share) == (pytest.approx(-20.0), pytest.approx(-0.2))
    assert (found.from_start, found.to_end) == (False, True)


def test_all_along_and_for_a_while() -> None:
    calm = [100.0] * 12
    always = slowest(lines(calm, calm, [90.0] * 12, calm))
    assert always is not None
    assert (always.from_start, always.to_end) == (True, True)
    between = slowest(lines(calm, calm, [100.0] * 4 + [90.0] * 3 + [100.0] * 5, calm))
    assert between is not None
    assert (between.from_start, between.to_end) == (False, False)
    assert (between.start_ms, between.end_ms) == (1_000_000 + 4 * 60_000, 1_000_000 + 7 * 60_000)


def test_all_along_is_said_only_of_a_node_that_stood_out_from_the_first_to_the_last_bin() -> None:
    calm = [60.0] * 10

    def hot(own: list[float]) -> Apart:
        found = furthest(NODES, lines(calm, calm, calm, own), 0, 10_000, Least(absolute=3.0), below=False)
        assert found is not None
        return found

    late = hot([60.9] * 2 + [80.0] * 8)  # the first fifth: warmer, by less than counts
    assert (late.start_ms, late.from_start, late.to_end) == (20_000, False, True)
    early = hot([80.0] * 9 + [62.9])
    assert (early.end_ms, early.from_start, early.to_end) == (90_000, True, False)
    assert not hot([np.nan] + [80.0] * 9).from_start, "it was not read while the others were"
    whole = hot([80.0, 60.0] + [80.0] * 8)
    assert (whole.from_start, whole.to_end, whole.by) == (True, True, pytest.approx(18.0))


def test_a_stretch_begins_where_nodes_can_be_compared() -> None:
    calm = [np.nan, *[60.0] * 8, np.nan]
    found = furthest(NODES, lines(calm, calm, calm, [80.0] * 10), 0, 10_000, Least(absolute=3.0), below=False)
    assert found is not None
    assert (found.start_ms, found.end_ms, found.from_start, found.to_end) == (10_000, 90_000, True, True)


def test_a_short_interruption_does_not_end_it() -> None:
    calm = [100.0] * 12
    found = slowest(lines(calm, calm, [100.0] * 4 + [80.0, 100.0, 100.0, 80.0] + [100.0] * 4, calm))
    assert found is not None
    assert (found.start_ms, found.end_ms) == (1_000_000 + 4 * 60_000, 1_000_000 + 8 * 60_000)
    assert found.by == pytest.approx(-10.0)
    broken = slowest(lines(calm, calm, [100.0] * 4 + [80.0, 100.0, 100.0, 100.0, 80.0] + [100.0] * 3, calm))
    assert broken is not None
    assert broken.end_ms == broken.start_ms + 60_000


def test_the_one_that_weighs_most_is_named() -> None:
    calm = [100.0] * 10
    found = slowest(lines(calm, [100.0] * 8 + [70.0] * 2, [90.0] * 10, calm))
    assert found is not None
    assert found.node == "c"


def test_the_other_side() -> None:
    calm = [60.0] * 5
    rows = lines(calm, calm, [68.0] * 5, [50.0] * 5)
    found = furthest(NODES, rows, 0, 60_000, Least(absolute=3.0), below=False)
    assert found is not None
    assert (found.node, found.by) == ("c", pytest.approx(8.0))
    assert furthest(NODES, rows, 0, 60_000, Least(absolute=8.1), below=False) is None


def test_nobody_is_named_where_nobody_stands_out() -> None:
    calm = [100.0] * 10
    assert slowest(lines(calm, calm, [95.1] * 10, calm)) is None
    assert slowest(lines(calm, [50.0] * 10)) is None  # of two, neither
    unknown = [np.nan] * 10
    assert slowest(lines(unknown, unknown, [50.0] * 10, calm)) is None


def test_unknown_bins_count_for_nothing() -> None:
    calm = [100.0] * 6
    found = slowest(lines(calm, calm, [np.nan, np.nan, 80.0, 80.0, np.nan, np.nan], calm))
    assert found is not None
    assert (found.start_ms, found.end_ms, found.by) == (1_120_000, 1_240_000, pytest.approx(-20.0))


def test_what_lasted_a_moment_is_not_worth_a_word() -> None:
    rows = np.full((4, 60), 100.0)
    rows[2, 30:35] = 50.0
    assert furthest(NODES, rows, 0, 10_000, Least(share=0.05), below=True) is None
    rows[2, 30:36] = 50.0
    assert furthest(NODES, rows, 0, 10_000, Least(share=0.05), below=True) is not None
    assert furthest(NODES, rows[:, 30:34], 0, 10_000, Least(share=0.05), below=True) is not None  # half of the stretch
