"""The recorded benchmark in a real store, over the end of an hour: the same answers before and after it is sealed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.window import Window
from storage.records import Batch, Row
from storage.store import Store, open_store
from telemetry import catalog, far, ratios
from telemetry.counters import active_windows, increase, trailing_increase
from telemetry.frame import Frame
from telemetry.histograms import bucket_increases, estimate
from telemetry.model import part
from telemetry.query import Query
from telemetry.summary import HOUR_MS, hour_of
from tests.pipeline.replay import TARGET, readings, recording, replayed

FIRST, LAST = int(recording()[0].sent_ms), int(recording()[-1].sent_ms)
MIDDLE = (FIRST + LAST) // 2
SHIFT = hour_of(MIDDLE) + HOUR_MS - MIDDLE
"""So much later the recording goes over the end of an hour in its middle: the run itself is cut in two."""
START, END, SEAM = FIRST + SHIFT, LAST + SHIFT, MIDDLE + SHIFT
NOW = END + 2 * HOUR_MS
TOKENS = catalog.engine.GENERATION_TOKENS.name
HISTOGRAMS = (catalog.engine.TTFT, catalog.engine.ITL, catalog.engine.E2E, catalog.engine.TPOT)
MEANS = (catalog.ratios.TPOT_MEAN, catalog.ratios.E2E_MEAN, catalog.ratios.TTFT_MEAN, catalog.ratios.ITL_MEAN)
Answers = dict[str, object]


@dataclass
class Kept:
    """Reads a store, or a window, in one and the same way."""

    source: Store | Window

    def frame(self, *names: str) -> Frame:
        if isinstance(self.source, Window):
            return self.source.frame(names)
        return self.source.frame(names, None, START - 60_000, END)

    def answers(self) -> Answers:
        """Tokens, mean while decoding, peaks, means and percentiles, as they are read from samples."""
        tokens = self.frame(TOKENS)
        ((began, ended, gained),) = active_windows(tokens.at_ms[0], tokens.values[0], pause_ms=10_000)
        found: Answers = {"samples": tokens.values.tolist(), "mean": gained / (ended - began) * 1000}
        at = (0, 2**62)
        found |= {"tokens": float(increase(tokens, *at).sum())}
        for seconds in (1, 10):
            found[f"peak {seconds}"] = np.nanmax(trailing_increase(tokens, seconds * 1000)) / seconds
        for ratio in MEANS:
            found[ratio.name] = ratios.over(ratio, self.frame(*ratios.stored_names(ratio)), *at)
        for metric in HISTOGRAMS:
            sums, counts = (increase(self.frame(part(metric, name).name), *at).sum() for name in ("sum", "count"))
            buckets = bucket_increases(self.frame(part(metric, "bucket").name), *at)
            found |= {f"{metric.name} {q}": estimate(buckets, sums, counts, q) for q in (0.5, 0.95, 0.99)}
        return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Every reading of the recording, a commit each, as the collector writes them."""
    opened = open_store(f"sqlite:///{tmp_path}/store.db", writer=True, now_ms=START)
    for one in readings():
        tick = one.tick + SHIFT
        layout = opened.layout(TARGET, one.series)
        row = Row(tick, TARGET, round(one.scrape.arrived_ms) + SHIFT, layout, one.values)
        offsets = [replace(step, tick=step.tick + SHIFT) for step in one.offsets]
        opened.commit(Batch(rows=[row], offsets=offsets), tick)
    yield opened
    opened.close()


def test_the_recording_lies_over_the_end_of_an_hour() -> None:
    assert START < SEAM < END
    assert SEAM % HOUR_MS == 0
    assert min(SEAM - START, END - SEAM) > 60_000


def test_the_same_answers_before_and_after_sealing(store: Store) -> None:
    expected = Kept(store).answers()
    assert expected["tokens"] == 26_176
    assert expected["mean"] == pytest.approx(198.3, rel=0.005)
    assert expected["peak 1"] == pytest.approx(535, rel=0.02)
    assert expected["peak 10"] == pytest.approx(262, rel=0.02)
    first, second = SEAM - HOUR_MS, SEAM
    for step in (
        lambda: store.seal(TARGET, first, NOW),
        lambda: store.prune(SEAM),
        lambda: store.seal(TARGET, second, NOW),
        lambda: store.prune(NOW),
    ):
        assert step()
        assert Kept(store).answers() == expected
    assert len(store.rows()) == 1, "all but the newest row is read from chunks"
    assert store.verify().faults == []


def test_they_are_those_of_the_window_in_memory(store: Store) -> None:
    """The tail of a live page, which was never stored: arrivals are whole milliseconds in the store."""
    for hour in (SEAM - HOUR_MS, SEAM):
        assert store.seal(TARGET, hour, NOW)
    sealed, live = Kept(store).answers(), Kept(replayed(arrival=True)).answers()
    assert sealed.keys() == live.keys()
    for name, value in live.items():
        assert sealed[name] == (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value), name


def test_summaries_tell_the_same_tokens_and_percentiles(store: Store) -> None:
    """Of the hours alone, without a sample: what both of them gained, and the percentiles of both together."""
    expected = Kept(store).answers()
    for hour in (SEAM - HOUR_MS, SEAM):
        assert store.seal(TARGET, hour, NOW)
    assert store.forget(NOW) == 2
    found = store.summaries([TOKENS], None, START, END)
    assert found.hours.tolist() == [SEAM - HOUR_MS, SEAM]
    assert found.last[0, 1] - found.first[0, 0] == expected["tokens"]
    assert found.gain.sum() == expected["tokens"]
    for metric in HISTOGRAMS:
        name = part(metric, "bucket").name
        for q in (0.5, 0.95, 0.99):
            wanted = expected[f"{metric.name} {q}"]
            query = Query(metric, START, END, points=1, quantile=q)
            (line,) = far.answer(query, store.summaries([name], None, START, END))
            shown = line.values[0]  # type: ignore[index]
            assert line.count[0] == wanted.count  # type: ignore[index, attr-defined]
            if wanted.kind == "percentile":  # type: ignore[attr-defined]
                assert shown == pytest.approx(wanted.value)  # type: ignore[attr-defined]
