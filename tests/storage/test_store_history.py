"""Frames of stored history."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.records import Batch, Offset, Row, TargetRow
from storage.store import Store
from telemetry.counters import Step
from telemetry.frame import Frame
from telemetry.model import Series
from tests.storage.worlds import NOW, SECOND, series, write

NAN = math.nan
END = NOW + 10**9


def seconds(frame: Frame) -> list[int]:
    """Ticks as seconds after NOW."""
    return [(tick - NOW) // SECOND for tick in frame.ticks.tolist()]


def row(frame: Frame, target: str, metric: str) -> np.ndarray:
    """Values of a series without labels."""
    position = frame.row(Series(target, metric))
    assert position is not None
    return frame.values[position]


def test_one_axis_for_all_targets(store: Store) -> None:
    write(store, "b", ["x", "y"], {0: [1, 10], 1: [2, NAN], 3: [4, 40]})
    write(store, "a", ["y", "x"], {1: [-10, -1], 2: [-20, -2]})
    frame = store.frame(["x", "y"], None, NOW, END)
    assert frame.series == (Series("a", "x"), Series("a", "y"), Series("b", "x"), Series("b", "y"))
    assert seconds(frame) == [0, 1, 2, 3]
    assert frame.ticks.dtype == np.int64
    np.testing.assert_array_equal(
        frame.values, [[NAN, -1, -2, NAN], [NAN, -10, -20, NAN], [1, 2, NAN, 4], [10, NAN, NAN, 40]]
    )
    at_b = [NOW + 40, NOW + 1040, NAN, NOW + 3040]
    np.testing.assert_array_equal(frame.at_ms, [[NAN, NOW + 1040, NOW + 2040, NAN]] * 2 + [at_b] * 2)
    assert not frame.breaks.any()
    assert frame.gap_ms.tolist() == [2500.0] * 4


def test_wanted_is_a_test_or_names(store: Store) -> None:
    write(store, "a", ["x", "y", "z"], {0: [1, 2, 3]})
    write(store, "b", ["x"], {0: [4]})
    assert store.frame({"y", "z"}, None, NOW, END).series == series("a", "y", "z")
    assert store.frame(lambda one: one.metric == "x", None, NOW, END).series == (Series("a", "x"), Series("b", "x"))
    assert store.frame(["x"], ["b"], NOW, END).values.tolist() == [[4.0]]
    assert store.frame(["x"], [], NOW, END).series == ()


def test_ends_are_inside(store: Store) -> None:
    write(store, "a", ["x"], {at: [at] for at in range(5)})
    frame = store.frame(["x"], None, NOW + SECOND, NOW + 3 * SECOND)
    assert row(frame, "a", "x").tolist() == [1, 2, 3]
    assert seconds(store.frame(["x"], None, NOW + SECOND + 1, NOW + 3 * SECOND - 1)) == [2]


@pytest.mark.parametrize("before", [0, 1, 59_999, 60_000, 60_001, 180_000, 10**8])
def test_a_row_at_the_very_end_of_the_range(store: Store, before: int) -> None:
    write(store, "a", ["x"], {0: [1], 60: [2]})
    end = NOW + 60 * SECOND
    frame = store.frame(["x"], None, end - before, end)
    assert frame.values[0].tolist() == ([1, 2] if before >= 60_000 else [2])
    assert store.frame(["x"], None, end - before, end - 1).values.tolist() == ([[1]] if before >= 60_000 else [])


@pytest.mark.parametrize("metrics", [["nothing"], []])
def test_nothing_wanted_is_an_empty_frame(store: Store, metrics: list[str]) -> None:
    write(store, "a", ["x"], {0: [1]})
    frame = store.frame(metrics, None, NOW, END)
    assert frame.series == ()
    assert frame.values.shape == (0, 0)


def test_nothing_in_the_range_is_an_empty_frame(store: Store) -> None:
    assert store.frame(["x"], None, NOW, END).series == ()
    write(store, "a", ["x"], {5: [1]})
    assert store.frame(["x"], None, NOW, NOW + 4 * SECOND).series == ()
    assert store.frame(["x"], None, NOW + 6 * SECOND, END).series == ()
    assert store.frame(["x"], None, END, NOW).series == ()


def test_a_series_without_rows_in_the_range_is_left_out(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    write(store, "a", ["x", "y"], {100: [2, 3]})
    assert store.frame(["x", "y"], None, NOW, NOW + SECOND).series == series("a", "x")


def test_layouts_that_change_midway(store: Store) -> None:
    write(store, "a", ["x", "y"], {0: [1, 10]})
    write(store, "a", ["z", "y", "x"], {1: [7, 20, 2]})
    write(store, "a", ["z"], {2: [8]})
    frame = store.frame(["x", "y"], None, NOW, END)
    np.testing.assert_array_equal(row(frame, "a", "x"), [1, 2, NAN])
    np.testing.assert_array_equal(row(frame, "a", "y"), [10, 20, NAN])
    # The third row has neither, but says that the target was read.
    np.testing.assert_array_equal(frame.at_ms, [[NOW + 40, NOW + 1040, NOW + 2040]] * 2)


def test_a_read_target_without_any_wanted_series_in_range(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    write(store, "a", ["z"], {100: [8]})
    assert store.frame(["x"], None, NOW + SECOND, END).series == ()


def test_late_rows_and_long_pauses(store: Store) -> None:
    month = 30 * 86400
    write(store, "a", ["x"], {month: [3], month + 61: [4]})
    write(store, "a", ["x"], {59: [2], 0: [1]})
    frame = store.frame(["x"], None, 0, NOW + 365 * 86400 * SECOND)
    assert seconds(frame) == [0, 59, month, month + 61]
    assert row(frame, "a", "x").tolist() == [1, 2, 3, 4]


def test_more_than_a_slice_and_many_wanted(store: Store) -> None:
    metrics = [f"m{index:02d}" for index in range(40)]
    samples = {at: [at * 100 + index for index in range(40)] for at in range(0, 200, 3)}
    write(store, "a", metrics, samples)
    write(store, "b", metrics[:3], {at: [-at, NAN, math.inf] for at in range(200)})
    frame = store.frame(lambda _: True, None, NOW, END)
    assert frame.values.shape == (43, 200)
    expected = np.full((40, 200), NAN)
    for at, values in samples.items():
        expected[:, at] = values
    np.testing.assert_array_equal(frame.values[:40], expected)
    np.testing.assert_array_equal(frame.values[40], -np.arange(200.0))
    one = store.frame(["m07"], ["a"], NOW, END)
    np.testing.assert_array_equal(one.values[0], np.arange(0, 200, 3) * 100 + 7)


def offset(metric: str, at: int, reason: Step) -> Offset:
    """An offset of target a."""
    return Offset("a", metric, (), NOW + at * SECOND, 1.0, reason.value)


def test_restarts_are_breaks_and_nothing_else_is(store: Store) -> None:
    write(store, "a", ["x", "y"], {0: [1, 1], 1: [2, 2], 2: [3, 3], 3: [4, 4]})
    calm = [offset("y", 0, Step.FIRST_SAMPLE), offset("y", 1, Step.WRAP), offset("y", 2, Step.FIRST_USE)]
    store.commit(Batch(offsets=[offset("x", 2, Step.RESTART), *calm]), NOW)
    frame = store.frame(["x", "y"], None, NOW, END)
    assert frame.breaks.tolist() == [[False, False, True, False], [False] * 4]


def test_a_break_lands_on_the_next_number(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [NAN], 3: [4], 4: [5]})
    write(store, "b", ["x"], {2: [9]})
    store.commit(Batch(offsets=[offset("x", 1, Step.RESTART)]), NOW)
    frame = store.frame(["x"], None, NOW, END)
    assert seconds(frame) == [0, 1, 2, 3, 4]
    assert frame.breaks.tolist() == [[False, False, False, True, False], [False] * 5]


def test_breaks_at_the_edges(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2], 2: [NAN]})
    store.commit(Batch(offsets=[offset("x", 0, Step.RESTART), offset("x", 2, Step.RESTART)]), NOW)
    assert store.frame(["x"], None, NOW, END).breaks.tolist() == [[True, False, False]]
    assert store.frame(["x"], None, NOW + SECOND, END).breaks.tolist() == [[False, False]]


def test_a_restart_of_a_series_that_is_not_wanted(store: Store) -> None:
    write(store, "a", ["x", "y"], {0: [1, 1], 1: [2, 2]})
    store.commit(Batch(offsets=[offset("y", 1, Step.RESTART)]), NOW)
    assert store.frame(["x"], None, NOW, END).breaks.tolist() == [[False, False]]


def test_gaps_follow_the_interval_of_the_target(store: Store) -> None:
    for target in ("a", "b", "cluster"):
        write(store, target, ["x"], {0: [1]})
    assert store.frame(["x"], None, NOW, END).gap_ms.tolist() == [2500.0] * 3

    def read_every(target: str, interval_ms: int) -> list[float]:
        store.commit(Batch(targets=[TargetRow(target, "engine", "", interval_ms, "idle", "", NOW, NOW)]), NOW)
        return store.frame(["x"], None, NOW, END).gap_ms.tolist()

    assert read_every("b", 4000) == [10_000.0, 10_000.0, 10_000.0], "what is recorded comes with every tick"
    assert read_every("a", 3000) == [7500.0, 10_000.0, 7500.0]
    assert read_every("a", 500) == [1250.0, 10_000.0, 2500.0]


def test_a_reader_sees_layouts_that_came_after_its_last_frame(store: Store, opened: Callable[..., Store]) -> None:
    reader = opened(writer=False)
    write(store, "a", ["x"], {0: [1]})
    assert row(reader.frame(["x"], None, NOW, END), "a", "x").tolist() == [1]
    write(store, "a", ["w", "x"], {1: [5, 2]})
    write(store, "c", ["x"], {1: [3]})
    frame = reader.frame(["x"], None, NOW, END)
    assert row(frame, "a", "x").tolist() == [1, 2]
    np.testing.assert_array_equal(row(frame, "c", "x"), [NAN, 3])


@pytest.mark.parametrize("wanted", [["m00"], [f"m{index:02d}" for index in range(20)]])
def test_a_row_that_somebody_cut_is_named_and_shifts_nothing(store: Store, wanted: list[str]) -> None:
    write(store, "a", [f"m{index:02d}" for index in range(20)], {0: [0] * 20, 1: [1] * 20})
    with store._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE hot SET data = '[1.0]' WHERE tick = {NOW}")
    found = store.frame(wanted, None, NOW, END)
    assert (found.ticks.tolist(), found.values.tolist()) == ([NOW + SECOND], [[1.0]] * len(wanted))
    (absence,) = store.absences(NOW, END, "a")
    assert absence.reason.endswith(f"at {NOW} is damaged: 1 numbers where the layouts say 20")


def test_six_hundred_targets(store: Store) -> None:
    names = [f"t{index:03d}" for index in range(600)]
    layouts = [store.layout(name, series(name, "x")) for name in names]
    rows = [Row(NOW, name, NOW, layout, [float(layout)]) for name, layout in zip(names, layouts, strict=True)]
    store.commit(Batch(rows=rows), NOW)
    frame = store.frame(["x"], None, NOW, END)
    assert frame.values[:, 0].tolist() == [float(layout) for layout in layouts]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_frame_equals_its_rows(store: Store, data: st.DataObject) -> None:
    """Any rows, of any layouts: the frame holds exactly the numbers that `rows` gives."""
    start = 1 + max((row.tick for row in store.rows()), default=NOW)
    written = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from("ab"),
                st.integers(0, 200_000),
                st.lists(st.sampled_from([f"m{index}" for index in range(14)]), min_size=1, unique=True),
                st.lists(st.floats(), min_size=14, max_size=14),
            ),
            max_size=12,
            unique_by=lambda one: one[:2],
        )
    )
    for target, after, metrics, values in written:
        layout = store.layout(target, series(target, *metrics))
        store.commit(Batch(rows=[Row(start + after, target, start + after + 1, layout, values[: len(metrics)])]), NOW)
    wanted = data.draw(st.sets(st.sampled_from([f"m{index}" for index in range(14)])))
    frame = store.frame(wanted, None, start, END)
    expected = {
        (one, row.tick): value
        for row in store.rows(start=start)
        for one, value in zip(store.series_of(row.layout), row.values.tolist(), strict=True)
        if one.metric in wanted
    }
    got = {
        (one, tick): value
        for one, line in zip(frame.series, frame.values.tolist(), strict=True)
        for tick, value in zip(frame.ticks.tolist(), line, strict=True)
    }
    assert {key for key, value in got.items() if not math.isnan(value)} == {
        key for key, value in expected.items() if not math.isnan(value)
    }
    assert all(got[key] == value for key, value in expected.items() if not math.isnan(value))


def test_a_first_use_stood_at_zero_where_the_page_was_read_before(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2]})
    write(store, "a", ["x", "y"], {2: [3, 40], 3: [4, 45]})
    write(store, "b", ["x"], {4: [9]})
    store.commit(Batch(offsets=[offset("y", 2, Step.FIRST_USE), offset("x", 1, Step.LINES_CHANGED)]), NOW)
    frame = store.frame(["y"], ["a"], NOW, END)
    assert frame.values.tolist() == [[0, 0, 40, 45]]
    assert not frame.breaks.any()
    assert not store.frame(["x"], ["a"], NOW, END).breaks.any()


def test_a_first_use_after_a_restart_is_both(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    write(store, "a", ["x", "y"], {1: [3, 40]})
    store.commit(Batch(offsets=[offset("y", 1, Step.FIRST_USE_AFTER_RESTART)]), NOW)
    frame = store.frame(["y"], None, NOW, END)
    assert frame.values.tolist() == [[0, 40]]
    assert frame.breaks.tolist() == [[False, True]]
