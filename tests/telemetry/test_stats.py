"""Least, mean, largest and last of a stretch: the same as one bin over all of it, whatever was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry import reader
from telemetry.catalog import engine, gpu, ratios
from telemetry.model import Kind, Metric, Ratio, part
from telemetry.query import Line, Query
from telemetry.stats import Stats, stats
from telemetry.summary import HOUR_MS
from tests.telemetry.hours import PER_HOUR, frame, linear, question
from tests.telemetry.questions import one
from tests.telemetry.sources import Memory
from tests.telemetry.test_reader import DAY, QUESTIONS

NAN = float("nan")


def numbers(found: Stats) -> list[float]:
    return [found.minimum, found.mean, found.maximum, found.last]


def bin_of(line: Line) -> list[float]:
    values = (line.minimum, line.mean, line.maximum, line.last)
    return [float(value[0]) for value in values if value is not None]


@pytest.mark.parametrize("points", [40, 5000])
@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_of_samples(metric: Metric | Ratio, more: dict[str, object], points: int) -> None:
    source = Memory(frame(DAY))
    asked = {"width_ms": None} | more
    found = reader.read(question(metric, 0.4, 2.4, points=points, **asked), source, told=True)
    whole = reader.read(question(metric, 0.4, 2.4, points=1, **asked), source).lines
    assert len(found.lines) == len(found.stats) == len(whole)
    counts = metric.kind is Kind.COUNTER and "rate" not in more
    for told, line in zip(found.stats, whole, strict=True):
        low, mean, high, last = bin_of(line)
        assert numbers(told) == pytest.approx([low, NAN if counts else mean, high, last], rel=1e-12, nan_ok=True)


def test_a_slow_mean_is_that_of_the_samples() -> None:
    """Bins of 3, 3 and 1 samples weigh as many."""
    source = Memory(frame({one(gpu.GPU_POWER, gpu="0"): [1.0, 1.0, 1.0, 4.0, 4.0, None, 10.0]}))
    found = reader.read(question(gpu.GPU_POWER, 0, 0.1, width_ms=30_000), source, told=True)
    assert numbers(found.stats[0]) == [1.0, 3.5, 10.0, 10.0]


@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_of_hours(metric: Metric | Ratio, more: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PATIENT_MS", -1.0)
    monkeypatch.setattr(reader, "SWIFT_MS", -1.0)
    source = Memory(frame(DAY))
    asked = {"width_ms": None} | more
    found = reader.read(question(metric, 0, 5, points=5, **asked), source, told=True)
    whole = reader.read(question(metric, 0, 5, points=1, **asked), source)
    assert (found.resolution, len(found.stats)) == ("hours", len(found.lines))
    counts = metric.kind is Kind.COUNTER and "rate" not in more
    for told, line in zip(found.stats, whole.lines, strict=True):
        low, mean, high, last = bin_of(line)
        assert numbers(told) == pytest.approx([low, NAN if counts else mean, high, last], nan_ok=True)


def test_of_percentiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an hour in which most lie below the first edge, and one in which most lie above the last."""
    low = {"1": 9.0, "4": 9.0, "+Inf": 9.0}
    rows = {}
    for edge, rate in low.items():
        first = linear(rate / 10, PER_HOUR)
        grow = 9.0 if edge == "+Inf" else 0.1
        assert first[-1] is not None
        rows[one(part(engine.TTFT, "bucket"), "head", le=edge)] = [*first, *linear(grow / 10, PER_HOUR, first[-1] + 1)]
    source = Memory(frame(rows))
    for points in (7, 5000):
        query = question(engine.TTFT, 0.4, 0.9, width_ms=None, points=points)
        (told,) = reader.read(query, source, told=True).stats
        assert (told.minimum, told.maximum, told.relation, told.last_relation) == (1.0, 4.0, ">", ">")
        assert np.isnan(told.mean)
        (early,) = reader.read(question(engine.TTFT, 0.4, -0.1, width_ms=None, points=points), source, told=True).stats
        assert (early.maximum, early.relation, early.last_relation) == (1.0, "<", "<")
    monkeypatch.setattr(reader, "PATIENT_MS", -1.0)
    monkeypatch.setattr(reader, "SWIFT_MS", -1.0)
    monkeypatch.setattr(reader, "SHORT_MS", 0)
    found = reader.read(question(engine.TTFT, 0, 1, width_ms=None, points=9), source, told=True)
    (told,) = found.stats
    assert (found.resolution, told.minimum, told.maximum, told.relation, told.last_relation) == (
        "hours",
        1.0,
        4.0,
        ">",
        ">",
    )


def test_the_last_of_a_bin_may_lie_elsewhere_than_its_largest() -> None:
    line = Line({}, np.array([0]), None, *[np.array([2.0])] * 4, relation=(">",), last_side=np.array([0.0]))
    told = stats(Query(engine.TTFT, 0, 9, points=1), line)
    assert (told.relation, told.last_relation) == (">", "=")


def test_of_nothing_nothing_is_known() -> None:
    line = Line({}, np.arange(2), np.array([NAN, NAN]))
    assert np.isnan(numbers(stats(Query(gpu.GPU_POWER, 0, 9), line))).all()


def test_one_bin_over_more_than_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CELLS", 300)
    monkeypatch.setattr(reader, "SHORT_MS", 0)
    for metric, more in QUESTIONS:
        asked = {"width_ms": None, "points": 1} | more
        source = Memory(frame(DAY))
        found = reader.read(question(metric, 0.4, 4.4, **asked), source).lines
        assert len(source.read) > 3
        assert max(end - start for start, end in source.read) < HOUR_MS + 400_000
        monkeypatch.setattr(reader, "CELLS", 10**9)
        whole = reader.read(question(metric, 0.4, 4.4, **asked), source).lines
        monkeypatch.setattr(reader, "CELLS", 300)
        assert [bin_of(line) for line in found] == [pytest.approx(bin_of(line), nan_ok=True) for line in whole]
    assert ratios.DECODE_TPS in [metric for metric, _ in QUESTIONS]
