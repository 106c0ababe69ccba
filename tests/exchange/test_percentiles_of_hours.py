"""Percentiles of whole hours in files: of one kind from the first row to the last."""

from __future__ import annotations

import numpy as np
import pytest

from exchange.extract import Export, extract
from telemetry import reader
from telemetry.catalog import engine
from telemetry.model import Series
from tests.telemetry.hours import PER_HOUR, frame, question
from tests.telemetry.sources import Memory

BUCKETS = [
    Series("e", "time_to_first_token_seconds_bucket", (("engine", "0"), ("le", edge), ("model", "m")))
    for edge in ("0.1", "1.0", "+Inf")
]
HOURS = 8


@pytest.fixture
def halves() -> Memory:
    """Hours of requests: five fast ones every 10 s in their first half, one slow one in their second."""
    second_half = np.arange(HOURS * PER_HOUR) % PER_HOUR >= PER_HOUR // 2
    fast, slow = np.cumsum(np.where(second_half, 0.0, 5.0)), np.cumsum(np.where(second_half, 1.0, 0.0))
    return Memory(frame(dict(zip(BUCKETS, ([*fast], [*(fast + slow)], [*(fast + slow)]), strict=True))))


@pytest.mark.parametrize("at_once", [168, 4, 1])
def test_they_are_of_all_that_a_bin_observed_however_the_range_is_cut(
    halves: Memory, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.extract.HOURS_AT_ONCE", at_once)
    monkeypatch.setattr("telemetry.reader.PATIENT_MS", 0.0)
    query = question(engine.TTFT, 0, HOURS - 1, quantile=0.95)
    (line,) = reader.read(query, halves).lines
    blocks = extract(Export((query,)), halves).blocks
    found = np.concatenate([block.groups[0].values[:, :, 0] for block in blocks], axis=1)
    assert line.values is not None
    assert np.round(line.values, 4).tolist() == [0.7312] + [0.73] * 7
    for part in ("min", "mean", "max", "last"):
        assert found[("min", "mean", "max", "last").index(part)].tolist() == line.values.tolist(), part
    assert found[4:].tolist() == [[0.0] * HOURS, [1075.0] + [1080.0] * 7]
