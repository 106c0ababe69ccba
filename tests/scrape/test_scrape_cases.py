"""Known wrong answers of other tools, read by ours: each page twice, the second time through the cache."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from collectors.scrape.page import Page
from collectors.scrape.text import PageReader
from tests.scrape.recordings import DATA, case, per_engine, total

EXPECTED = json.loads((DATA / "cases" / "expected.json").read_text())


def read_twice(name: str) -> list[Page]:
    reader = PageReader("head")
    pages = [reader.read(case(name)) for _ in range(3)]
    reader.read(case(name) + b"# one line more\n")
    return [*pages, reader.read(case(name))]


def test_c03_two_engines_are_not_added_up() -> None:
    for page in read_twice("C03_dp_gauges/metrics.txt"):
        assert per_engine(page, "kv_cache_usage_ratio") == EXPECTED["C03_dp_gauges"]["kv_usage_per_engine"]
        assert total(page, "requests_running") == EXPECTED["C03_dp_gauges"]["requests_running"]


@pytest.mark.parametrize("file", ["both_during_deprecation.txt", "v0.10.txt", "v0.13plus.txt"])
def test_c05_renamed_metrics_count_once(file: str) -> None:
    for page in read_twice(f"C05_renames/{file}"):
        assert total(page, "kv_cache_usage_ratio") == EXPECTED["C05_renames"]["all_three"]["kv"]
        hits, queries = total(page, "prefix_cache_hits_total"), total(page, "prefix_cache_queries_total")
        assert hits / queries == EXPECTED["C05_renames"]["all_three"]["prefix_hit"]  # type: ignore[operator]
        assert (hits, queries) == (400, 1000), "not twice during the deprecation"
        assert len(page.layout.lines) == len(page.layout.series)
        if file != "both_during_deprecation.txt":
            mean = total(page, "inter_token_latency_seconds_sum") / total(page, "inter_token_latency_seconds_count")  # type: ignore[operator]
            assert mean == EXPECTED["C05_renames"]["first_two"]["itl_mean_s"]


def test_c06_text_format() -> None:
    for page in read_twice("C06_text_format/metrics.txt"):
        assert total(page, "kv_cache_usage_ratio") == EXPECTED["C06_text_format"]["kv"]
        assert math.isnan(total(page, "requests_running") or 0.0), "unknown, not 0"
        assert total(page, "generation_tokens_total") is None, "_created is no token counter"
        assert page.started_s == 1.75e9, "it is only a start time"
        assert {series.label("model") for series in page.layout.series} == {'a}b"c'}
        assert page.layout.dropped_families == 1
        assert page.bad_lines == 0


def test_c12_sglang() -> None:
    for page in read_twice("C12_sglang/t0_busy.txt"):
        assert page.layout.engine == "sglang"
        assert total(page, "reported_throughput_tokens_per_second") == 36.2
        assert (total(page, "requests_running"), total(page, "generation_tokens_total")) == (1, 1000)
        assert total(page, "kv_cache_usage_ratio") == 0.04
    idle = read_twice("C12_sglang/t60_idle_sticky.txt")[0]
    assert (total(idle, "requests_running"), total(idle, "generation_tokens_total")) == (0, 3172)


def test_c12_underscore_names_say_the_same() -> None:
    colon = PageReader("head").read(case("C12_sglang/t0_busy.txt"))
    underscore = PageReader("head").read(case("C12_sglang/underscore_names.txt"))
    values = dict(zip(colon.layout.series, colon.values().tolist(), strict=True))
    assert underscore.layout.engine == "sglang"
    assert len(underscore.layout.series) == 3
    for series, value in zip(underscore.layout.series, underscore.values().tolist(), strict=True):
        assert values[series] == value


def test_c02_bucket_increases() -> None:
    reader = PageReader("head")
    before, after, idle = (reader.read(case(f"C02_lifetime_p95/{name}.txt")) for name in ("t000", "t300", "t600_idle"))
    assert before.layout is after.layout is idle.layout
    gained = dict(zip(after.layout.series, (after.raw - before.raw).tolist(), strict=True))
    assert [value for series, value in gained.items() if series.metric == "time_to_first_token_seconds_bucket"] == [
        0.0,
        *[100.0] * 8,
    ]
    np.testing.assert_array_equal(idle.raw[4:], after.raw[4:])
