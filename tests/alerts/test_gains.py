"""What counters gained, of many series at once: where nothing is amiss, and where something is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alerts.gains import Plain, Together, clocks
from alerts.grouping import Memory
from alerts.language import parse
from alerts.newest import Newest
from alerts.places import PLACES, Members
from alerts.view import View
from telemetry.frame import Floats, Frame
from telemetry.model import Series
from tests.alerts.samples import START_MS, of_node

NAN, INF = float("nan"), float("inf")
SECONDS = np.arange(8) * 1000.0


def frame(values: list[list[float]], *, at: Floats = SECONDS, gap_ms: float = 2500.0, **more: Any) -> Frame:
    """Two series of each node: a, b, c …, read at these milliseconds after the start."""
    series = tuple(Series("abcdef"[row // 2], f"counter_{row % 2}", ()) for row in range(len(values)))
    shape = (len(values), len(at))
    found = np.array(values, dtype=np.float64).reshape(shape)
    at_ms = np.broadcast_to(START_MS + at, shape).copy()
    ticks = START_MS + np.arange(len(at)) * 1000
    breaks = more.get("breaks", np.zeros(shape, dtype=bool))
    return Frame(ticks, series, found, at_ms, breaks, np.full(len(values), gap_ms))


def plain(of: Frame) -> Plain:
    return Plain(of, clocks(of.series))


def gained(of: Frame, window_ms: float, *, whole: bool) -> list[float]:
    rows = np.arange(len(of.series))
    found = plain(of).gained(rows, window_ms, whole=whole)
    np.testing.assert_array_equal(Newest(of, Memory(), 0).gained(rows, window_ms, whole=whole), found)
    return found.tolist()


RISING, SQUARES = [10.0 * n for n in range(8)], [float(n * n) for n in range(8)]


@pytest.mark.parametrize("whole", [True, False])
def test_a_gain_is_interpolated_at_the_start_of_the_window(whole: bool) -> None:
    of = frame([RISING, SQUARES])
    assert gained(of, 3000, whole=whole) == [30.0, 49.0 - 16.0]
    assert gained(of, 2500, whole=whole) == [25.0, 49.0 - (16.0 + 25.0) / 2]
    assert gained(of, 7000, whole=whole) == [70.0, 49.0]


def test_before_the_first_sample_nothing_is_known_or_counted() -> None:
    of = frame([RISING, SQUARES])
    assert np.isnan(gained(of, 7001, whole=True)).all()
    assert gained(of, 7001, whole=False) == [70.0, 49.0]


def test_each_target_has_instants_of_its_own() -> None:
    of = frame([RISING, SQUARES, RISING, SQUARES])
    of.at_ms[2:, :-1] += 500
    assert gained(of, 3000, whole=True) == [30.0, 33.0, 35.0, 49.0 - (9.0 + 16.0) / 2]
    rows = np.array([3, 0], dtype=np.intp)
    assert plain(of).gained(rows, 3000, whole=True).tolist() == [36.5, 30.0]


def test_of_what_is_read_more_rarely_than_the_window_is_long_nothing_is_known() -> None:
    def at(steps: list[float]) -> list[bool]:
        instants = np.concatenate(([0.0], np.cumsum(steps)))
        of = frame([RISING[: len(instants)]], at=instants, gap_ms=25_000.0)
        return np.isnan(gained(of, 4000, whole=True)).tolist()

    assert at([10_000.0] * 7) == [True], "both ends lie in a step that is longer"
    assert at([4000.0] * 7) == [False], "as long as the window is not longer"
    assert at([1000.0, 6000.0, 2000.0, 1500.0]) == [True], "the first step is"
    assert at([1000.0, 1000.0, 1000.0, 1000.0, 4001.0]) == [True], "the last step is"
    assert np.isnan(gained(frame([RISING], gap_ms=25_000.0), 4000, whole=True)).tolist() == [False]
    often = frame([RISING], at=np.array([0.0, 1, 2, 3, 4, 5, 6, 2006]), gap_ms=2500.0)
    assert gained(often, 1000, whole=True) == [5.0], "of what is read as often, a late one is no gap"


def test_what_is_amiss_is_not_plain_and_its_neighbours_are() -> None:
    rows = [RISING, [*RISING[:3], NAN, *RISING[4:]], RISING, [INF, *RISING[:6], -INF], RISING, RISING]
    of = frame(rows)
    assert plain(of).rows.tolist() == [True, False, True, True, True, True]
    broken = np.zeros((6, 8), dtype=bool)
    broken[4, 5] = True
    assert plain(frame([RISING] * 6, breaks=broken)).rows.tolist() == [True, True, True, True, False, True]


@pytest.mark.parametrize(
    ("column", "ms", "is_plain"),
    [(4, 5499.0, True), (4, 5501.0, False), (4, 2999.0, False), (4, 3000.0, False), (7, NAN, False), (4, NAN, False)],
)
def test_a_gap_and_a_clock_set_back_are_amiss_for_all_of_a_target(column: int, ms: float, is_plain: bool) -> None:
    of = frame([RISING] * 4, at=np.array([0.0, 1000, 2000, 3000, 4000, 6000, 7000, 8000]))
    of.at_ms[2:, column] = START_MS + ms
    if ms == 5499.0:
        of.at_ms[2:, 3] = START_MS + 2999.0  # as far before it as a gap is long
    assert plain(of).rows.tolist() == [True, True, is_plain, is_plain]


def test_a_target_that_was_read_later_first_is_plain_from_then_on() -> None:
    """So it is while another is silent, whose last reading is far before."""
    of = frame([RISING, SQUARES] * 3)
    of.at_ms[2:4, :3], of.values[2:4, :3] = NAN, NAN
    of.at_ms[4:, 1:], of.values[4:, 1:] = NAN, NAN
    assert plain(of).rows.tolist() == [True] * 4 + [False] * 2
    rows = np.arange(6)
    newest = [
        Newest(of, Memory(), 0).gained(rows, window, whole=whole) for window, whole in ((3500, True), (9000, False))
    ]
    np.testing.assert_array_equal(newest[0], [35.0, 49.0 - 12.5, 35.0, 49.0 - 12.5, NAN, NAN])
    np.testing.assert_array_equal(newest[1], [70.0, 49.0, 40.0, 49.0 - 9.0, NAN, NAN])
    assert np.isnan(Newest(of, Memory(), 0).gained(rows, 4001, whole=True)).tolist() == [False] * 2 + [True] * 4
    of.values[2, 3] = NAN
    assert plain(of).rows.tolist() == [True, True, False, True, False, False], (
        "a series that came later than its target"
    )
    of.at_ms[2:4, :7], of.values[2:4, :7] = NAN, NAN
    assert plain(of).rows.tolist() == [True] * 2 + [False] * 4, "a single sample"


def test_a_single_sample_tells_no_gain() -> None:
    of = frame([[5.0], [6.0]], at=SECONDS[:1])
    assert plain(of).rows.tolist() == [False, False]
    assert np.isnan(Newest(of, Memory(), 0).gained(np.array([0, 1]), 3000, whole=True)).all()


def test_what_is_amiss_is_worked_out_beside_what_is_not() -> None:
    holes, restarted = [*RISING[:6], NAN, 70.0], np.zeros((4, 8), dtype=bool)
    restarted[3, 6] = True
    of = frame([RISING, holes, SQUARES, RISING], breaks=restarted)
    rows = np.arange(4)
    whole, seen = (Newest(of, Memory(), 0).gained(rows, 3000, whole=one) for one in (True, False))
    np.testing.assert_array_equal(whole, [30.0, 30.0, 33.0, NAN])
    np.testing.assert_array_equal(seen, [30.0, 30.0, 33.0, 30.0])


def test_rows_are_taken_together_once_each() -> None:
    together, some, others = Together(), np.array([4, 2]), np.array([2, 7])
    assert together.takes(some)
    assert together.takes(others)
    assert not together.takes(some)
    assert together.rows.tolist() == [2, 4, 7]


def test_readings_that_share_series_say_what_each_says_alone() -> None:
    names = [("p0", "f0"), ("p0", "f1"), ("p1", "f2")]
    series = tuple(
        of_node(node, "rdma_transmit_bytes_total", cage=cage, function=name) for node in "ab" for cage, name in names
    )
    members, memory = Members(nodes={"a": "k", "b": "k"}), Memory()
    values = np.array([[row * 100.0 + column * (row + 1) for column in range(8)] for row in range(6)])
    conditions: Any = {
        place: parse("rate(rdma_transmit_bytes_total[3s]) > 0") for place in ("function", "cage", "node", "deployment")
    }
    for tick, asked in enumerate([("cage",), ("function", "cage"), ("deployment", "node"), ("cage",)]):
        shape = values.shape
        ticks = START_MS + (np.arange(8) + tick) * 1000
        of = Frame(
            ticks, series, values * (tick + 1), np.tile(ticks * 1.0, (6, 1)), np.zeros(shape, bool), np.full(6, 2500.0)
        )
        shared = View(of, 7, members, memory=memory)
        for place in asked:
            reading = conditions[place].left
            mine, alone = shared.table(reading, PLACES[place]), View(of, 7, members).table(reading, PLACES[place])
            assert mine.keys == alone.keys
            np.testing.assert_array_equal(mine.values, alone.values)
        if tick == 1:
            assert alone.values[:, 0].tolist() == [6.0, 6.0, 18.0, 12.0], "Σ of rates, doubled"
