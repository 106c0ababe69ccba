"""From when to when an engine of a run is silent."""

from __future__ import annotations

import numpy as np
import pytest

from runs.silence import last_readings, silent
from storage.records import Absence
from telemetry.catalog import cluster
from telemetry.frame import Frame
from telemetry.model import Series

HEAD, TAIL = (Series(name, cluster.SCRAPE_SECONDS.name) for name in ("head", "tail"))
HOUR = 3600


def frame(seconds: list[float], tail: list[bool], gap_s: float = 2.5) -> Frame:
    """The head answers always, the tail where it is said."""
    ticks = np.array([round(second * 1000) for second in seconds], dtype=np.int64)
    values = np.where([[True] * len(tail), tail], 0.01, np.nan)
    at_ms = np.where(np.isnan(values), np.nan, ticks.astype(float))
    return Frame(ticks, (HEAD, TAIL), values, at_ms, np.zeros(values.shape, bool), np.array([2500.0, gap_s * 1000]))


def test_from_its_first_gap_on_until_it_answers() -> None:
    told = frame([0, 1, 3, 3.5, 3.6, 20, 21], [False, True, False, False, False, False, True])
    assert silent(told, ["head", "tail"], [], {}).tolist() == [False, False, False, False, True, True, False]
    assert not silent(told, ["head"], [], {}).any()
    rarely = frame([0, 1, 3, 3.5, 3.6, 20, 21], [False, True, False, False, False, False, True], gap_s=10)
    assert silent(rarely, ["tail"], [], {}).tolist() == [False, False, False, False, False, True, False]


def test_who_was_away_for_an_hour_is_gone() -> None:
    told = frame([0, 10, HOUR, HOUR + 0.1], [True, False, False, False])
    assert silent(told, ["tail"], [], {}).tolist() == [False, True, True, False]


def test_what_was_heard_of_it_before_the_samples_counts() -> None:
    told = frame([0, 10, 20], [False, False, True])
    assert silent(told, ["tail"], [], {}).tolist() == [False, False, False]
    assert silent(told, ["tail"], [], {"tail": -60_000.0}).tolist() == [True, True, False]
    assert silent(told, ["other"], [], {"other": -1000.0}).tolist() == [False, True, True], "it has no sample at all"


@pytest.mark.parametrize(
    ("reason", "unknown"),
    [
        ("stopped: nothing listens there", [False, True, False, True]),
        ("loading: it is not ready yet", [False, True, False, True]),
        ("restarting: nothing listens there", [False, True, False, True]),
        ("unreachable: no route", [False, True, True, True]),
    ],
)
def test_a_known_reason_ends_it(reason: str, unknown: list[bool]) -> None:
    told = frame([0, 9, 10, 20], [True, False, False, False])
    gone = Absence("tail", None, 10_000, 20_000, reason)
    assert silent(told, ["head", "tail"], [gone], {}).tolist() == unknown
    for other in (
        Absence("head", None, 10_000, 20_000, reason),
        Absence("tail", cluster.SCRAPE_SECONDS.name, 10_000, 20_000, reason),
    ):
        assert silent(told, ["head", "tail"], [other], {}).tolist() == [False, True, True, True]


def test_a_reason_that_goes_on() -> None:
    told = frame([0, 9, 10, 20], [True, False, False, False])
    gone = Absence("tail", None, 10_000, None, "stopped: nothing listens there")
    assert silent(told, ["tail"], [gone], {}).tolist() == [False, True, False, False]


def test_last_readings() -> None:
    told = frame([0, 1, 2, 3], [True, True, False, False])
    assert last_readings(told, 2_500) == {"head": 2000, "tail": 1000}
    assert last_readings(told, 0) == {"head": 0, "tail": 0}
    assert last_readings(told, -1) == {}
