"""What the alias tables make of single engines: Ray, SGLang's ranks, llama.cpp, TensorRT-LLM, agents."""

from __future__ import annotations

import math

import pytest

from collectors.scrape.aliases import DIALECTS, ENTRIES
from collectors.scrape.page import ENGINES
from telemetry import catalog
from telemetry.model import Kind, Metric, Scope, Series
from tests.scrape.invented import read, series_of
from tests.scrape.recordings import buckets, per_engine, total

# The table itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.prefixes[0])
def test_every_row_means_a_stored_metric_and_its_labels(dialect) -> None:  # type: ignore[no-untyped-def]
    assert dialect.engine in ENGINES
    for row in dialect.rows:
        assert catalog.find(row.metric.name) is row.metric
        own = set(row.metric.by) - {"engine", "model"}
        assert set(row.labels) <= own, "labels that the metric does not carry"
        assert own - set(row.labels) <= {"outcome"}, "only an outcome may be missing"
        if row.metric.kind in (Kind.COUNTER, Kind.HISTOGRAM):
            assert row.fold is None, "counters are summed, whatever the row says"
        if row.code is not None:
            assert row.metric.kind is Kind.STATE
            assert row.code < len(row.metric.states)
            assert row.where


def test_every_metric_of_a_node_is_on_the_agents_page() -> None:
    for metric in catalog.METRICS:
        if isinstance(metric, Metric) and metric.scope is Scope.NODE:
            assert any(row.metric is metric for _, row, _ in ENTRIES[f"tachograph_{metric.name}"])


def test_names_that_differ_by_a_suffix_only_are_kept_apart() -> None:
    page = read(
        'vllm:prompt_tokens_total{engine="0",model_name="m"} 1',
        'vllm:prompt_tokens_created{engine="0",model_name="m"} 2',
        'vllm:request_prompt_tokens_sum{engine="0",model_name="m"} 4',
        'vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 8',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="3"} 16',
        'vllm:iteration_tokens_total_count{engine="0",model_name="m"} 32',
        'vllm:iteration_tokens_total_sum{engine="0",model_name="m"} 64',
    )
    assert total(page, "prompt_tokens_total") == 1
    assert total(page, "request_prompt_tokens_sum") == 4
    assert total(page, "speculative_accepted_tokens_total") == 8
    assert total(page, "speculative_accepted_by_position_total", position="3") == 16
    assert total(page, "iteration_tokens_count") == 32
    assert total(page, "iteration_tokens_sum") == 64
    assert len(page.layout.series) == 6


# vLLM -------------------------------------------------------------------------------------------------------------


def test_labels_that_identify_a_series() -> None:
    page = read(
        'vllm:request_success_total{engine="1",finished_reason="length",model_name="m",extra="x"} 5',
        'vllm:time_to_first_token_seconds_bucket{engine="1",model_name="m",le="0.10"} 2',
    )
    assert page.layout.series == (
        Series("e", "requests_finished_total", (("engine", "1"), ("model", "m"), ("outcome", "length"))),
        Series("e", "time_to_first_token_seconds_bucket", (("engine", "1"), ("le", "0.1"), ("model", "m"))),
    )


def test_waiting_by_reason_is_only_a_stand_in() -> None:
    by_reason = [
        'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 2',
        'vllm:num_requests_waiting_by_reason{engine="0",reason="deferred"} 1',
    ]
    assert total(read(*by_reason), "requests_waiting") == 3
    assert total(read('vllm:num_requests_waiting{engine="0"} 3', *by_reason), "requests_waiting") == 3


def test_older_names_give_way_as_whole_families() -> None:
    page = read(
        'vllm:time_per_output_token_seconds_bucket{engine="0",le="0.01"} 7',
        'vllm:time_per_output_token_seconds_sum{engine="0"} 7',
        'vllm:time_per_output_token_seconds_count{engine="0"} 7',
        'vllm:inter_token_latency_seconds_bucket{engine="0",le="0.02"} 3',
        'vllm:inter_token_latency_seconds_count{engine="0"} 3',
    )
    assert buckets(page, "inter_token_latency_seconds") == [(0.02, 3)]
    assert total(page, "inter_token_latency_seconds_count") == 3
    assert total(page, "inter_token_latency_seconds_sum") is None


def test_several_processes_of_one_engine_do_not_add_up_its_cache() -> None:
    page = read(
        'vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="11"} 0.7',
        'vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="12"} 0.2',
        'vllm:kv_cache_usage_perc{engine="0",model_name="m",pid="13"} NaN',
        'vllm:kv_cache_usage_perc{engine="1",model_name="m",pid="11"} 0.1',
    )
    assert per_engine(page, "kv_cache_usage_ratio") == {"0": 0.7, "1": 0.1}


@pytest.mark.parametrize(("state", "code"), [("awake", 0), ("weights_offloaded", 1), ("discard_all", 2)])
def test_sleep_state_is_the_line_that_says_one(state: str, code: int) -> None:
    lines = [
        f'vllm:engine_sleep_state{{engine="0",sleep_state="{name}"}} {float(name == state)}'
        for name in ("awake", "weights_offloaded", "discard_all")
    ]
    assert total(read(*lines), "engine_sleep_state") == code
    none = read(*(line[:-3] + "0.0" for line in lines))
    assert math.isnan(total(none, "engine_sleep_state") or 0.0), "no line says so"


def test_capacity_is_a_label_of_an_info_line() -> None:
    page = read(
        'vllm:cache_config_info{engine="0",kv_cache_size_tokens="1000",cache_dtype="fp8",block_size="16"} 1.0',
        'vllm:cache_config_info{engine="1",kv_cache_size_tokens="2000",cache_dtype="fp8",block_size="None"} 1.0',
        'vllm:num_requests_running{engine="0",model_name="m"} 1',
    )
    assert per_engine(page, "kv_cache_capacity_tokens") == {"0": 1000, "1": 2000}
    assert {series.label("model") for series in page.layout.series} == {"m"}, "the page serves one model"
    assert page.layout.facts == {
        "kv_cache_size_tokens": "1000, 2000",
        "kv_cache_dtype": "fp8",
        "kv_block_size": "16",
        "model": "m",
    }


@pytest.mark.parametrize("stated", ["None", "", "-5", "1e9", "12.5", "²", "9" * 16])
def test_capacity_that_is_no_number_is_not_offered(stated: str) -> None:
    page = read(f'vllm:cache_config_info{{engine="0",kv_cache_size_tokens="{stated}"}} 1.0')
    assert total(page, "kv_cache_capacity_tokens") is None


def test_capacity_of_fifteen_digits_is_a_number() -> None:
    page = read(f'vllm:cache_config_info{{engine="0",kv_cache_size_tokens="{"9" * 15}"}} 1.0')
    assert total(page, "kv_cache_capacity_tokens") == 999_999_999_999_999


def test_lines_that_name_no_engine_belong_to_the_only_one() -> None:
    page = read(
        'vllm:num_requests_running{engine="3",model_name="m"} 1',
        'vllm:admission_rejections_total{model_name="m",reason="max_num_queued_reqs"} 2',
        'vllm:admission_rejections_total{model_name="m",reason="max_num_queued_tokens"} 5',
    )
    assert per_engine(page, "admission_rejections_total") == {"3": 7}


def test_lines_that_name_no_engine_stay_at_zero_when_there_are_several() -> None:
    page = read(
        'vllm:num_requests_running{engine="1",model_name="m"} 1',
        'vllm:num_requests_running{engine="2",model_name="n"} 1',
        "vllm:num_preemptions_total 2",
    )
    assert series_of(page, "preemptions_total")[0].labels == (("engine", "0"), ("model", ""))
    assert page.layout.facts["model"] == "m, n"


def test_triton_calls_the_model_otherwise() -> None:
    page = read('vllm:num_requests_running{model="m",version="1"} 1')
    assert page.layout.series[0].labels == (("engine", "0"), ("model", "m"))


@pytest.mark.parametrize("prefix", ["ray_vllm:", "ray_vllm_"])
def test_ray(prefix: str) -> None:
    ray = 'WorkerId="w",model_name="m",engine="0"'
    page = read(
        f'{prefix}generation_tokens_total{{{ray},ReplicaId="a"}} 5',
        f'{prefix}generation_tokens_total{{{ray},ReplicaId="b"}} 7',
        f'{prefix}generation_tokens{{{ray},ReplicaId="a"}} 5',
        f'{prefix}kv_cache_usage_perc{{{ray},ReplicaId="a"}} 0.5',
        f'{prefix}kv_cache_usage_perc{{{ray},ReplicaId="b"}} 0.25',
        f'{prefix}prompt_tokens{{{ray},ReplicaId="a"}} 11',
        f'{prefix}inter_token_latency_seconds_sum{{{ray},ReplicaId="a"}} 2',
        "ray_node_cpu_utilization 3",
    )
    assert page.layout.engine == "vllm"
    assert total(page, "generation_tokens_total") == 12, "the gauge of the same counter is not added"
    assert total(page, "prompt_tokens_total") == 11
    assert total(page, "kv_cache_usage_ratio") == 0.5
    assert total(page, "inter_token_latency_seconds_sum") == 2
    assert page.layout.dropped_families == 1


def test_v0_names() -> None:
    page = read(
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.3',
        'vllm:time_in_queue_requests_sum{model_name="m"} 4',
        'vllm:avg_generation_throughput_toks_per_s{model_name="m"} 12',
        'vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.6',
        'vllm:num_requests_swapped{model_name="m"} 9',
        'vllm:cpu_cache_usage_perc{model_name="m"} 0.9',
    )
    assert total(page, "kv_cache_usage_ratio") == 0.3
    assert total(page, "request_queue_seconds_sum") == 4
    assert total(page, "reported_throughput_tokens_per_second") == 12
    assert total(page, "reported_acceptance_ratio") == 0.6
    assert page.layout.dropped_families == 2


def test_computed_tokens_of_finished_requests_are_no_prefill() -> None:
    page = read('vllm:request_prefill_kv_computed_tokens_sum{engine="0",model_name="m"} 53')
    assert total(page, "prompt_tokens_computed_total") is None
