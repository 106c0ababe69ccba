"""Summaries of hours: each column by worked numbers, and independent of how much was read before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import summary
from telemetry.frame import Frame, Sheet
from telemetry.summary import HOUR_MS, Summaries, hour_of, lead_ms, summarise
from tests.telemetry.frames import Numbers, numbers, series, table

BEGIN = 400
"""Seconds after START_MS at which an hour begins."""
FIRST = 1_796_000_400_000
GAUGE, COUNTER = series("gpu_power_watts", "n", gpu="0"), series("generation_tokens_total", "n")
COLUMNS = ("count", "first", "last", "minimum", "maximum", "total", "gain", "seconds")


def told(rows: dict[object, Numbers], at_s: list[float], hours: tuple[int, ...] = (0,), **more: object) -> Summaries:
    """Summaries of hours (0 = the first) of samples at seconds after the beginning of the first."""
    frame = table(rows, at_s=[BEGIN + second for second in at_s], **more)  # type: ignore[arg-type]
    return summarise(frame, [FIRST + hour * HOUR_MS for hour in hours])


def columns(found: Summaries, row: int = 0, hour: int = 0) -> list[float | None]:
    """One series and hour, in the order of COLUMNS."""
    return numbers([getattr(found, name)[row, hour] for name in COLUMNS])


def test_hours_begin_at_whole_hours() -> None:
    assert (hour_of(FIRST - 1), hour_of(FIRST), hour_of(FIRST + 1)) == (FIRST - HOUR_MS, FIRST, FIRST)
    assert lead_ms(2500.0) == 72_500


def test_a_gauge() -> None:
    found = told({GAUGE: [10.0, 30.0, None, 20.0]}, [0, 2, 3, 4])
    assert columns(found) == [3, 10, 20, 10, 30, 60, 40 + 50, 4]
    assert found.series == (GAUGE,)
    assert found.hours.tolist() == [FIRST]


def test_a_gauge_counts_the_step_into_the_hour_and_not_the_one_out_of_it() -> None:
    found = told({GAUGE: [10.0, 30.0, 50.0, 70.0]}, [-1, 0, 3599, 3600], hours=(0, 1, 2))
    assert columns(found) == [2, 30, 50, 30, 50, 80, 20, 1]
    assert columns(found, hour=1) == [1, 70, 70, 70, 70, 70, 60, 1]
    assert columns(found, hour=2) == [0, *[None] * 7]


def test_steps_over_gaps_restarts_and_set_clocks_gain_nothing() -> None:
    at = [0, 1, 5, 6, 7, 8]
    rows = {COUNTER: [0.0, 1.0, 10.0, 12.0, 20.0, 23.0]}
    assert columns(told(rows, at))[6:] == [1 + 2 + 8 + 3, 4]
    assert columns(told(rows, at, breaks={0: [4]}))[6:] == [1 + 2 + 3, 3]
    arrived = [BEGIN + second for second in (0, 1, 5, 6, 5.5, 6.5)]
    assert columns(told(rows, at, arrived_s=arrived))[6:] == [1 + 2 + 3, 3]


def test_a_step_has_the_length_between_the_instants() -> None:
    found = told({GAUGE: [10.0, 20.0]}, [0, 1], arrived_s=[BEGIN + 0.1, BEGIN + 1.6])
    assert columns(found)[6:] == [22.5, 1.5]


def test_a_counter_keeps_the_extremes_of_its_rate() -> None:
    rising = [0.0] * 11 + [50.0 * step for step in range(1, 11)] + [500.0] * 5
    found = told({COUNTER: rising}, list(range(26)))
    assert columns(found) == [26, 0, 500, 0, 50, None, 500, 25]
    short = told({COUNTER: [1.0, 2.0]}, [0, 1])
    assert columns(short) == [2, 1, 2, None, None, None, 1, 1]
    slow = told({COUNTER: [0.0, 30.0, 60.0]}, [0, 15, 30], interval_s=15)
    assert columns(slow) == [3, 0, 60, None, None, None, 60, 30]


def test_the_rate_of_the_first_sample_looks_back_over_the_lead() -> None:
    found = told({COUNTER: [0.0, 100.0, 100.0]}, [-10, -9, 0], interval_s=8)
    assert columns(found) == [1, 100, 100, 10, 10, None, 0, 9]


def test_one_sample() -> None:
    assert columns(told({GAUGE: [5.0]}, [7])) == [1, 5, 5, 5, 5, 5, 0, 0]
    assert columns(told({COUNTER: [5.0]}, [7])) == [1, 5, 5, None, None, None, 0, 0]


def test_nothing() -> None:
    found = told({GAUGE: [None, None]}, [0, 1])
    assert columns(found) == [0, *[None] * 7]
    assert told({}, []).count.shape == (0, 1)
    assert summarise(table({GAUGE: [1.0]}), []).count.shape == (1, 0)


def test_series_do_not_mix() -> None:
    other = series("gpu_power_watts", "n", gpu="1")
    rows = {GAUGE: [1.0, 2.0, 3.0], COUNTER: [10.0, 20.0, 40.0], other: [None, 7.0, 9.0]}
    found = told(rows, [0, 1, 2])
    assert columns(found, 0) == [3, 1, 3, 1, 3, 6, 1.5 + 2.5, 2]
    assert columns(found, 1) == [3, 10, 40, None, None, None, 30, 2]
    assert columns(found, 2) == [2, 7, 9, 7, 9, 16, 8, 1]


@pytest.mark.parametrize(
    ("name", "counted"), [("gpu_state_of_an_older_version", False), ("time_to_first_token_seconds_sum", True)]
)
def test_what_kind_a_name_is(name: str, counted: bool) -> None:
    found = told({series(name): [1.0, 3.0]}, [0, 1])
    assert numbers([found.total[0, 0], found.gain[0, 0]]) == ([None, 2] if counted else [4, 2])


def test_infinite_values_warn_of_nothing() -> None:
    inf = float("inf")
    assert columns(told({GAUGE: [inf, -inf, 1.0]}, [0, 1, 2]))[:5] == [3, inf, 1, -inf, inf]


@given(
    steps=st.lists(st.integers(200, 4000), min_size=1, max_size=60),
    lags=st.lists(st.integers(-800, 800), min_size=60, max_size=60),
    values=st.lists(st.none() | st.integers(0, 9), min_size=60, max_size=60),
    broken=st.sets(st.integers(0, 59)),
    interval=st.sampled_from([1.0, 2.0]),
)
def test_what_lies_before_the_lead_changes_nothing(
    steps: list[int], lags: list[int], values: list[int | None], broken: set[int], interval: float
) -> None:
    """Any gaps, instants and restarts around the beginning of an hour; the whole history or only its lead is read."""
    ticks = FIRST - 90_000 + np.cumsum([0, *steps])[:60]
    count = len(ticks)
    gauge = np.array([np.nan if value is None else value for value in values[:count]], dtype=float)
    counter = np.where(np.isnan(gauge), np.nan, np.nancumsum(gauge))
    breaks = np.zeros((2, count), dtype=bool)
    breaks[:, [place for place in broken if place < count]] = True
    at = np.tile((ticks + np.array(lags[:count])).astype(float), (2, 1))
    gaps = np.full(2, 2500.0 * interval)
    whole = Frame(ticks, (GAUGE, COUNTER), np.stack([gauge, counter]), at, breaks, gaps)
    part = whole.between(FIRST - lead_ms(gaps[0]), FIRST + HOUR_MS - 1)
    one, other = (summarise(frame, [FIRST]) for frame in (whole, part))
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@given(
    count=st.integers(1, 40),
    lags=st.lists(st.floats(-400, 400), min_size=160, max_size=160),
    values=st.lists(st.floats(-1e9, 1e9) | st.just(float("inf")), min_size=160, max_size=160),
    hole=st.none() | st.integers(0, 39),
    broken=st.none() | st.integers(0, 39),
    gap_ms=st.sampled_from([2500.0, 1300.0]),
)
def test_gauges_of_many_targets_at_once_are_those_of_each(
    count: int, lags: list[float], values: list[float], hole: int | None, broken: int | None, gap_ms: float
) -> None:
    """Four nodes, one of which may have a hole and another a restart, over the beginning of an hour."""
    ticks = FIRST - 20_000 + 1000 * np.arange(count)
    names = tuple(series("gpu_power_watts", f"n{place}") for place in range(4))
    sheet = np.array(values).reshape(4, 40)[:, :count]
    at = ticks + np.array(lags).reshape(4, 40)[:, :count]
    breaks = np.zeros(sheet.shape, dtype=bool)
    if hole is not None and hole < count:
        sheet[1, hole] = np.nan
    if broken is not None and broken < count:
        breaks[2, broken] = True
    frame = Frame(ticks, names, sheet, at, breaks, np.full(4, gap_ms))
    hours = [FIRST - HOUR_MS, FIRST]
    together = summarise(frame, hours)
    for row in range(4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(summary, "FEW", 0)
            alone = summarise(frame.take([row]), hours)
        for name in COLUMNS:
            np.testing.assert_array_equal(getattr(together, name)[row], getattr(alone, name)[0], err_msg=name)


def test_which_rows_are_worked_out_together() -> None:
    rows = {series("gpu_power_watts", name): [1.0, 2.0, 3.0] for name in ("a", "b", "c", "d", "e")}
    frame = table({**rows, COUNTER: [1.0, 2.0, 3.0]}, at_s=[0, 1, 2], breaks={1: [1]})
    frame.values[2, 1] = np.nan
    frame.at_ms[3, 2] += 1000
    frame.at_ms[4, 1] = frame.at_ms[4, 0]
    assert summary._even(frame, [0, 1, 2, 3, 4]) == {0, 3}
    frame.at_ms[3, 2] += 600
    assert summary._even(frame, [0, 3]) == {0}
    assert summary._even(table({}, at_s=[]), []) == set()


@given(
    st.lists(st.lists(st.none() | st.floats(-1e9, 1e9), min_size=300, max_size=300), min_size=1, max_size=3),
    st.booleans(),
)
def test_values_alone_say_the_same_to_the_last_bit(rows: list[list[float | None]], even: bool) -> None:
    """In an hour that begins with the hundredth; even: none is missing."""
    named = {
        series("gpu_power_watts", f"n{place}", gpu="0"): [number or 0.25 for number in row] if even else row
        for place, row in enumerate(rows)
    }
    frame = table(named, at_s=[BEGIN + second for second in range(-100, 200)])  # type: ignore[arg-type]
    full, found = summarise(frame, [FIRST]), summary.levels(Sheet(frame.ticks, frame.series, frame.values), FIRST)
    assert (found.hours.tolist(), found.series) == (full.hours.tolist(), full.series)
    for name in COLUMNS[:6]:
        np.testing.assert_array_equal(getattr(found, name), getattr(full, name), err_msg=name)
    assert np.isnan(found.gain).all()
    assert np.isnan(found.seconds).all()


def test_values_alone_of_an_hour_without_samples() -> None:
    frame = table({GAUGE: [1.0, 2.0]}, at_s=[BEGIN - 2, BEGIN - 1])
    assert columns(summary.levels(Sheet(frame.ticks, frame.series, frame.values), FIRST)) == [0, *[None] * 7]
