"""Bins of few and of many hours are folded alike, and hours come together whichever way they are joined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from telemetry import hours
from telemetry.grid import FEW, MEASURES, edge, largest, lay_out, least, summed
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries

FIRST = 500_000 * HOUR_MS
SERIES = tuple(Series(target, "gpu_power_watts") for target in "abc")


def made(count: int, first: int = FIRST, series: tuple[Series, ...] = SERIES, seed: int = 1) -> Summaries:
    """Hours of made-up numbers, a sixth of them unknown."""
    random = np.random.default_rng((seed, count))
    shape = (len(series), count)
    known = random.random(shape) > 1 / 6
    starts = first + np.arange(count, dtype=np.int64) * HOUR_MS
    numbers = [np.where(known, random.normal(0, 1e3, shape), np.nan) for _ in MEASURES[1:]]
    return Summaries(starts, series, np.where(known, 3600.0, 0.0), *numbers)


@pytest.mark.parametrize(
    ("per_bin", "offset"), [(1, 0), *((wide, skipped) for wide in (2, FEW - 1, FEW, FEW + 3) for skipped in (0, 1))]
)
def test_folds_of_bins(per_bin: int, offset: int) -> None:
    """offset: hours of the first bin that lie before the range."""
    told = made(3 * per_bin + 1)
    origin = FIRST - offset * HOUR_MS
    grid = lay_out(told, [2, 0], (FIRST, FIRST + HOUR_MS * len(told.hours)), (origin, per_bin * HOUR_MS), None)
    assert grid is not None
    assert grid.t_ms.tolist() == [origin + place * per_bin * HOUR_MS for place in range(len(grid.t_ms))]
    found = {
        "least": least(grid.minimum),
        "largest": largest(grid.maximum),
        "sum": summed(grid.total),
        "first": edge(grid, "first", newest=False),
        "last": edge(grid, "last", newest=True),
    }
    for row, mine in enumerate((2, 0)):
        for place in range(len(grid.t_ms)):
            begin, end = (max(place * per_bin + more - offset, 0) for more in (0, per_bin))
            at = [hour for hour in range(begin, min(end, len(told.hours))) if told.count[mine, hour] > 0]
            right = {
                "least": min(told.minimum[mine, at].tolist(), default=math.nan),
                "largest": max(told.maximum[mine, at].tolist(), default=math.nan),
                "sum": sum(told.total[mine, at].tolist()),
                "first": told.first[mine, at[0]] if at else math.nan,
                "last": told.last[mine, at[-1]] if at else math.nan,
            }
            for name, value in right.items():
                assert found[name][row, place] == pytest.approx(value, nan_ok=True), name


def test_few_are_added_in_numpys_own_order() -> None:
    values = np.random.default_rng(3).normal(0, 1, (4, 50, FEW - 1)) * 10.0 ** np.arange(FEW - 1)
    for count in range(1, FEW):
        own = np.ascontiguousarray(values[:, :, :count])
        own[own > 1e5] = np.nan
        np.testing.assert_array_equal(summed(own), np.nansum(own, axis=2))


def test_what_is_read_of_a_grid_is_laid_out_once_and_rows_are_chosen_of_chosen_ones() -> None:
    told = made(5)
    grid = lay_out(told, [0, 1, 2], (FIRST, FIRST + 5 * HOUR_MS), (FIRST, HOUR_MS), None)
    assert grid is not None
    assert grid.gain is grid.gain
    assert grid.take([0, 1, 2]) is grid
    twice = grid.take([2, 0]).take([1])
    assert twice.series == (SERIES[0],)
    np.testing.assert_array_equal(twice.gain[0, :, 0], told.gain[0])
    np.testing.assert_array_equal(grid.before_last[:, 1:], np.where(told.count > 0, told.last, np.nan)[:, :-1])
    assert np.isnan(grid.before_last[:, 0]).all()
    assert (grid.before_count[:, 0] == 0).all()


@pytest.mark.parametrize(
    ("known", "fresh", "anew"),
    [
        ([made(5)], [made(1, FIRST + 5 * HOUR_MS)], set()),
        ([made(5)], [made(1, FIRST + 4 * HOUR_MS, seed=2)], {FIRST + 4 * HOUR_MS}),
        ([made(5)], [made(1, FIRST + 2 * HOUR_MS, seed=2)], {FIRST + 2 * HOUR_MS}),
        ([made(5), made(2, FIRST + 4 * HOUR_MS, seed=2)], [], set()),
        ([made(5)], [made(1, FIRST + 5 * HOUR_MS, SERIES[::-1])], set()),
        ([made(3)], [made(1, FIRST + 5 * HOUR_MS, SERIES[1:])], set()),
    ],
    ids=["behind", "in place of the last", "in between", "twice", "in another order", "of fewer"],
)
def test_joined(known: list[Summaries], fresh: list[Summaries], anew: set[int]) -> None:
    found = hours.joined(known, fresh, anew)
    right: dict[tuple[Series, int], tuple[Summaries, int, int]] = {}
    for place_of, part in enumerate((*known, *fresh)):
        for row, series in enumerate(part.series):
            for place, hour in enumerate(part.hours.tolist()):
                if place_of >= len(known) or hour not in anew:
                    right[series, hour] = part, row, place
    assert (np.diff(found.hours) > 0).all()
    assert {hour for _, hour in right} == set(found.hours.tolist())
    for row, series in enumerate(found.series):
        for place, hour in enumerate(found.hours.tolist()):
            part, mine, at = right.get((series, hour), (None, 0, 0))
            for name in MEASURES:
                told = getattr(part, name)[mine, at] if part else 0.0 if name == "count" else math.nan
                assert getattr(found, name)[row, place] == pytest.approx(told, abs=0, nan_ok=True)
