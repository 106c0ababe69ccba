"""Frame: rows by identity, selections and ranges keep every array in step."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.frame import Frame, empty
from tests.telemetry.frames import START_MS, numbers, series, table


def sample() -> Frame:
    return table(
        {series(engine="0"): [1, 2, 3], series(engine="1"): [4, None, 6], series("other"): [7, 8, 9]},
        arrived_s=[0.1, 1.1, 2.1],
        breaks={1: [2]},
    )


def test_row_finds_by_identity() -> None:
    frame = sample()
    assert [frame.row(one) for one in frame.series] == [0, 1, 2]
    assert frame.row(series(engine="9")) is None
    assert empty().row(series()) is None


def test_take_keeps_the_order_asked_for() -> None:
    frame = sample().take([2, 0])
    assert frame.series == (series("other"), series(engine="0"))
    assert [numbers(row) for row in frame.values] == [[7, 8, 9], [1, 2, 3]]
    assert frame.row(series("other")) == 0
    assert frame.gap_ms.shape == (2,)


def test_select_by_what_a_series_is() -> None:
    frame = sample().select(lambda one: one.label("engine") == "1")
    assert [numbers(row) for row in frame.values] == [[4, None, 6]]
    assert frame.breaks.tolist() == [[False, False, True]]
    assert frame.at_ms.tolist() == [[START_MS + 100, START_MS + 1100, START_MS + 2100]]
    assert sample().select(lambda _: False).values.shape == (0, 3)


@pytest.mark.parametrize(
    ("start_s", "end_s", "kept"),
    [(0, 2, [0, 1, 2]), (1, 2, [1, 2]), (0.5, 1.5, [1]), (1, 1, [1]), (3, 9, []), (-5, -1, [])],
)
def test_between_is_closed_at_both_ends(start_s: float, end_s: float, kept: list[int]) -> None:
    frame = sample().between(START_MS + start_s * 1000, START_MS + end_s * 1000)
    assert (frame.ticks - START_MS).tolist() == [1000 * one for one in kept]
    assert frame.values.shape == frame.at_ms.shape == frame.breaks.shape == (3, len(kept))
    assert numbers(frame.values[0]) == [one + 1 for one in kept]


def test_arrays_of_different_shapes_are_refused() -> None:
    frame = sample()
    with pytest.raises(AssertionError, match="one shape"):
        Frame(frame.ticks, frame.series, frame.values[:2], frame.at_ms, frame.breaks, frame.gap_ms)


def test_empty_is_a_frame_of_nothing() -> None:
    assert empty().values.shape == (0, 0)
    assert empty().between(0, 1).take([]).series == ()
    assert np.array_equal(empty().ticks, [])
