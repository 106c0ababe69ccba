"""Envelopes: min, max and mean per bin, aligned to the epoch, unknown where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.rollup import ROUND, bins_of, envelope
from telemetry.summary import HOUR_MS
from tests.telemetry.frames import numbers

NAN = float("nan")
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize(
    ("start", "end", "points", "step", "bins"),
    [
        (0, 599_000, 60, 1000, (0, 10_000)),
        (0, 600_000, 60, 1000, (0, 15_000)),
        (0, 600_000, 1000, 1000, (0, 1000)),
        (0, 599_999, 60, 4000, (0, 20_000)),
        (0, 0, 60, 1000, (0, 1000)),
        (0, 59_000, 1, 1000, (0, 60_000)),
        (7_000, 59_000, 1, 1000, (7_000, 53_000)),
        (7_000, 59_500, 0, 1000, (7_000, 53_000)),
        (5_000, 604_000, 60, 1000, (0, 15_000)),
        (1_000, 2_000, 2, 1000, (0, 1000)),
        (0, 10_000, 3, 1000, (0, 5000)),
        (2_000, 12_000, 3, 1000, (0, 5000)),
        (4_000, 14_000, 3, 1000, (0, 5000)),
        (4_000, 15_000, 3, 1000, (0, 10_000)),
        (0, 900, 10, 100, (0, 100)),
        (0, 1_000, 10, 100, (0, 200)),
        (0, 900, 10, 1, (0, 100)),
        (0, 119_000, 2, 1000, (0, 60_000)),
        (0, 120_000, 2, 1000, (0, 120_000)),
        (0, 24 * HOUR_MS, 960, 1000, (0, 120_000)),
        (0, 24 * HOUR_MS - 1, 1440, 1000, (0, 60_000)),
        (0, 30 * DAY_MS, 720, HOUR_MS, (0, 2 * HOUR_MS)),
        (0, 365 * DAY_MS, 700, HOUR_MS, (0, DAY_MS)),
        (0, 365 * DAY_MS, 1500, HOUR_MS, (0, 6 * HOUR_MS)),
        (0, 365 * DAY_MS, 100, HOUR_MS, (0, 5 * DAY_MS)),
        (0, 3650 * DAY_MS, 10, 1000, (0, 35_040_000_000)),
        (0, 70_000, 11, 7000, (0, 7_000)),
        (0, 84_000, 11, 7000, (0, 14_000)),
    ],
)
def test_bins(start: int, end: int, points: int, step: int, bins: tuple[int, int]) -> None:
    assert bins_of(start, end, points, step) == bins


@given(st.integers(0, 10**7), st.integers(0, 10**6), st.integers(1, 50), st.sampled_from([100, 1000, 7000]))
def test_there_are_never_more_bins_than_asked_for(start: int, span: int, points: int, step: int) -> None:
    origin, width = bins_of(start, start + span, points, step)
    ends = np.array([start, start + span])
    found = envelope(ends, np.ones((1, 2)), start, width, origin)
    assert 1 <= len(found.t_ms) <= points
    assert found.t_ms[0] <= start
    assert found.t_ms[-1] <= start + span < found.t_ms[-1] + width
    assert width % step == 0


@given(st.integers(0, 10**12), st.integers(0, 2 * 366 * DAY_MS), st.integers(2, 5000))
def test_widths_read_well_and_none_that_reads_well_is_narrower(start: int, span: int, points: int) -> None:
    _, width = bins_of(start, start + span, points, 1000)
    if width in ROUND:
        assert width <= DAY_MS // 2 or width % DAY_MS == 0
        fits = [one for one in ROUND if one % 1000 == 0 and (start + span) // one - start // one < points]
        assert width == min(fits)
    else:
        assert span > (points - 1) * ROUND[-1]


def test_days_and_hours_begin_with_a_bin() -> None:
    assert sorted(set(ROUND)) == list(ROUND)
    assert all(DAY_MS % width == 0 for width in ROUND if width <= DAY_MS)
    assert all(HOUR_MS % width == 0 for width in ROUND if width <= HOUR_MS)
    assert all(width % HOUR_MS == 0 for width in ROUND if width > HOUR_MS)


def test_bins_may_begin_where_the_range_does() -> None:
    found = envelope(np.array([7_000, 9_000, 17_000]), np.array([[1.0, 2.0, 5.0]]), 7_000, 10_000, origin_ms=7_000)
    assert found.t_ms.tolist() == [7_000, 17_000]
    assert numbers(found.mean[0]) == [1.5, 5]


def test_envelope_by_hand() -> None:
    ticks = np.array([12_000, 13_000, 19_000, 20_000, 41_000, 45_000])
    found = envelope(ticks, np.array([[1.0, 2.0, 6.0, 5.0, NAN, 8.0]]), 12_000, 10_000)
    assert found.t_ms.tolist() == [10_000, 20_000, 30_000, 40_000]
    assert numbers(found.minimum[0]) == [1, 5, None, 8]
    assert numbers(found.maximum[0]) == [6, 5, None, 8]
    assert numbers(found.mean[0]) == [3, 5, None, 8]


def test_bins_begin_at_the_one_that_holds_the_start() -> None:
    found = envelope(np.array([35_000]), np.array([[4.0]]), 12_000, 10_000)
    assert found.t_ms.tolist() == [10_000, 20_000, 30_000]
    assert numbers(found.mean[0]) == [None, None, 4]


def test_several_series_keep_apart() -> None:
    found = envelope(np.array([0, 1000]), np.array([[1.0, 3.0], [NAN, NAN], [-5.0, NAN]]), 0, 2000)
    assert [numbers(row) for row in found.mean] == [[2], [None], [-5]]
    assert [numbers(row) for row in found.minimum] == [[1], [None], [-5]]
    assert [numbers(row) for row in found.maximum] == [[3], [None], [-5]]


def test_no_ticks_no_bins() -> None:
    found = envelope(np.zeros(0, np.int64), np.zeros((2, 0)), 5000, 1000)
    assert found.t_ms.shape == (0,)
    assert found.minimum.shape == found.maximum.shape == found.mean.shape == (2, 0)


def test_a_spike_of_one_tick_survives() -> None:
    values = np.zeros((1, 3600))
    values[0, 1234] = 99.0
    found = envelope(np.arange(3600) * 1000, values, 0, 60_000)
    assert found.maximum.max() == 99.0
    assert found.minimum.max() == 0.0


def test_a_bin_of_small_values_after_large_ones_is_exact() -> None:
    values = np.array([[3.3e16, 1e16, 0.1, 0.2]])
    assert envelope(np.array([0, 1000, 2000, 3000]), values, 0, 2000).mean[0, 1] == pytest.approx(0.15, rel=1e-15)


VALUES = st.lists(st.one_of(st.just(NAN), st.floats(-1e9, 1e9)), min_size=1, max_size=60)


@given(VALUES, st.integers(0, 9), st.integers(1, 12))
def test_min_mean_max_are_in_order_and_nothing_is_lost(values: list[float], first: int, width: int) -> None:
    ticks = (np.arange(len(values)) + first) * 1000
    found = envelope(ticks, np.array([values]), int(ticks[0]), width * 1000)
    slack = 1e-6 + 1e-12 * np.abs(found.mean)
    known = ~np.isnan(found.mean)
    assert (found.minimum <= found.mean + slack)[known].all()
    assert (found.mean <= found.maximum + slack)[known].all()
    assert np.array_equal(known, ~np.isnan(found.minimum))
    assert np.array_equal(known, ~np.isnan(found.maximum))
    if not np.isnan(values).all():
        assert np.nanmax(found.maximum) == np.nanmax(values)
        assert np.nanmin(found.minimum) == np.nanmin(values)
    for number, begin in enumerate(found.t_ms.tolist()):
        inside = [value for value, tick in zip(values, ticks, strict=True) if begin <= tick < begin + width * 1000]
        seen = [value for value in inside if not np.isnan(value)]
        expected = [min(seen), max(seen), np.mean(seen)] if seen else [None] * 3
        bins = [found.minimum[0], found.maximum[0], found.mean[0]]
        assert [numbers(line)[number] for line in bins] == [
            None if one is None else pytest.approx(one, abs=1e-5) for one in expected
        ]


@given(st.lists(st.floats(-1e6, 1e6), min_size=24, max_size=24))
def test_a_rollup_of_rollups_is_the_rollup_of_the_samples(values: list[float]) -> None:
    ticks = np.arange(24) * 1000
    small = envelope(ticks, np.array([values]), 0, 3000)
    large = envelope(ticks, np.array([values]), 0, 12_000)
    again = [envelope(small.t_ms, line, 0, 12_000) for line in (small.minimum, small.maximum, small.mean)]
    assert np.array_equal(again[0].minimum, large.minimum)
    assert np.array_equal(again[1].maximum, large.maximum)
    assert np.allclose(again[2].mean, large.mean, atol=1e-6)
    assert again[0].t_ms.tolist() == large.t_ms.tolist()


def test_the_last_known_value_of_each_bin() -> None:
    """Bins of 10 from 0: 1 then 5; nothing; unknown; 7 then unknown."""
    ticks = np.array([12, 18, 31, 40, 45], dtype=np.int64)
    bins = envelope(ticks, np.array([[1.0, 5.0, np.nan, 7.0, np.nan]]), 0, 10)
    np.testing.assert_array_equal(bins.last, [[np.nan, 5.0, np.nan, np.nan, 7.0]])
    assert envelope(ticks[:0], np.zeros((2, 0)), 0, 10).last.shape == (2, 0)
