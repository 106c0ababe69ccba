"""What a collector that begins finds of its counters in the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.resume import STARTED_FACT, Left, left_of
from storage.records import Batch, Fact, Offset, Row
from storage.store import open_store
from telemetry.model import Series

NOW = 1_796_000_400_000
NAN = float("nan")
TOKENS, PROMPT, RUNNING, QUEUE = (
    Series("e", name, (("engine", "0"),))
    for name in ("generation_tokens_total", "prompt_tokens_total", "requests_running", "preemptions_total")
)


@pytest.mark.parametrize("sealed", [False, True])
def test_a_counter_without_a_number_in_the_newest_row_goes_on_from_its_last_one(tmp_path: Path, sealed: bool) -> None:
    """Its place on the page was there, or was not; and one has never had a number."""
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    wide, narrow = (TOKENS, PROMPT, RUNNING, QUEUE), (TOKENS, RUNNING)
    rows = [
        Row(NOW, "e", NOW + 5, store.layout("e", wide), [70.0, 500.0, 1.0, NAN]),
        Row(NOW + 1000, "e", NOW + 1005, store.layout("e", wide), [90.0, 510.0, 1.0, NAN]),
        Row(NOW + 2000, "e", NOW + 2005, store.layout("e", narrow), [NAN, 2.0]),
    ]
    steps = [Offset("e", one.metric, one.labels, NOW, -30.0, "first sample") for one in (TOKENS, PROMPT, QUEUE)]
    facts = [Fact("e", STARTED_FACT, "12.500", NOW, NOW + 500), Fact("e", STARTED_FACT, "99.250", NOW + 500)]
    store.commit(Batch(rows=rows, offsets=steps, facts=facts), NOW)
    if sealed:
        assert store.seal("e", NOW, NOW + 2 * 3_600_000)
    found = left_of(store, "e", store.last_rows()["e"])
    assert found == Left({TOKENS: (90.0, -30.0), PROMPT: (510.0, -30.0)}, 99.25, NOW + 1000)
    assert left_of(store, "e", None) == Left({}, None, float("-inf"))
    store.close()
