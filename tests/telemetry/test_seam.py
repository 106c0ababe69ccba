"""Frames that follow each other."""

from __future__ import annotations

import numpy as np

from telemetry.counters import trailing_increase
from telemetry.frame import Frame, empty
from telemetry.model import Series
from telemetry.seam import behind, joined
from tests.telemetry.frames import Numbers, numbers, table
from tests.telemetry.frames import series as named

A, B, C = (named(target=target) for target in "abc")


def test_the_rows_of_both_on_one_axis() -> None:
    first: dict[Series, Numbers] = {B: [1, 2], A: [3, None]}
    second: dict[Series, Numbers] = {C: [7, 8, 9], B: [4, None, 5]}
    before = table(first, at_s=[0, 1], breaks={0: [1]})
    after = table(second, at_s=[2, 3, 4], breaks={1: [2]}, interval_s=5)
    found = joined(before, after)
    assert found.series == (A, B, C)
    assert found.ticks.tolist() == [*before.ticks.tolist(), *after.ticks.tolist()]
    assert [numbers(row) for row in found.values] == [
        [3, None, None, None, None],
        [1, 2, 4, None, 5],
        [None, None, 7, 8, 9],
    ]
    assert (~np.isnan(found.at_ms)).tolist() == [
        [True, True, False, False, False],
        [True] * 5,
        [False, False, True, True, True],
    ]
    assert found.breaks.tolist() == [[False] * 5, [False, True, False, False, True], [False] * 5]
    assert found.gap_ms.tolist() == [2500, 12_500, 12_500]


def test_nothing_and_something_is_something() -> None:
    some = table([[1.0, 2.0]])
    assert joined(empty(), some) is some
    assert joined(some, empty()) is some


def test_ticks_at_which_another_series_of_a_target_was_read_are_watched() -> None:
    """An engine that loads another model has other series from then on; neither part's ticks are lost."""
    old, new = named(model="y"), named(model="x")
    before, after = table({old: [1, 2]}, at_s=[0, 1]), table({new: [5, 6]}, at_s=[2, 3])
    for found in (joined(before, after), joined(table({new: [1, 2]}, at_s=[0, 1]), table({old: [5, 6]}, at_s=[2, 3]))):
        assert found.watched().ticks.tolist() == found.ticks.tolist()
    of_others = table({A: [1, 2], B: [3, 4]}, at_s=[0, 1])
    of_others.at_ms[:, 1] = np.nan
    assert of_others.watched().ticks.tolist() == of_others.ticks[:1].tolist()


def test_a_gap_stays_one_where_later_hours_were_read_less_often() -> None:
    """Of two that differ: 5 s are a gap in the first part alone, 30 s between the two are none."""
    before, after = table({A: [0, 1, 6]}, at_s=[0, 1, 6]), table({A: [36, 51]}, at_s=[36, 51], interval_s=15)
    found = joined(before, after)
    assert found.breaks.tolist() == [[False, False, True, False, False]]
    assert found.gap_ms.tolist() == [37_500]


def test_hours_that_were_read_less_often_are_no_row_of_gaps() -> None:
    before = table({A: [0, 15, 30]}, at_s=[0, 15, 30], interval_s=15)
    found = joined(before, table({A: [40, 41]}, at_s=[40, 41]))
    assert found.gap_ms.tolist() == [37_500]
    assert numbers(trailing_increase(found, 20_000)[0]) == [None, None, 20, 20, 20]


def wide(frame: Frame, room: int) -> Frame:
    """The same with room behind it."""
    arrays = (np.concatenate((one, np.zeros((len(one), room), one.dtype)), axis=1)
              for one in (frame.values, frame.at_ms, frame.breaks))  # fmt: skip
    values, at_ms, breaks = (one[:, : len(frame.ticks)] for one in arrays)
    return Frame(frame.ticks, frame.series, values, at_ms, breaks, frame.gap_ms)


def test_what_is_filled_behind_a_frame_is_joined_with_it_without_a_copy() -> None:
    first: dict[Series, Numbers] = {A: [3, None], B: [1, 2]}
    second: dict[Series, Numbers] = {A: [4, None, 5], B: [7, 8, 9]}
    before, after = (
        table(first, at_s=[0, 1], breaks={0: [1]}),
        table(second, at_s=[2, 3, 9], breaks={1: [2]}, interval_s=5),
    )
    into = behind(wide(before, 3), after.ticks, [B, A])
    assert into is not None
    assert into.series == (A, B)
    room = wide(before, 3)
    into = behind(room, after.ticks, after.series)
    assert into is not None
    into.values[:], into.at_ms[:], into.breaks[:], into.gap_ms[:] = (
        after.values,
        after.at_ms,
        after.breaks,
        after.gap_ms,
    )
    found, other = joined(room, into), joined(before, after)
    assert np.shares_memory(found.values, room.values)
    assert not np.shares_memory(other.values, before.values)
    for name in ("ticks", "values", "at_ms", "breaks", "gap_ms"):
        assert np.array_equal(getattr(found, name), getattr(other, name), equal_nan=name != "breaks"), name
    assert (found.series, found.breaks.any()) == (other.series, True)


def test_there_is_no_room_behind_a_frame() -> None:
    before = table({A: [3, None]}, at_s=[0, 1])
    ticks = np.array([2000, 3000])
    assert behind(before, ticks, [A]) is None
    assert behind(wide(before, 3), ticks, [A]) is None
    assert behind(wide(before, 2), ticks, [A, B]) is None
    assert behind(before, ticks[:0], [A]) is None
