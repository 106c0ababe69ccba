"""The window of the last while: rows of any order and layout come out as one frame."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.block import BLOCK_ROWS
from pipeline.window import Window
from telemetry.model import Series
from tests.telemetry.frames import numbers

TOKENS, RUNNING = "generation_tokens_total", "requests_running"
A_TOKENS, A_RUNNING = Series("a", TOKENS), Series("a", RUNNING)
B_TOKENS = Series("b", TOKENS)


def add(window: Window, target: str, tick: int, values: dict[Series, float], late_ms: float = 0.0) -> None:
    window.add(target, tick, tick + late_ms, tuple(values), np.array(list(values.values()), dtype=float))


def rows(window: Window, *metrics: str, **limits: object) -> dict[Series, list[float | None]]:
    frame = window.frame(metrics or (TOKENS,), **limits)  # type: ignore[arg-type]
    return {series: numbers(row) for series, row in zip(frame.series, frame.values, strict=True)}


def test_an_empty_window_is_an_empty_frame() -> None:
    frame = Window(60_000).frame([TOKENS])
    assert frame.values.shape == (0, 0)
    assert Window(60_000).targets() == []
    assert Window(60_000).latest_tick is None


def test_the_last_row_before_the_start_however_old() -> None:
    window = Window(600_000)
    for tick in (1000, 2000, 300_000, 301_000):
        add(window, "a", tick, {A_TOKENS: tick})
    for tick in (299_000, 300_000, 301_000):
        add(window, "b", tick, {B_TOKENS: tick})
    add(window, "c", 500, {Series("c", TOKENS): 7, Series("c", RUNNING): 1})
    add(window, "c", 300_000, {Series("c", TOKENS): 8})
    frame = window.frame([TOKENS], start_ms=300_000, before=True)
    assert frame.ticks.tolist() == [500, 2000, 299_000, 300_000, 301_000]
    assert {series.target: numbers(row) for series, row in zip(frame.series, frame.values, strict=True)} == {
        "a": [None, 2000, None, 300_000, 301_000],
        "b": [None, None, 299_000, 300_000, 301_000],
        "c": [7, None, None, 8, None],
    }
    assert window.frame([TOKENS], start_ms=300_000).ticks.tolist() == [300_000, 301_000]
    assert window.frame([TOKENS], start_ms=0, before=True).ticks.tolist()[0] == 500
    assert window.frame([TOKENS], start_ms=900_000, before=True).ticks.tolist() == [300_000, 301_000]


def test_only_the_metrics_asked_for() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 5, A_RUNNING: 2})
    add(window, "a", 2000, {A_TOKENS: 6, A_RUNNING: 3})
    assert rows(window) == {A_TOKENS: [5, 6]}
    assert rows(window, RUNNING, TOKENS) == {A_TOKENS: [5, 6], A_RUNNING: [2, 3]}
    assert rows(window, "unheard_of") == {}


def test_metrics_of_series_that_pass_a_test() -> None:
    window = Window(60_000)
    assert window.metrics(lambda _: True) == frozenset()
    add(window, "a", 1000, {A_TOKENS: 5, A_RUNNING: 2})
    add(window, "a", 2000, {A_TOKENS: 6})
    add(window, "b", 2000, {B_TOKENS: 6})
    assert window.metrics(lambda _: True) == {TOKENS, RUNNING}
    assert window.metrics(lambda series: series.target == "b") == {TOKENS}
    assert window.metrics(lambda series: series == A_RUNNING) == {RUNNING}


def test_the_last_row_up_to_an_instant() -> None:
    window = Window(10_000_000)
    for number in range(BLOCK_ROWS + 20):
        add(window, "a", 1000 * number, {A_TOKENS: 5 + number, A_RUNNING: 2})
    late = 1000 * (BLOCK_ROWS + 19)

    def told(target: str, at_ms: int) -> tuple[int, float, float | None, float | None] | None:
        row = window.newest(target, at_ms)
        return None if row is None else (row.tick, row.at_ms, row.get(A_TOKENS), row.get(A_RUNNING))

    instant = told("a", 0)
    assert instant is not None
    lag = instant[1]
    assert instant == (0, lag, 5, 2)
    assert told("a", -1) is None
    assert told("b", late) is None
    assert told("a", 1999) == (1000, 1000 + lag, 6, 2)
    assert told("a", 2000) == (2000, 2000 + lag, 7, 2)
    for number in (BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 7):
        assert told("a", 1000 * number) == (1000 * number, 1000 * number + lag, 5 + number, 2)
    add(window, "a", late + 3000, {A_RUNNING: float("nan")})
    assert told("a", late + 9000) == (late + 3000, late + 3000 + lag, None, None)
    add(window, "a", late + 2000, {A_RUNNING: 4})  # a late one, in a block of its own
    assert told("a", late + 2999) == (late + 2000, late + 2000 + lag, None, 4)
    assert told("a", late + 3000) == (late + 3000, late + 3000 + lag, None, None)


def test_targets_share_the_ticks_at_which_any_was_read() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 1}, late_ms=7)
    add(window, "b", 2000, {B_TOKENS: 2}, late_ms=9)
    add(window, "a", 3000, {A_TOKENS: 3}, late_ms=5)
    frame = window.frame([TOKENS])
    assert frame.ticks.tolist() == [1000, 2000, 3000]
    assert rows(window) == {A_TOKENS: [1, None, 3], B_TOKENS: [None, 2, None]}
    assert [numbers(line) for line in frame.at_ms] == [[1007, None, 3005], [None, 2009, None]]
    assert rows(window, targets=["b"]) == {B_TOKENS: [2]}
    assert window.frame([TOKENS], targets=["b"]).ticks.tolist() == [2000]
    assert window.targets() == ["a", "b"]
    assert window.latest_tick == 3000


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [1, 2, 3]),
        ({"start_ms": 2000}, [2, 3]),
        ({"start_ms": 2001}, [3]),
        ({"end_ms": 2000}, [1, 2]),
        ({"end_ms": 1999.5}, [1]),
        ({"start_ms": 1500, "end_ms": 2500}, [2]),
    ],
)
def test_a_range_is_closed_at_both_ends(limits: dict[str, float], expected: list[float]) -> None:
    window = Window(60_000)
    for number in (1, 2, 3):
        add(window, "a", number * 1000, {A_TOKENS: number})
    assert rows(window, **limits) == {A_TOKENS: expected}


def test_a_range_without_rows_is_empty() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 1})
    assert rows(window, start_ms=5000) == {}


def test_a_layout_that_changes_keeps_each_series_in_its_row() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 1, A_RUNNING: 10})
    add(window, "a", 2000, {A_RUNNING: 20})
    add(window, "a", 3000, {A_RUNNING: 30, A_TOKENS: 3})
    assert rows(window, TOKENS, RUNNING) == {A_TOKENS: [1, None, 3], A_RUNNING: [10, 20, 30]}
    frame = window.frame([TOKENS])
    assert numbers(frame.at_ms[0]) == [1000, 2000, 3000], "the target was read, without this series"


def test_equal_layouts_are_one_layout() -> None:
    window = Window(60_000)
    for number in range(3):
        window.add("a", number * 1000, 0.0, (Series("a", TOKENS),), np.array([float(number)]))
    assert rows(window) == {A_TOKENS: [0, 1, 2]}


def test_late_rows_take_their_place_and_second_ones_are_ignored() -> None:
    window = Window(60_000)
    for tick, value in ((1000, 1), (3000, 3), (2000, 2), (2000, 99), (1000, 99), (4000, 4), (3000, 99), (500, 0)):
        add(window, "a", tick, {A_TOKENS: value})
    assert window.latest_tick == 4000
    assert rows(window) == {A_TOKENS: [0, 1, 2, 3, 4]}
    assert rows(window, start_ms=2000, end_ms=3000) == {A_TOKENS: [2, 3]}


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_rows_of_any_order_come_out_in_the_order_of_ticks(order: list[int]) -> None:
    window = Window(60_000)
    first: dict[int, int] = {}
    for place, second in enumerate(order):
        first.setdefault(second, place)
        add(window, "a", second * 1000, {A_TOKENS: place})
    assert rows(window) == {A_TOKENS: [first[second] for second in sorted(first)]}


def test_more_rows_than_a_block_holds() -> None:
    window = Window(10_000_000)
    count = 2 * BLOCK_ROWS + 5
    for number in range(count):
        add(window, "a", number * 1000, {A_TOKENS: number})
    assert rows(window) == {A_TOKENS: list(range(count))}
    assert rows(window, start_ms=(BLOCK_ROWS - 1) * 1000, end_ms=BLOCK_ROWS * 1000) == {
        A_TOKENS: [BLOCK_ROWS - 1, BLOCK_ROWS]
    }


def test_what_is_older_than_the_span_is_dropped_in_blocks() -> None:
    window = Window(60_000)
    add(window, "b", 0, {B_TOKENS: 1})
    for number in range(BLOCK_ROWS + 100):
        add(window, "a", number * 1000, {A_TOKENS: number})
    window.trim()
    assert window.targets() == ["a"]
    assert rows(window, start_ms=(BLOCK_ROWS + 39) * 1000)[A_TOKENS][0] == BLOCK_ROWS + 39
    assert window.frame([TOKENS]).ticks[0] == BLOCK_ROWS * 1000
    Window(60_000).trim()


def test_a_row_at_the_edge_of_the_span_stays() -> None:
    window = Window(60_000)
    add(window, "b", 1000, {B_TOKENS: 1})
    add(window, "a", 61_000, {A_TOKENS: 1})
    window.trim()
    assert window.targets() == ["a", "b"]
    add(window, "a", 61_001, {A_TOKENS: 1})
    window.trim()
    assert window.targets() == ["a"]


def test_steps_are_in_the_frame_as_long_as_their_rows() -> None:
    window = Window(60_000)
    for number in range(1, 80):
        add(window, "a", number * 1000, {A_TOKENS: number})
    window.add_steps([(A_TOKENS, 3000, "restart"), (A_RUNNING, 4000, "restart"), (A_TOKENS, 5000, "first sample")])
    window.trim()
    frame = window.frame([TOKENS])
    assert np.flatnonzero(frame.breaks[0]).tolist() == [2]
    assert not window.frame([TOKENS], start_ms=4000).breaks.any()


def test_steps_go_with_their_rows() -> None:
    window = Window(1000)
    add(window, "a", 1000, {A_TOKENS: 1})
    window.add_steps([(A_TOKENS, 1000, "restart")])
    add(window, "b", 5000, {B_TOKENS: 1})
    window.trim()
    add(window, "a", 1000, {A_TOKENS: 1})
    assert not window.frame([TOKENS]).breaks.any()


def test_a_step_of_a_first_use_fills_in_the_zero() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_RUNNING: 0})
    add(window, "a", 2000, {A_RUNNING: 1, A_TOKENS: 40})
    window.add_steps([(A_TOKENS, 2000, "first use")])
    assert rows(window) == {A_TOKENS: [0, 40]}
    assert rows(window) == {A_TOKENS: [0, 40]}


def test_intervals_decide_what_a_gap_is() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 1, A_RUNNING: 1})
    add(window, "b", 1000, {B_TOKENS: 1})
    window.set_intervals({"a": 1000, "b": 4000})
    frame = window.frame([TOKENS, RUNNING])
    assert dict(zip(frame.series, frame.gap_ms.tolist(), strict=True)) == {
        A_TOKENS: 2500.0,
        A_RUNNING: 2500.0,
        B_TOKENS: 10_000.0,
    }


@pytest.mark.parametrize(("intervals", "gap_ms"), [({}, 2500.0), ({"b": 4000}, 10_000.0), ({"b": 500}, 2500.0)])
def test_what_is_recorded_is_as_often_as_the_target_that_is_read_most(intervals: dict[str, int], gap_ms: float) -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 1})
    add(window, "b", 1000, {B_TOKENS: 1})
    window.set_intervals(intervals)
    frame = window.frame([TOKENS])
    assert dict(zip(frame.series, frame.gap_ms.tolist(), strict=True))[A_TOKENS] == gap_ms


def test_a_frame_does_not_change_when_rows_come_later() -> None:
    window = Window(60_000)
    add(window, "a", 1000, {A_TOKENS: 1})
    frame = window.frame([TOKENS])
    add(window, "a", 2000, {A_TOKENS: 2})
    frame.values[0, 0] = 77.0
    assert rows(window) == {A_TOKENS: [1, 2]}


def same_as_frame(window: Window, *metrics: str, **limits: object) -> None:
    sheet, frame = window.sheet(metrics, **limits), window.frame(metrics, **limits).watched()  # type: ignore[arg-type]
    assert (sheet.series, sheet.ticks.tolist()) == (frame.series, frame.ticks.tolist())
    np.testing.assert_array_equal(sheet.values, frame.values)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12), st.sampled_from((1, 1, 1, 2))), max_size=60),
    st.integers(0, 6),
    st.integers(4, 12),
)
def test_a_sheet_has_the_values_of_a_frame(read: list[tuple[str, int, int]], first: int, last: int) -> None:
    """Rows in any order, of two layouts, one of which lacks some of what is asked for; one target lacks all."""
    window = Window(60_000)
    for target, second, series in read:
        named = {Series(target, RUNNING): float(second), Series(target, TOKENS): second + 0.1}
        add(window, target, second * 1000, dict(list(named.items())[:series]))
        add(window, "d", second * 1000 + 500, {Series("d", "uptime_seconds"): 1.0})
    same_as_frame(window, RUNNING, start_ms=first * 1000, end_ms=last * 1000)
    same_as_frame(window, RUNNING, TOKENS, start_ms=first * 1000, end_ms=last * 1000, targets=["a", "c"])


@pytest.mark.parametrize("missed", [None, 7, BLOCK_ROWS - 1, BLOCK_ROWS + 3])
def test_a_sheet_of_many_blocks(missed: int | None) -> None:
    """missed: a row that one of two targets lacks, after which its blocks are others."""
    window = Window(10_000_000)
    many = [Series("a", RUNNING, (("engine", str(number)),)) for number in range(6)]
    for number in range(2 * BLOCK_ROWS + 20):
        add(window, "a", 1000 * number, {one: number * place + 0.1 for place, one in enumerate(many)})
        if number != missed:
            add(window, "b", 1000 * number, {B_TOKENS: 0, Series("b", RUNNING): number / 3})
    blocks = window._blocks
    shared = [mine.ticks is other.ticks for mine, other in zip(blocks["a"], blocks["b"], strict=False)]
    alike = [missed is None or missed >= BLOCK_ROWS, missed is None, False]
    assert shared == alike, "full blocks share the ticks that are the same"
    for start, end in ((0, 10**9), (5000, 1000 * BLOCK_ROWS + 9000), (1000 * BLOCK_ROWS, 1000 * BLOCK_ROWS + 9000)):
        same_as_frame(window, RUNNING, start_ms=start, end_ms=end)
        same_as_frame(window, RUNNING, start_ms=start, end_ms=end, targets=["b"])
    assert window.sheet([RUNNING], start_ms=5, end_ms=6).values.shape == (0, 0)


def test_targets_that_are_read_at_other_instants_make_one_sheet() -> None:
    window = Window(60_000)
    for number in range(4):
        add(window, "a", 1000 * number, {A_RUNNING: number})
        add(window, "b", 1000 * number + 500 * (number == 2), {Series("b", RUNNING): number})
    same_as_frame(window, RUNNING, start_ms=0, end_ms=9000)
    assert window.sheet([RUNNING], start_ms=0, end_ms=9000).ticks.tolist() == [0, 1000, 2000, 2500, 3000]
