"""Counters: what a step was, trailing windows, increases, active stretches; by tables of plain numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.counters import (
    BREAKING,
    FROM_ZERO,
    Step,
    active_windows,
    bad_steps,
    increase,
    integral,
    judge,
    mark_steps,
    trailing_increase,
)
from telemetry.frame import Frame
from tests.telemetry.frames import START_MS, Numbers, numbers, series, table

NEW, KNOWN_RESTART, ABSENT_BEFORE = (False, False), (True, False), (False, True)


@pytest.mark.parametrize(
    ("previous", "current", "bits", "how", "gained", "step"),
    [
        (10, 15, 64, NEW, 5, Step.FORWARD),
        (10, 10, 64, NEW, 0, Step.FORWARD),
        (0, 0, 64, NEW, 0, Step.FORWARD),
        (10, 15, 64, ABSENT_BEFORE, 5, Step.FORWARD),
        (10, 15, 64, KNOWN_RESTART, 15, Step.RESTART),
        (10, 4, 64, NEW, 4, Step.RESTART),
        (10, 0, 64, NEW, 0, Step.RESTART),
        (None, 700, 64, NEW, 0, Step.FIRST_SAMPLE),
        (None, 700, 64, ABSENT_BEFORE, 700, Step.FIRST_USE),
        (None, 700, 64, KNOWN_RESTART, 700, Step.FIRST_USE_AFTER_RESTART),
        (None, 700, 64, (True, True), 700, Step.FIRST_USE_AFTER_RESTART),
        (2**32 - 6, 14, 32, NEW, 20, Step.WRAP),
        (2**31 + 1, 0, 32, NEW, 2**31 - 1, Step.WRAP),
        (2**31, 0, 32, NEW, 0, Step.RESTART),
        (2**31 - 1, 7, 32, NEW, 7, Step.RESTART),
        (65_535, 3, 16, NEW, 4, Step.WRAP),
        (2.0**63 + 2048, 5, 64, NEW, 5, Step.RESTART),
        (2**32 - 6, 14, 32, KNOWN_RESTART, 14, Step.RESTART),
    ],
)
def test_judge(
    previous: float | None, current: float, bits: int, how: tuple[bool, bool], gained: float, step: Step
) -> None:
    restarted, from_zero = how
    assert judge(previous, current, bits=bits, restarted=restarted, from_zero=from_zero) == (gained, step)


@pytest.mark.parametrize(
    ("previous", "current", "bits", "how", "gained", "step"),
    [
        (10, 4, 64, NEW, 0, Step.HELD),
        (10, 15, 64, NEW, 5, Step.FORWARD),
        (10, 4, 64, KNOWN_RESTART, 4, Step.RESTART),
        (2**32 - 6, 14, 32, NEW, 20, Step.WRAP),
        (2**31, 0, 32, NEW, 0, Step.HELD),
        (None, 700, 64, NEW, 0, Step.FIRST_SAMPLE),
    ],
)
def test_judge_of_a_process_that_has_not_started_anew(
    previous: float | None, current: float, bits: int, how: tuple[bool, bool], gained: float, step: Step
) -> None:
    restarted, from_zero = how
    judged = judge(previous, current, bits=bits, restarted=restarted, from_zero=from_zero, same_process=True)
    assert judged == (gained, step)


def test_which_steps_break_and_which_count_from_zero() -> None:
    assert {"restart", "first use after a restart", "another level"} == BREAKING
    assert {"first use", "first use after a restart"} == FROM_ZERO


# Trailing windows ----------


def trailing(row: Numbers, window_s: float, **more: object) -> list[float | None]:
    return numbers(trailing_increase(table([row], **more), window_s * 1000)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "window_s", "expected"),
    [
        ([0, 5, 15, 15], 1, [None, 5, 10, 0]),
        ([0, 5, 15, 15], 2, [None, None, 15, 10]),
        ([7, 5_000_000, 5_000_001, 5_000_001], 3, [None, None, None, 4_999_994]),
        ([0, 10, 20, 30], 1.5, [None, None, 15, 15]),
        ([0, 10, 20, 30], 0.9, [None] * 4),
        ([0, 10, 20, 30], 4, [None] * 4),
        ([None, 10, 30, 30], 1, [None, None, 20, 0]),
        ([0, None, 30, 40], 1, [None, None, 15, 10]),
        ([0, None, 30, 40], 2, [None, None, 30, 25]),
        ([5], 1, [None]),
        ([None, None], 1, [None, None]),
    ],
)
def test_trailing_increase(row: Numbers, window_s: float, expected: list[float | None]) -> None:
    assert trailing(row, window_s) == expected


def test_a_window_interpolates_at_the_instants_of_truth_not_at_ticks() -> None:
    assert trailing([0, 100, 200], 1, arrived_s=[0.0, 1.0, 2.5]) == [None, 100.0, pytest.approx(66.666667)]


@pytest.mark.parametrize(
    ("at_s", "window_s", "expected"),
    [
        ([0, 1, 3.5, 4.5], 1, [None, 10, 4, 10]),
        ([0, 1, 3.501, 4.501], 1, [None, 10, None, 10]),
        ([0, 1, 3.501, 4.501], 2, [None, None, None, None]),
        ([0, 1, 9, 10], 1, [None, 10, None, 10]),
    ],
)
def test_a_gap_is_more_than_two_and_a_half_intervals(
    at_s: list[float], window_s: float, expected: list[float | None]
) -> None:
    assert trailing([0, 10, 20, 30], window_s, at_s=at_s) == expected


def test_the_gap_follows_the_nominal_interval() -> None:
    at_s = [0.0, 2.0, 7.0, 9.0]
    assert trailing([0, 10, 35, 45], 2, at_s=at_s, interval_s=2.0) == [None, 10, 10, 10]
    assert trailing([0, 10, 35, 45], 1, at_s=at_s, interval_s=2.0) == [None] * 4, "shorter than the interval"


def test_a_window_that_touches_a_restart_is_unknown() -> None:
    row = [0, 10, 20, 25, 35, 45]
    assert trailing(row, 1, breaks={0: [3]}) == [None, 10, 10, None, 10, 10]
    assert trailing(row, 2, breaks={0: [3]}) == [None, None, 20, None, None, 20]


def test_a_restart_at_a_tick_without_number_still_breaks() -> None:
    assert trailing([0, 10, None, 25, 35], 1, breaks={0: [2]}) == [None, 10, None, None, 10]


def test_a_clock_that_was_set_back_breaks() -> None:
    assert trailing([0, 10, 20, 30], 1, arrived_s=[0, 1, 0.4, 1.4]) == [None, 10, None, 10]
    assert trailing([0, 10, 20, 30], 1, arrived_s=[0, 1, 1, 2]) == [None, 10, None, 10]


def test_bad_steps_counts_gaps_restarts_and_clocks_set_anew() -> None:
    at_ms = np.array([0, 1000, 2000, 9000, 10_000, 9500, 10_500], dtype=float)
    breaks = np.array([True, False, True, False, False, False, False])
    known = np.array([True, True, True, True, True, True, True])
    assert bad_steps(at_ms, breaks, known, 2500.0).tolist() == [0, 0, 1, 2, 2, 3, 3]
    known[2] = False
    assert bad_steps(at_ms, breaks, known, 2500.0).tolist() == [0, 0, 1, 1, 2, 2]


@settings(deadline=None)
@given(
    st.lists(st.floats(0.6, 1.4), min_size=12, max_size=30),
    st.floats(0.1, 5000.0),
    st.floats(1.0, 8.0),
)
def test_of_a_linear_counter_it_is_exact_whatever_the_jitter(
    steps: list[float], per_second: float, window_s: float
) -> None:
    arrived = np.cumsum(steps)
    found = trailing_increase(table([(arrived * per_second).tolist()], arrived_s=arrived.tolist()), window_s * 1000)[0]
    full = arrived - arrived[0] >= window_s + 1e-6
    assert np.allclose(found[full], per_second * window_s, rtol=1e-6)
    assert np.isnan(found[arrived - arrived[0] < window_s - 1e-6]).all()


ROWS = st.integers(1, 6).flatmap(
    lambda count: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=12, max_size=12), min_size=count, max_size=count
    )
)


def random_frame(gains: list[list[int | None]], broken: list[tuple[int, int]], targets: int) -> Frame:
    rows = {}
    for number, row in enumerate(gains):
        level, values = 0, []
        for gain in row:
            level += gain or 0
            values.append(None if gain is None else float(level))
        rows[series(target=f"t{number % targets}", row=str(number))] = values
    breaks: dict[int, list[int]] = {}
    for row_number, column in broken:
        breaks.setdefault(row_number % len(gains), []).append(column)
    return table(rows, breaks=breaks)


@settings(deadline=None)
@given(
    ROWS,
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 11)), max_size=4),
    st.integers(1, 3),
    st.integers(1, 6),
    st.randoms(use_true_random=False),
)
def test_rows_worked_out_together_equal_rows_worked_out_alone(
    gains: list[list[int | None]],
    broken: list[tuple[int, int]],
    targets: int,
    window_s: int,
    random: np.random.Generator,
) -> None:
    frame = random_frame(gains, broken, targets)
    together = trailing_increase(frame, window_s * 1000.0)
    for row in range(len(gains)):
        alone = trailing_increase(frame.take([row]), window_s * 1000.0)[0]
        assert np.array_equal(together[row], alone, equal_nan=True)
    order = list(range(len(gains)))
    random.shuffle(order)  # type: ignore[arg-type]
    assert np.array_equal(trailing_increase(frame.take(order), window_s * 1000.0), together[order], equal_nan=True)


def test_targets_that_were_read_at_different_instants_are_worked_out_apart() -> None:
    frame = table({series(target="a"): [0, 10, 20], series(target="b"): [0, 10, 20]})
    frame.at_ms[1] += [0, 500, 1000]
    found = trailing_increase(frame, 1500)
    assert numbers(found[0]) == [None, None, 15]
    assert numbers(found[1]) == [None, 10, 10]


def reference(frame: Frame, row: int, column: int, window_ms: float) -> float | None:
    """The rule, sample by sample: walk back from a sample to the window's start, and give up at a gap or restart."""
    at, values = frame.at_ms[row], frame.values[row]
    if np.isnan(values[column]):
        return None
    start, later = at[column] - window_ms, column
    for earlier in range(column - 1, -1, -1):
        if frame.breaks[row, earlier + 1]:
            return None
        if np.isnan(values[earlier]):
            continue
        if at[later] - at[earlier] > frame.gap_ms[row]:
            return None
        if at[earlier] <= start:
            share = (start - at[earlier]) / (at[later] - at[earlier])
            return float(values[column] - values[earlier] - share * (values[later] - values[earlier]))
        later = earlier
    return None


@settings(deadline=None)
@given(ROWS, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 11)), max_size=4), st.integers(2, 12))
def test_trailing_increase_equals_the_rule_walked_sample_by_sample(
    gains: list[list[int | None]], broken: list[tuple[int, int]], halves: int
) -> None:
    frame = random_frame(gains, broken, 2)
    found = trailing_increase(frame, halves * 500.0)
    for row in range(found.shape[0]):
        expected = [reference(frame, row, column, halves * 500.0) for column in range(12)]
        assert numbers(found[row]) == [None if value is None else pytest.approx(value) for value in expected]


# Increases over a range ----------


@pytest.mark.parametrize(
    ("row", "start_s", "end_s", "expected"),
    [
        ([0, 10, 30, 60], 0, 3, 60),
        ([0, 10, 30, 60], 1, 2, 20),
        ([0, 10, 30, 60], 0.5, 2.5, 30),
        ([0, 10, 30, 60], -5, 1, 10),
        ([0, 10, 30, 60], 2, 99, 30),
        ([0, 10, 30, 60], 1, 1, 0),
        ([None, 10, 30, 60], 0, 3, 50),
        ([0, None, 30, None], 1, 3, 30),
        ([None, None, 30, 60], 0, 1, None),
        ([None, None, None, None], 0, 3, None),
    ],
)
def test_increase(row: Numbers, start_s: float, end_s: float, expected: float | None) -> None:
    found = increase(table([row]), START_MS + start_s * 1000, START_MS + end_s * 1000)
    assert numbers(found) == [expected]


def test_increase_counts_what_happened_in_gaps_and_over_restarts() -> None:
    frame = table([[0, 10, 500, 510]], at_s=[0, 1, 100, 101], breaks={0: [2]})
    assert increase(frame, START_MS, START_MS + 101_000).tolist() == [510.0]


@given(ROWS, st.lists(st.integers(-2, 14), min_size=2, max_size=5))
def test_increases_over_a_split_add_up_to_the_whole(gains: list[list[int | None]], cuts: list[int]) -> None:
    frame = random_frame(gains, [], 1)
    edges = sorted(START_MS + cut * 1000 for cut in cuts)
    parts = [increase(frame, low, high) for low, high in pairwise(edges)]
    whole = increase(frame, edges[0], edges[-1])
    assert np.array_equal(np.nansum(parts, axis=0), np.nan_to_num(whole))


# Recorded steps ----------


def marked(frame: Frame, *steps: tuple[int, int, Step]) -> Frame:
    told = [(frame.series[row], START_MS + second * 1000, step.value) for row, second, step in steps]
    return mark_steps(frame, told)


def test_a_restart_becomes_a_break_and_other_steps_do_not() -> None:
    for step in Step:
        frame = marked(table([[1, 2, 3]]), (0, 1, step))
        assert frame.breaks.tolist() == [[False, step.value in BREAKING, False]]
        assert numbers(frame.values[0]) == [1, 2, 3]


@pytest.mark.parametrize("step", list(Step))
def test_only_a_first_use_says_that_it_stood_at_zero_before(step: Step) -> None:
    frame = marked(table([[None, None, 40, 45]]), (0, 2, step))
    before = 0 if step.value in FROM_ZERO else None
    assert numbers(frame.values[0]) == [before, before, 40, 45]


def test_zero_stands_only_where_the_page_was_read() -> None:
    frame = marked(table([[None, None, 40]], arrived_s=[0, None, 2]), (0, 2, Step.FIRST_USE))
    assert numbers(frame.values[0]) == [0, None, 40]


def test_nothing_is_put_before_a_series_that_has_values_there() -> None:
    frame = marked(table([[7, None, 40]]), (0, 2, Step.FIRST_USE))
    assert numbers(frame.values[0]) == [7, None, 40]


def test_steps_of_other_series_or_ticks_are_passed_over() -> None:
    frame = table([[1, 2, 3]])
    told = [
        (series(row="other"), START_MS + 1000, "restart"),
        (frame.series[0], START_MS + 1500, "restart"),
        (frame.series[0], START_MS + 9000, "restart"),
        (frame.series[0], START_MS - 1000, "restart"),
    ]
    assert not mark_steps(frame, told).breaks.any()


def test_a_first_use_gives_rates_from_its_first_step_on() -> None:
    frame = marked(table([[None, None, 40, 45]]), (0, 2, Step.FIRST_USE))
    assert numbers(trailing_increase(frame, 1000)[0]) == [None, 0, 40, 5]
    assert increase(frame, START_MS, START_MS + 3000).tolist() == [45]


# Integrals of gauges ----------


def test_an_integral_is_value_times_seconds_by_trapezoids() -> None:
    found = integral(table([[10, 20, None, 20, 0]], at_s=[0, 1, 2, 3, 3.5]))
    assert numbers(found.values[0]) == [0, 15, None, 55, 60]


def test_an_integral_runs_on_the_instants_of_truth_and_keeps_breaks() -> None:
    found = integral(table([[10, 10, 10]], arrived_s=[0, 2, 2.5], breaks={0: [1]}))
    assert numbers(found.values[0]) == [0, 20, 25]
    assert found.breaks.tolist() == [[False, True, False]]


def test_an_integral_of_nothing_is_unknown() -> None:
    assert numbers(integral(table([[None, None]])).values[0]) == [None, None]


# Active stretches ----------


def stretches(at_s: list[float], values: Numbers, pause_s: float) -> list[tuple[float, float, float]]:
    at = np.array(at_s, dtype=float) * 1000
    level = np.array([np.nan if value is None else value for value in values], dtype=float)
    return active_windows(at, level, pause_s * 1000)


@pytest.mark.parametrize(
    ("values", "pause_s", "expected"),
    [
        ([0, 0, 5, 9, 9, 9], 2, [(1000, 3000, 9)]),
        ([0, 0, 0], 2, []),
        ([0, 5, 5, 5, 9], 2, [(0, 4000, 9)]),
        ([0, 5, 5, 5, 9], 1.9, [(0, 1000, 5), (3000, 4000, 4)]),
        ([0, None, 5, 5], 2, [(0, 2000, 5)]),
        ([0, 5], 2, [(0, 1000, 5)]),
        ([5], 2, []),
        ([], 2, []),
    ],
)
def test_active_windows(values: Numbers, pause_s: float, expected: list[tuple[float, float, float]]) -> None:
    assert stretches(list(range(len(values))), values, pause_s) == expected
