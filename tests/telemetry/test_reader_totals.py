"""Totals of counters, read in slices and at once."""

from __future__ import annotations

import pytest

from telemetry import near, reader
from telemetry.catalog import engine
from tests.telemetry.hours import PER_HOUR, frame, linear, question
from tests.telemetry.questions import one
from tests.telemetry.sources import Memory
from tests.telemetry.test_reader import DAY, TOKENS, same


@pytest.mark.parametrize("end", [-0.5, 0.5, 1.0, 1.05, 1.3, 2.0])
def test_a_total_is_of_those_that_come_in_its_range(end: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that begins after 2 h 5 min stands at its first value before, and only if it comes."""
    monkeypatch.setattr(reader, "CELLS", 100)
    monkeypatch.setattr(reader, "SHORT_MS", 0)
    late = [*[None] * (2 * PER_HOUR + 30), *linear(5, 4 * PER_HOUR - 30, 7_000)]
    source = Memory(frame({TOKENS: DAY[TOKENS], one(engine.GENERATION_TOKENS, "late"): late}))
    query = question(engine.GENERATION_TOKENS, 0, end, total=True, width_ms=None, points=9)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms, query.end_ms), 10_000)
    assert len(reader.slices(query, source)) > 1
    same(reader.read(query, source).lines, expected)
