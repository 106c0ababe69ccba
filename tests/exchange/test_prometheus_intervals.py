"""How often the source has scraped, as an hour of its samples tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exchange.prometheus.client import Samples
from exchange.prometheus.hours import DEFAULT_INTERVAL_MS, Reader
from exchange.prometheus.names import ENGINE
from exchange.prometheus.pages import Pages
from exchange.prometheus.scrapes import Place, Scrape
from pipeline.ingest import Ingest
from telemetry.summary import HOUR_MS

HOUR = 1_796_000_400_000
RUNNING = "vllm:num_requests_running"
FAMILIES = frozenset({"requests_running"})


def reader(t_ms: Sequence[int]) -> Reader:
    """Of an engine's page that was scraped then."""

    def ask(_scrape: Scrape, start: int, end: int) -> list[Samples]:
        inside = np.array([at for at in t_ms if start <= at < end], dtype=np.int64)
        labels = {"__name__": RUNNING, "engine": "0", "model_name": "m", "job": "vllm", "instance": "head:8000"}
        return [Samples(labels, inside, np.ones(len(inside)))] if len(inside) else []

    scrape = Scrape(Place("vllm", "head:8000"), ENGINE, "head", frozenset({RUNNING}), FAMILIES, {})
    return Reader(scrape, ask, Ingest("head"), Pages("head", ENGINE, FAMILIES, {}))


def test_it_is_the_usual_time_between_two_whatever_is_missing() -> None:
    """Every 30 s, with a hole of ten minutes, and three close together where it was started anew."""
    ticks = [HOUR + second * 1000 for second in (*range(0, 1200, 30), 1201, 1202, *range(1800, 3600, 30))]
    ours = reader(ticks)
    part = ours.hour(HOUR)
    assert part.ticks == ticks
    assert ours.interval_ms == 30_000


def test_an_hour_of_one_sample_says_nothing_of_it() -> None:
    ours = reader([HOUR, HOUR + 10_000, HOUR + 20_000, HOUR + HOUR_MS, HOUR + 5 * HOUR_MS])
    found = []
    for hour in (HOUR + 5 * HOUR_MS, HOUR, HOUR + HOUR_MS, HOUR + 2 * HOUR_MS):
        ours.hour(hour)
        found.append(ours.interval_ms)
    assert found == [DEFAULT_INTERVAL_MS, 10_000, 10_000, 10_000]
