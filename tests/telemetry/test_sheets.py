"""Long ranges of gauges are read at once, and worked on piece by piece: the same numbers."""

from __future__ import annotations

from itertools import pairwise

import pytest

from telemetry import near, reader
from telemetry.catalog import gpu
from telemetry.model import Metric, Ratio
from telemetry.summary import HOUR_MS
from tests.telemetry.hours import PER_HOUR, frame, question
from tests.telemetry.questions import one
from tests.telemetry.sources import InSheets
from tests.telemetry.test_reader import DAY, QUESTIONS, same, wave

LONG = [
    (one(gpu.GPU_POWER, gpu="0"), wave(30 * PER_HOUR)),
    (one(gpu.GPU_POWER, "n2", gpu="0"), [*[None] * (7 * PER_HOUR), *wave(15 * PER_HOUR, 4), *[None] * (8 * PER_HOUR)]),
    (one(gpu.GPU_POWER, "n3", gpu="0"), wave(30 * PER_HOUR, 9)),
]
CELLS, CACHED = 3 * 5 * PER_HOUR, 3 * 2 * PER_HOUR


@pytest.mark.parametrize("resolution", [{"points": 40}, {"points": 9000}, {"width_ms": 420_000}, {"points": 400}])
@pytest.mark.parametrize("targets", [None, frozenset(["n2", "n3"])])
def test_sheets_are_joined_to_what_one_reading_gives(
    resolution: dict[str, object], targets: frozenset[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "CELLS", CELLS)
    monkeypatch.setattr(reader, "CACHED", CACHED)
    source = InSheets(frame(dict(LONG)))
    query = question(gpu.GPU_POWER, 0.4, 28.7, **{"width_ms": None} | resolution, targets=targets)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms, query.end_ms), 10_000)
    source.read.clear()
    same(reader.read(query, source).lines, expected)
    pieces = list(source.read)
    assert [piece for ranges in source.given for piece in ranges] == pieces, "nothing but sheets"
    assert (pieces[0][0], pieces[-1][1]) == (query.start_ms, query.end_ms)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(pieces))
    assert all(start % HOUR_MS == 0 for start, _ in pieces[1:])
    sizes = [source.frame(query.stored(), *piece, query.sources()).values.size for piece in pieces]
    assert CACHED / 2 <= max(sizes) <= CACHED
    assert len(source.given) <= 2, "read at once"


@pytest.mark.parametrize(("metric", "more"), [some for some in QUESTIONS if some != (gpu.GPU_POWER, {})])
def test_only_gauges_as_they_were_stored_come_in_sheets(metric: Metric | Ratio, more: dict[str, object]) -> None:
    source = InSheets(frame(DAY))
    query = question(metric, 0.4, 4.4, width_ms=None, points=40, **more)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms), 10_000)
    same(reader.read(query, source).lines, expected)
    assert source.given == []


def test_an_hour_is_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CACHED", PER_HOUR)
    source = InSheets(frame(dict(LONG)))
    reader.read(question(gpu.GPU_POWER, 0, 3, width_ms=None, points=40), source)
    assert [end - start + 1 for start, end in source.read] == [HOUR_MS] * 4
