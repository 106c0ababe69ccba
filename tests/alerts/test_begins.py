"""What a gauge was at an instant: at its samples, between them, and where nobody can say."""

from __future__ import annotations

import numpy as np
import pytest

from alerts.begins import value_at
from telemetry.frame import Frame
from tests.alerts.samples import NAN, START_MS, frame, of_node
from tests.telemetry.frames import table

SERIES = of_node("a", "memory_available_bytes")


def at(made: Frame, *seconds: float, window_s: float = 60.0) -> list[float]:
    start_ms = int(made.ticks[0]) if len(made.ticks) else START_MS
    return value_at(made, np.array([[start_ms + second * 1000 for second in seconds]]), window_s * 1000)[0].tolist()


@pytest.mark.parametrize("beside", [[], [NAN, 1.0, NAN, NAN]])
def test_at_and_between_samples(beside: list[float]) -> None:
    """Also beside a target that was read at other times."""
    other = {of_node("b", "memory_available_bytes"): beside} if beside else {}
    made = frame({SERIES: [10.0, 20.0, 40.0, 0.0], **other})
    assert at(made, 0, 0.5, 1, 1.25, 2.75, 3) == [10, 15, 20, 25, 10, 0]
    assert np.isnan(at(made, -0.5, 3.5)).all(), "before the first, and after the last"


def test_after_the_last_sample_nothing_is_known_where_others_go_on() -> None:
    made = frame({SERIES: [10.0, 20.0, NAN, NAN], of_node("b", "memory_available_bytes"): [1.0] * 4})
    assert at(made, 1) == [20]
    assert np.isnan(at(made, 1.5, 2, 3)).all()


def test_a_value_that_was_not_told_is_unknown() -> None:
    made = frame({SERIES: [10.0, NAN, 30.0]})
    told = Frame(
        made.ticks,
        made.series,
        made.values,
        made.ticks[np.newaxis, :].astype(np.float64),
        made.breaks,
        made.gap_ms,
    )
    assert at(made, 1) == [20], "not read at all: between the samples around it"
    assert np.isnan(at(told, 0.5, 1, 1.5)).all(), "read, and not there"
    assert at(told, 0, 2) == [10, 30]


def test_a_step_longer_than_the_window_says_nothing_of_where_it_began() -> None:
    made = frame({SERIES: [10.0, NAN, 30.0]})
    assert at(made, 0.5, window_s=2.0) == [15]
    assert np.isnan(at(made, 0.5, window_s=1.9)).all(), "what changed may have changed before"
    assert at(made, 0, window_s=1.9) == [10], "where it was read it is known"


def test_of_no_samples_nothing() -> None:
    made = frame({SERIES: []})
    assert np.isnan(at(made, 0, 1)).all()


def test_a_step_that_is_a_gap_or_longer_than_the_window_tells_nothing() -> None:
    """2.5 s are no gap yet where a target is read every second, 2.6 s are one; 1 s fits into a window of 1 s."""
    made = table([[0.0, 10.0, 20.0, 45.0, 71.0]], at_s=[0, 1, 2, 4.5, 7.1])
    assert at(made, 0.5, 3) == [5, 30]
    assert np.isnan(at(made, 6)).all()
    assert at(made, 0.5, 4.5, window_s=1) == [5, 45], "at a reading it is what was read, however far others are"
    assert np.isnan(at(made, 3, window_s=1)).all(), "that step is longer than the window"
    assert at(made, 3, window_s=2.5) == [30]


def test_between_the_readings_around_it_where_several_were_left_out() -> None:
    made = frame({SERIES: [10.0, 20.0, NAN, 40.0, 90.0], of_node("b", "memory_available_bytes"): [1.0] * 5})
    assert at(made, 1.5, 2, 2.5, 3.5) == [25, 30, 35, 65]
