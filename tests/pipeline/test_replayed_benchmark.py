"""The recorded benchmark run, measured by our rules, against the truth read from it by independent means."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.window import Window
from telemetry import catalog, ratios
from telemetry.counters import active_windows, increase, trailing_increase
from telemetry.frame import Frame
from telemetry.histograms import bucket_increases, estimate
from telemetry.model import Metric, part
from tests.pipeline.replay import recording, replayed

START, END = recording()[0].sent_ms, recording()[-1].sent_ms


@pytest.fixture(params=["sent", "arrived"], scope="module")
def window(request: pytest.FixtureRequest) -> Window:
    return replayed(arrival=request.param == "arrived")


def frame(window: Window, metric: Metric) -> Frame:
    return window.frame([metric.name])


def total(window: Window, metric: Metric) -> float:
    return float(increase(frame(window, metric), START, END).sum())


def test_every_scrape_is_a_sample(window: Window) -> None:
    tokens = frame(window, catalog.engine.GENERATION_TOKENS)
    assert tokens.values.shape == (1, 191)
    assert not np.isnan(tokens.values).any()


def test_tokens_and_requests_are_exact(window: Window) -> None:
    assert total(window, catalog.engine.GENERATION_TOKENS) == 26_176
    assert total(window, catalog.engine.REQUESTS_FINISHED) == 260
    assert total(window, part(catalog.engine.E2E, "count")) == 260


def test_mean_while_decoding(window: Window) -> None:
    tokens = frame(window, catalog.engine.GENERATION_TOKENS)
    windows = active_windows(tokens.at_ms[0], tokens.values[0], pause_ms=10_000)
    assert len(windows) == 1
    start, end, gained = windows[0]
    assert gained == 26_176
    assert (end - start) / 1000 == pytest.approx(132.0, abs=0.5)
    assert gained / (end - start) * 1000 == pytest.approx(198.3, rel=0.005)


@pytest.mark.parametrize(("seconds", "peak"), [(1, 535), (10, 262)])
def test_peaks(window: Window, seconds: int, peak: float) -> None:
    gained = trailing_increase(frame(window, catalog.engine.GENERATION_TOKENS), seconds * 1000)
    assert np.nanmax(gained) / seconds == pytest.approx(peak, rel=0.02)


@pytest.mark.parametrize(
    ("ratio", "milliseconds", "within"),
    [
        (catalog.ratios.TPOT_MEAN, 11.05, 0.03),
        (catalog.ratios.E2E_MEAN, 1173, 0.005),
        (catalog.ratios.TTFT_MEAN, 71, 0.01),
        (catalog.ratios.ITL_MEAN, 11.08, 0.005),
    ],
)
def test_means(window: Window, ratio: ratios.Ratio, milliseconds: float, within: float) -> None:
    stored = window.frame(ratios.stored_names(ratio))
    assert ratios.over(ratio, stored, START, END) * 1000 == pytest.approx(milliseconds, rel=within)


@pytest.mark.parametrize(
    ("histogram", "q", "low", "high"),
    [
        (catalog.engine.TTFT, 0.5, 0.04, 0.06),
        (catalog.engine.TTFT, 0.95, 0.1, 0.25),
        (catalog.engine.ITL, 0.5, 0.0, 0.01),
        (catalog.engine.ITL, 0.95, 0.025, 0.05),
        (catalog.engine.E2E, 0.5, 0.8, 1.0),
        (catalog.engine.E2E, 0.95, 2.5, 5.0),
        (catalog.engine.TPOT, 0.5, 0.0, 0.01),
        (catalog.engine.TPOT, 0.95, 0.01, 0.025),
    ],
)
def test_percentiles_fall_into_their_buckets(
    window: Window, histogram: Metric, q: float, low: float, high: float
) -> None:
    buckets = bucket_increases(frame(window, part(histogram, "bucket")), START, END)
    total_s, count = (total(window, part(histogram, name)) for name in ("sum", "count"))
    found = estimate(buckets, total_s, count, q)
    assert found.value is not None
    assert low < found.value <= high
    assert found.relation == ("<" if low == 0 else "=")
    assert (found.kind, found.count) == ("percentile", count)
