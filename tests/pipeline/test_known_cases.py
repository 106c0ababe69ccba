"""Known wrong answers of other tools, from pages to numbers."""

from __future__ import annotations

import numpy as np
import pytest

from collectors.scrape.text import PageReader
from pipeline.ingest import Ingest
from pipeline.window import Window
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.catalog import ratios as quotients
from telemetry.counters import active_windows, increase, trailing_increase
from telemetry.histograms import Estimate, bucket_increases, estimate, window_start
from telemetry.model import part
from tests.scrape.recordings import case

SECOND = 1000


def window_of(pages: dict[int, bytes | None], interval_s: int) -> Window:
    """Pages by second through reader, ingest and window; None is a scrape that failed."""
    reader, ingest, window = PageReader("head"), Ingest("head"), Window(3_600_000)
    window.set_intervals({"head": interval_s * SECOND})
    for second, body in pages.items():
        if body is None:
            continue
        page = reader.read(body)
        reading = ingest.take(page, second * SECOND)
        window.add("head", second * SECOND, float(second * SECOND), page.layout.series, reading.values)
        window.add_steps((one.series, one.tick, one.reason) for one in reading.offsets)
    return window


@pytest.fixture(scope="module")
def blip() -> Window:
    line = 'vllm:generation_tokens_total{{engine="0",model_name="m"}} {}\n'
    seconds = range(0, 42, 2)
    failed = (8, 10, 12)
    return window_of({at: None if at in failed else line.format(5_000_100 + 50 * at).encode() for at in seconds}, 2)


class TestScrapeBlip:
    """50 tokens/s; the scrapes at 8, 10 and 12 s fail, and the one at 14 s brings 400 tokens at once."""

    def test_the_gap_is_missing_not_zero(self, blip: Window) -> None:
        frame = blip.frame([engine.GENERATION_TOKENS.name])
        assert [tick // SECOND for tick in frame.ticks.tolist()][:6] == [0, 2, 4, 6, 14, 16]

    @pytest.mark.parametrize("window_s", [2, 5, 10])
    def test_no_rate_is_above_the_true_one(self, blip: Window, window_s: int) -> None:
        frame = blip.frame([engine.GENERATION_TOKENS.name])
        rates = ratios.evaluate(quotients.DECODE_TPS, frame, lambda _: (), window_s * 1000.0)[()]
        assert np.nanmax(rates) == pytest.approx(50)
        assert np.isnan(rates[frame.ticks == 14 * SECOND]).all()

    def test_the_tokens_of_the_gap_are_in_the_total(self, blip: Window) -> None:
        frame = blip.frame([engine.GENERATION_TOKENS.name])
        assert increase(frame, 0, 40 * SECOND).tolist() == [2000]
        assert active_windows(frame.at_ms[0], frame.values[0], 10 * SECOND) == [(0, 40_000, 2000)]

    def test_no_peak_is_taken_from_it(self, blip: Window) -> None:
        frame = blip.frame([engine.GENERATION_TOKENS.name])
        assert np.nanmax(trailing_increase(frame, 10_000)) == 500


@pytest.fixture(scope="module")
def lifetime() -> Window:
    names = {0: "t000", 300: "t300", 600: "t600_idle"}
    return window_of({at: case(f"C02_lifetime_p95/{name}.txt") for at, name in names.items()}, 300)


class TestLifetimePercentile:
    """200 slow requests before we looked, 100 of 0.1 to 0.5 s in the window of 300 s, then none."""

    def estimate(self, window: Window, now_s: int) -> Estimate:
        count = window.frame([part(engine.TTFT, "count").name], end_ms=now_s * SECOND)
        start, end = window_start(count, now_s * SECOND), now_s * SECOND
        assert end - start == 300 * SECOND
        buckets = bucket_increases(window.frame([part(engine.TTFT, "bucket").name]), start, end)
        total = increase(window.frame([part(engine.TTFT, "sum").name]), start, end).sum()
        return estimate(buckets, float(total), float(increase(count, start, end).sum()), 0.95)

    def test_the_window_tells_of_what_happened_in_it(self, lifetime: Window) -> None:
        assert self.estimate(lifetime, 300) == Estimate(pytest.approx(0.48), "=", "percentile", 100)

    def test_an_idle_window_tells_nothing(self, lifetime: Window) -> None:
        count = lifetime.frame([part(engine.TTFT, "count").name])
        buckets = bucket_increases(lifetime.frame([part(engine.TTFT, "bucket").name]), 300 * SECOND, 600 * SECOND)
        gained = float(increase(count, 300 * SECOND, 600 * SECOND).sum())
        assert gained == 0
        assert estimate(buckets, 0.0, gained, 0.95).value is None


@pytest.fixture(scope="module")
def sticky() -> Window:
    pages = {0: case("C12_sglang/t0_busy.txt"), 60: case("C12_sglang/t60_idle_sticky.txt")}
    return window_of(pages, 60)


class TestStickyThroughput:
    """SGLang's own throughput gauge keeps its last value when idle; its counter tells the truth."""

    def test_the_mean_is_from_the_counter(self, sticky: Window) -> None:
        frame = sticky.frame([engine.GENERATION_TOKENS.name])
        assert ratios.over(quotients.DECODE_TPS, frame, 0, 60 * SECOND) == pytest.approx(36.2)

    def test_tokens_of_a_minute_are_no_rate_of_ten_seconds(self, sticky: Window) -> None:
        frame = sticky.frame([engine.GENERATION_TOKENS.name])
        assert np.isnan(ratios.evaluate(quotients.DECODE_TPS, frame, lambda _: ())[()]).all()

    def test_the_gauge_and_what_qualifies_it_are_both_kept(self, sticky: Window) -> None:
        frame = sticky.frame([engine.REPORTED_THROUGHPUT.name, engine.REQUESTS_RUNNING.name])
        rows = {series.metric: row.tolist() for series, row in zip(frame.series, frame.values, strict=True)}
        assert rows == {engine.REPORTED_THROUGHPUT.name: [36.2, 36.2], engine.REQUESTS_RUNNING.name: [1.0, 0.0]}

    def test_names_with_underscores_say_the_same(self) -> None:
        page = PageReader("head").read(case("C12_sglang/underscore_names.txt"))
        values = {series.metric: value for series, value in zip(page.layout.series, page.raw.tolist(), strict=True)}
        assert values[engine.GENERATION_TOKENS.name] == 1000
        assert values[engine.REPORTED_THROUGHPUT.name] == 36.2
        assert values[engine.REQUESTS_RUNNING.name] == 1
