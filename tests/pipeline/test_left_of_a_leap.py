"""A collector goes on from what was recorded up to now, not from rows of a clock that had leapt into another year."""

from __future__ import annotations

from pathlib import Path

from pipeline.resume import left_of
from storage.records import Batch, Offset, Row
from storage.store import open_store
from telemetry.counters import Step
from telemetry.model import Series

NOW, YEAR_MS, DAY_MS = 1_796_000_000_000, 365 * 86_400_000, 86_400_000
TOKENS = Series("e", "generation_tokens_total", (("engine", "0"), ("model", "m")))


def test_what_was_left_up_to_now(tmp_path: Path) -> None:
    """100 by then; one that began anew in the other year, and once more since."""
    store = open_store(str(tmp_path / "leap.db"), writer=True, now_ms=NOW)
    layout = store.layout("e", (TOKENS,))
    written = ((NOW, 100.0, 0.0), (NOW + YEAR_MS, 130.0, 100.0), (NOW + 5_000, 180.0, 130.0))
    for tick, value, offset in written:
        step = Offset("e", TOKENS.metric, TOKENS.labels, tick, offset, Step.RESTART.value)
        store.commit(Batch(rows=[Row(tick, "e", tick, layout, [value])], offsets=[step]), tick)
    rows = store.last_rows(NOW + DAY_MS)
    assert {name: row.tick for name, row in rows.items()} == {"e": NOW + 5_000}
    assert store.last_rows()["e"].tick == NOW + YEAR_MS
    assert left_of(store, "e", rows["e"], NOW + DAY_MS).counters == {TOKENS: (180.0, 130.0)}
    assert store.last_rows(NOW - 1) == {}
    store.close()
