"""Totals of counters, read in slices and at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry import near, reader
from telemetry.catalog import engine
from telemetry.counters import increase
from telemetry.summary import HOUR_MS
from tests.telemetry.hours import PER_HOUR, frame, linear, question
from tests.telemetry.questions import one
from tests.telemetry.sources import Memory
from tests.telemetry.test_reader import DAY, TOKENS, same


@pytest.mark.parametrize("end", [-0.5, 0.5, 1.0, 1.05, 1.3, 2.0])
def test_a_total_is_of_those_that_come_in_its_range(end: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that begins after 2 h 5 min stands at its first value before, and only if it comes."""
    monkeypatch.setattr(reader, "CELLS", 50)
    monkeypatch.setattr(reader, "SHORT_MS", 0)
    late = [*[None] * (2 * PER_HOUR + 30), *linear(5, 4 * PER_HOUR - 30, 7_000)]
    source = Memory(frame({TOKENS: DAY[TOKENS], one(engine.GENERATION_TOKENS, "late"): late}))
    query = question(engine.GENERATION_TOKENS, 0, end, total=True, width_ms=None, points=9)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms, query.end_ms), 10_000)
    assert len(reader.slices(query, source)) > 1
    same(reader.read(query, source).lines, expected)


COUNTS = st.lists(st.none() | st.integers(0, 50), min_size=60, max_size=60)


@settings(max_examples=25, deadline=None)
@given(st.lists(COUNTS, min_size=1, max_size=3), st.integers(1, 59), st.sampled_from([0.0, 1e9]))
def test_increases_over_any_split_add_up(steps: list[list[int | None]], cut: int, patience: float) -> None:
    """The total at the end of each part, less that before, is what its members gained there: from samples and hours."""
    rows = {
        one(engine.GENERATION_TOKENS, f"e{number}"): [
            None if step is None else float(sum(s or 0 for s in row[: place + 1])) for place, step in enumerate(row)
        ]
        for number, row in enumerate(steps)
    }
    samples = frame(rows, at_s=[360.0 * number for number in range(60)])
    source = Memory(samples)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "SWIFT_MS", patience)
        patch.setattr(reader, "PATIENT_MS", patience)
        found = reader.read(question(engine.GENERATION_TOKENS, 0, 5, total=True), source)
    for line in found.lines:
        known = np.flatnonzero(~np.isnan(line.last))  # type: ignore[arg-type]
        ends = [int(line.t_ms[place]) + HOUR_MS - 1 for place in known]
        for at, (start, end) in enumerate(pairwise(ends)):
            gained = float(np.nansum(increase(samples, start, end)))
            middle = start + (end - start) * cut // 60
            parts = [float(np.nansum(increase(samples, *part))) for part in ((start, middle), (middle, end))]
            assert sum(parts) == pytest.approx(gained)
            if found.resolution == "hours":
                assert line.last[known[at + 1]] - line.last[known[at]] == pytest.approx(gained)  # type: ignore[index]
