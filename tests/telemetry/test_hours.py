"""Summaries of a query's hours, while the collector goes on sealing them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from telemetry import far, hours
from telemetry.catalog import gpu
from telemetry.frame import Frame
from telemetry.grid import MEASURES
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries
from tests.telemetry.hours import FIRST_MS, PER_HOUR, frame, question
from tests.telemetry.sources import InSheets, Memory

A, B = (Series(target, gpu.GPU_POWER.name, (("gpu", "0"),)) for target in "ab")


class Sealing(Memory):
    """The first answer has the last hour without the targets that are not sealed yet; the next one has them."""

    late: tuple[Series, ...] = ()

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        found = super().summaries(metrics, start_ms, end_ms, targets)
        for series in self.late:
            row = found.series.index(series)
            for name in MEASURES:
                getattr(found, name)[row, -1] = 0.0 if name == "count" else np.nan
        self.late = ()
        return found


@pytest.mark.parametrize("late", [(B,), (A, B), ()])
def test_what_is_sealed_while_it_is_read_is_there(late: tuple[Series, ...]) -> None:
    source = Sealing(frame({A: [100.0] * (3 * PER_HOUR), B: [200.0] * (3 * PER_HOUR)}))
    query = question(gpu.GPU_POWER, 0, 2, total=True)
    source.late = late
    known = hours.complete(query, source, hours.sealed(query, source))
    (line,) = far.answer(query, known.summaries, known.until_ms)
    assert line.t_ms.tolist() == [FIRST_MS + hour * HOUR_MS for hour in range(3)]
    assert line.mean is not None
    assert line.mean.tolist() == [300.0] * 3


class Counting(Memory):
    """Counts questions for summaries."""

    asked = 0

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        self.asked += 1
        return super().summaries(metrics, start_ms, end_ms, targets)


def test_nothing_is_asked_again_where_both_were_asked_in_one_state() -> None:
    source = Counting(frame({A: [100.0] * (3 * PER_HOUR)}), unsealed=[FIRST_MS + 2 * HOUR_MS])
    query = question(gpu.GPU_POWER, 0, 2)
    found, unsealed = hours.sealed(query, source), source.unsealed(query.start_ms, query.end_ms)
    known = hours.complete(query, source, found, unsealed)
    assert (source.asked, known.summaries.hours.tolist()) == (1, [FIRST_MS + hour * HOUR_MS for hour in range(3)])
    hours.complete(query, source, found)
    assert source.asked == 2, "it may have been sealed meanwhile"
    source.open = []
    assert hours.complete(query, source, found).summaries.hours.tolist()[-1] == FIRST_MS + 2 * HOUR_MS
    assert hours.complete(query, source, found, unsealed).summaries.hours.tolist()[-1] == FIRST_MS + 2 * HOUR_MS
    assert source.asked == 3, "the last hour was sealed meanwhile, and is among the others"


class InSheetsAlone(InSheets):
    """One whose frames nobody needs."""

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        assert self.given, "no frame is asked for"
        return super().frame(metrics, start_ms, end_ms, targets)


@pytest.mark.parametrize("total", [False, True])
def test_open_hours_of_gauges_are_read_in_sheets(*, total: bool) -> None:
    rows = {
        A: [100.0 + place for place in range(3 * PER_HOUR - 40)],
        B: [None if place % 7 else 50.0 + place for place in range(3 * PER_HOUR - 40)],
    }
    open_hours = [FIRST_MS + HOUR_MS, FIRST_MS + 2 * HOUR_MS]
    query = question(gpu.GPU_POWER, 0, 2, total=total)
    plain = Memory(frame(rows), unsealed=open_hours)
    source = InSheets(frame(rows), unsealed=open_hours) if total else InSheetsAlone(frame(rows), unsealed=open_hours)
    mine, right = (hours.complete(query, one, hours.sealed(query, one)) for one in (source, plain))
    assert source.given == ([] if total else [[(hour, hour + HOUR_MS - 1)] for hour in open_hours])
    assert mine.until_ms == right.until_ms == FIRST_MS + (3 * PER_HOUR - 41) * 10_000
    for one, other in zip(
        *(far.answer(query, known.summaries, known.until_ms) for known in (mine, right)), strict=True
    ):
        for name in ("t_ms", "minimum", "maximum", "mean", "last"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
