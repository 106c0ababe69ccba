"""Every recorded page equals what an independent script read from it, the first time and through the cache."""

from __future__ import annotations

import numpy as np
import pytest

from collectors.scrape.page import Page
from collectors.scrape.text import PageReader
from tests.scrape.recordings import buckets, history, pages, per_engine, total, truths

TOTALS = {
    "generation_tokens": "generation_tokens_total",
    "prompt_tokens": "prompt_tokens_total",
    "prompt_tokens_computed": "prompt_tokens_computed_total",
    "prompt_tokens_cached": "prompt_tokens_cached_total",
    "running": "requests_running",
    "waiting": "requests_waiting",
    "requests_finished": "requests_finished_total",
    "preemptions": "preemptions_total",
}
HISTOGRAMS = {
    "ttft": "time_to_first_token_seconds",
    "itl": "inter_token_latency_seconds",
    "e2e": "e2e_latency_seconds",
}
PER_ENGINE = {
    "gen": "generation_tokens_total",
    "prompt": "prompt_tokens_total",
    "computed": "prompt_tokens_computed_total",
    "cached": "prompt_tokens_cached_total",
    "drafts": "speculative_drafts_total",
    "draft_tokens": "speculative_draft_tokens_total",
    "accepted": "speculative_accepted_tokens_total",
    "fin": "requests_finished_total",
    "preempt": "preemptions_total",
    "running": "requests_running",
    "waiting": "requests_waiting",
}
SINCE_0_16 = {"computed", "cached"}


def twice(name: str) -> list[Page]:
    """The page read for the first time, unchanged again, and line by line through the cache."""
    body = pages()[name]
    reader = PageReader("head")
    first, second = reader.read(body), reader.read(body)
    reader.read(body + b"\n# a comment makes the page another one\n")
    return [first, second, reader.read(body)]


def compare(page: Page, truth: dict[str, object]) -> None:
    for key, metric in TOTALS.items():
        if key in truth:
            assert total(page, metric) == truth[key], key
    if "kv_usage_per_engine" in truth:
        usage = per_engine(page, "kv_cache_usage_ratio")
        assert [usage[engine] for engine in sorted(usage)] == truth["kv_usage_per_engine"]
        assert len(usage) == truth["engines"]
    if "models" in truth:
        assert page.layout.facts["model"].split(", ") == truth["models"]
        assert {series.label("model") for series in page.layout.series} == set(truth["models"])  # type: ignore[call-overload]
    for key, metric in HISTOGRAMS.items():
        compare_histogram(page, truth, key, metric)
    compare_speculation(page, truth)


def compare_histogram(page: Page, truth: dict[str, object], key: str, metric: str) -> None:
    if f"{key}_count" not in truth:
        return
    count, summed = total(page, f"{metric}_count"), total(page, f"{metric}_sum")
    assert count == truth[f"{key}_count"]
    assert summed / count == pytest.approx(truth[f"{key}_mean_s_lifetime"], abs=1e-6)
    for quantile, name in ((0.5, "p50"), (0.95, "p95")):
        low, high = truth[f"{key}_{name}_lifetime"]["between"]  # type: ignore[index]
        edges = buckets(page, metric)
        place = next(place for place, (_, below) in enumerate(edges) if below >= quantile * count)
        assert (edges[place - 1][0] if place else 0.0) == low
        assert edges[place][0] == (np.inf if high is None else high)


def compare_speculation(page: Page, truth: dict[str, object]) -> None:
    if "acceptance_rate_lifetime" not in truth:
        return
    accepted = total(page, "speculative_accepted_tokens_total")
    proposed, drafts = total(page, "speculative_draft_tokens_total"), total(page, "speculative_drafts_total")
    assert accepted / proposed == pytest.approx(truth["acceptance_rate_lifetime"], abs=1e-6)
    assert 1 + accepted / drafts == pytest.approx(truth["mean_accepted_length_lifetime"], abs=1e-6)
    assert total(page, "speculative_accepted_by_position_total") == accepted


@pytest.mark.parametrize("name", sorted(truths()))
def test_page_equals_truth(name: str) -> None:
    truth = truths()[name]
    first, *again = twice(name)
    compare(first, truth)
    for page in again:
        assert page.layout is first.layout or page.layout.lines == first.layout.lines
        np.testing.assert_array_equal(page.raw, first.raw)
        assert page.started_s == first.started_s
    assert first.bad_lines == 0
    assert first.layout.refused_series == 0
    if truth["vllm_series"]:
        assert first.layout.engine == "vllm"


@pytest.mark.parametrize("name", sorted(history()))
def test_history_equals_truth(name: str) -> None:
    for page in twice(name):
        assert page.layout.engine == "vllm"
        for engine, truth in enumerate(history()[name]):
            for key, metric in PER_ENGINE.items():
                offered = key not in SINCE_0_16 or "main" in name
                if key in truth and offered and not ("rust" in name and key in {"fin", "preempt"}):
                    assert per_engine(page, metric)[str(engine)] == truth[key], key
                elif key in SINCE_0_16 and not offered:
                    assert total(page, metric) is None, "0.11 and 0.12 do not offer it"


def test_every_recorded_page_is_compared() -> None:
    recorded = {name for name in pages() if name.endswith(".prom")}
    assert recorded == set(truths()) | set(history()) | {
        name for name in recorded if name.startswith("vllm-0.32/nostats")
    }


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("engines/llamacpp-1.prom", "llama.cpp"),
        ("engines/llamacpp_2025_full.prom", "llama.cpp"),
        ("engines/sglang_docs_llama3.1-8b.prom", "sglang"),
        ("engines/trtllm_dynamo_docs_example.prom", "trtllm"),
    ],
)
def test_other_engines_are_recognised(name: str, engine: str) -> None:
    assert PageReader("e").read(pages()[name]).layout.engine == engine


def test_tensorrt_llm_page_by_hand() -> None:
    page = PageReader("e").read(pages()["engines/trtllm_dynamo_docs_example.prom"])
    assert total(page, "requests_finished_total") == 155
    assert total(page, "requests_finished_total", outcome="length") == 5
    assert total(page, "time_to_first_token_seconds_sum") == 8.75
    assert total(page, "time_to_first_token_seconds_count") == 150
    assert total(page, "e2e_latency_seconds_sum") == 45.2
    assert total(page, "time_per_output_token_seconds_sum") == 12.5
    assert total(page, "request_queue_seconds_sum") == 32.1
    assert total(page, "generation_tokens_total") is None
    assert total(page, "inter_token_latency_seconds_count") is None


def test_llamacpp_page_by_hand() -> None:
    page = PageReader("e").read(pages()["engines/llamacpp-1.prom"])
    assert total(page, "prompt_tokens_computed_total") == 19487
    assert total(page, "prefix_cache_hits_total") == 1
    assert total(page, "prefix_cache_queries_total") == 19488
    assert total(page, "prompt_processing_seconds_total") == 6.13068
    assert total(page, "speculative_drafts_total") == 0
    assert total(page, "prompt_tokens_cached_total") is None, "its prompt tokens do not include the cached ones"
    assert total(page, "kv_cache_usage_ratio") is None


@pytest.mark.parametrize("moment", ["0", "1", "2"])
def test_without_statistics_is_vllm_with_a_reason(moment: str) -> None:
    page = PageReader("e").read(pages()[f"vllm-0.32/nostats-{moment}.prom"])
    assert page.layout.engine == "vllm"
    assert page.layout.series == ()
    assert page.layout.facts["statistics"] == "off"
    assert page.started_s == 1.79600610835e09


def test_rust_front_end_right_after_start() -> None:
    reader = PageReader("e")
    started = reader.read(pages()["vllm-history/vllm_rust_main-2026-08-17__just_started.prom"])
    assert (started.layout.engine, started.layout.series) == ("vllm", ())
    assert started.layout.facts == {"statistics": "not yet"}
    busy = reader.read(pages()["vllm-history/vllm_rust_main-2026-08-17_single__t030.prom"])
    assert "statistics" not in busy.layout.facts
    assert total(busy, "generation_tokens_total") == 1308
    assert busy.started_s is None


def test_what_a_modern_vllm_page_says_besides() -> None:
    page = PageReader("e").read(pages()["vllm-0.32/dp2-1.prom"])
    assert per_engine(page, "kv_cache_capacity_tokens") == {"0": 262144, "1": 262144}
    assert per_engine(page, "engine_sleep_state") == {"0": 0, "1": 0}
    assert total(page, "admission_rejections_total") == 0
    assert page.layout.facts["kv_cache_size_tokens"] == "262144"
    assert page.layout.facts["kv_cache_dtype"] == "auto"
    assert page.layout.facts["kv_block_size"] == "128"
    assert {series.label("model") for series in page.layout.series} == {"tiny-llama"}


def test_lora_lines_are_facts_and_split_no_series() -> None:
    page = PageReader("e").read(pages()["vllm-0.32/lora-1.prom"])
    assert page.layout.facts["max_lora"] == "2"
    assert set(per_engine(page, "generation_tokens_total")) == {"0"}


def test_start_of_the_engine() -> None:
    reader = PageReader("e")
    assert reader.read(pages()["vllm-0.32/plain-1.prom"]).started_s == 1796005087.79
    created = reader.read(pages()["engines/vllm_gb10_dspark_deepseek-v4-flash_spec_only.prom"])
    assert created.started_s == 1.7863175205107226e09
    assert reader.read(pages()["vllm-0.32/api2-1.prom"]).started_s is None, "several API servers say nothing"
