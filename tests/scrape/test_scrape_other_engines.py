"""What pages of SGLang, llama.cpp, TensorRT-LLM and the agent mean, and how lines are folded."""

from __future__ import annotations

import math

import numpy as np
import pytest

from collectors.scrape.engines import STATISTICS, recognise
from collectors.scrape.page import Layout
from collectors.scrape.text import PageReader
from telemetry.model import Fold, Scope, Series
from tests.scrape.invented import read
from tests.scrape.recordings import per_engine, total

# SGLang -----------------------------------------------------------------------------------------------------------


def sglang(name: str, value: float, **labels: str) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in {"model_name": "m", **labels}.items())
    return f"sglang:{name}{{{inside}}} {value}"


def test_sglang_ranks_repeat_their_engine() -> None:
    page = read(
        sglang("num_running_reqs", 3, dp_rank="0", tp_rank="0", pp_rank="0"),
        sglang("num_running_reqs", 3, dp_rank="0", tp_rank="1", pp_rank="0"),
        sglang("num_running_reqs", 4, dp_rank="1", tp_rank="2", pp_rank="0"),
        sglang("num_running_reqs", 2, dp_rank="1", tp_rank="3", pp_rank="0"),
        sglang("token_usage", 0.2, dp_rank="0", tp_rank="0", pp_rank="0"),
        sglang("token_usage", 0.4, dp_rank="0", tp_rank="0", pp_rank="1"),
        sglang("max_total_num_tokens", 1000, dp_rank="0", tp_rank="0", pp_rank="0"),
        sglang("max_total_num_tokens", 1000, dp_rank="0", tp_rank="1", pp_rank="0"),
    )
    assert per_engine(page, "requests_running") == {"0": 3, "1": 4}
    assert per_engine(page, "kv_cache_usage_ratio") == {"0": 0.4}
    assert per_engine(page, "kv_cache_capacity_tokens") == {"0": 1000}


def test_sglang_counters_are_read_from_the_lowest_rank_of_each_engine() -> None:
    page = read(
        *(
            sglang("realtime_tokens_total", value, mode="decode", dp_rank=dp, tp_rank=tp, pp_rank=pp)
            for value, dp, tp, pp in [
                (7, "0", "10", "0"),
                (5, "0", "2", "0"),
                (9, "0", "2", "1"),
                (11, "1", "3", "0"),
            ]
        )
    )
    assert per_engine(page, "generation_tokens_total") == {"0": 5, "1": 11}
    assert len(page.layout.lines) == 2


def test_sglang_draft_model_is_not_read() -> None:
    page = read(
        sglang("num_running_reqs", 3, engine_type="unified"),
        sglang("num_running_reqs", 30, engine_type="draft"),
        sglang("generation_tokens_total", 30, engine_type="draft"),
    )
    assert total(page, "requests_running") == 3
    assert total(page, "generation_tokens_total") is None


def test_sglang_priorities_are_parts_of_the_total() -> None:
    page = read(*(sglang("num_queue_reqs", value, priority=name) for name, value in (("", 5), ("1", 2), ("2", 3))))
    assert total(page, "requests_waiting") == 5


def test_sglang_live_counters_are_preferred_and_streaming_adds_up() -> None:
    finished = [
        sglang("generation_tokens_total", 100, is_streaming="true"),
        sglang("generation_tokens_total", 20, is_streaming="false"),
        sglang("prompt_tokens_total", 1000, is_streaming="true"),
        sglang("cached_tokens_total", 300, cache_source="device"),
        sglang("cached_tokens_total", 50, cache_source="host"),
    ]
    page = read(*finished)
    assert total(page, "generation_tokens_total") == 120
    assert total(page, "prompt_tokens_total") == 1000
    assert total(page, "prompt_tokens_cached_total") == 350
    assert total(page, "prompt_tokens_computed_total") is None
    live = [("decode", 150), ("prefill_compute", 700), ("prefill_cache", 400)]
    page = read(*finished, *(sglang("realtime_tokens_total", value, mode=mode) for mode, value in live))
    assert total(page, "generation_tokens_total") == 150
    assert total(page, "prompt_tokens_total") == 1100
    assert total(page, "prompt_tokens_computed_total") == 700
    assert total(page, "prompt_tokens_cached_total") == 400


def test_sglang_older_latency_name() -> None:
    assert total(read(sglang("time_per_output_token_seconds_sum", 4)), "inter_token_latency_seconds_sum") == 4
    page = read(sglang("time_per_output_token_seconds_sum", 4), sglang("inter_token_latency_seconds_sum", 5))
    assert total(page, "inter_token_latency_seconds_sum") == 5
    assert total(page, "time_per_output_token_seconds_sum") is None


# Others -----------------------------------------------------------------------------------------------------------


def test_llamacpp_averages_and_older_gauges() -> None:
    page = read(
        "llamacpp:prompt_tokens_seconds 140",
        "llamacpp:predicted_tokens_seconds 27",
        "llamacpp:n_busy_slots_per_decode 1",
        "llamacpp:kv_cache_usage_ratio 0.25",
        'llamacpp:requests_processing{model="tiny"} 2',
    )
    assert page.layout.engine == "llama.cpp"
    assert {series.metric for series in page.layout.series} == {"kv_cache_usage_ratio", "requests_running"}
    assert {series.label("model") for series in page.layout.series} == {"tiny"}


def test_tensorrt_llm_tokens_and_speculation() -> None:
    page = read(
        'trtllm_generation_tokens_total{model_name="m",engine_type="trtllm"} 5',
        'trtllm_prompt_cached_tokens_total{model_name="m"} 6',
        'trtllm_kv_cache_utilization{model_name="m"} 0.5',
        'trtllm_spec_decode_num_draft_tokens_total{model_name="m"} 8',
        'trtllm_spec_decode_num_accepted_tokens_total{model_name="m"} 4',
        'trtllm_spec_decode_acceptance_length{model_name="m"} 2.5',
    )
    assert page.layout.engine == "trtllm"
    assert total(page, "generation_tokens_total") == 5
    assert total(page, "prompt_tokens_cached_total") == 6
    assert total(page, "kv_cache_usage_ratio") == 0.5
    assert total(page, "speculative_accepted_tokens_total") == 4
    assert total(page, "reported_accepted_length_tokens") == 2.5


def test_agent() -> None:
    page = read(
        'tachograph_rdma_transmit_bytes_total{cage="p0",function="rocep1s0f0"} 400',
        "tachograph_memory_total_bytes 130000000000",
        "tachograph_agent_start_time_seconds 1796000000.5",
        "process_start_time_seconds 5",
        "tachograph_gpu_power_watts_created 7",
        "tachograph_generation_tokens_total 9",
    )
    assert page.layout.engine == "agent"
    assert page.layout.series[0] == Series(
        "e", "rdma_transmit_bytes_total", (("cage", "p0"), ("function", "rocep1s0f0"))
    )
    assert page.raw.tolist() == [400, 130000000000, 1796000000.5]
    assert page.started_s is None, "the machine's counters live through a restart of the agent"
    assert "model" not in page.layout.facts


POWER, TOKENS = 'tachograph_gpu_power_watts{gpu="0"} 100000', 'vllm:generation_tokens_total{engine="0"} 5'


@pytest.mark.parametrize(
    ("scopes", "metrics", "engine", "dropped"),
    [
        ((Scope.ENGINE,), ["generation_tokens_total"], "vllm", 2),
        ((Scope.NODE,), ["gpu_power_watts"], "agent", 1),
        ((Scope.NODE, Scope.ENGINE), ["gpu_power_watts", "generation_tokens_total"], "agent", 0),
    ],
)
def test_a_target_speaks_only_of_what_it_is(
    scopes: tuple[Scope, ...], metrics: list[str], engine: str, dropped: int
) -> None:
    quoted = '{"tachograph_gpu_fan_speed_ratio",gpu="0"} 1'
    lines = [POWER, TOKENS, *([quoted] if scopes == (Scope.ENGINE,) else []), "process_start_time_seconds 7"]
    page = PageReader("e", scopes=scopes).read("\n".join(lines).encode())
    assert [series.metric for series in page.layout.series] == metrics
    assert (page.layout.engine, page.layout.dropped_families, page.bad_lines) == (engine, dropped, 0)
    assert page.started_s == (None if engine == "agent" else 7.0)


@pytest.mark.parametrize(
    ("body", "engine", "statistics"),
    [
        (b"# HELP sglang:num_running_reqs x\n", "sglang", "not yet"),
        (b"# TYPE ray_vllm_num_requests_running gauge\n", "vllm", "not yet"),
        (b"# TYPE up gauge\nhttp_request_duration_highr_seconds_count 1\n", "vllm", "off"),
        (b"[]", "trtllm", "elsewhere"),
        (b' [{"iterLatencyMS": 3}]', "trtllm", "elsewhere"),
        (b"up 1\n", "unknown", None),
        (b"text about # TYPE vllm:x gauge\n", "unknown", None),
        (b"[1, 2]", "unknown", None),
    ],
)
def test_pages_without_a_known_line(body: bytes, engine: str, statistics: str | None) -> None:
    page = PageReader("e").read(body)
    assert page.layout.engine == engine
    assert page.layout.facts.get("statistics") == statistics
    assert statistics is None or statistics in STATISTICS


def test_why_there_are_no_numbers_is_told_anew_when_the_page_changes() -> None:
    """Its lines that mean something stay the same: the start of the process alone."""
    start, reader = b"process_start_time_seconds 7\n", PageReader("e")
    broken = b'vllm:num_requests_running{engine="0 3\n'
    told = [start, start + b"# TYPE vllm:x gauge\n", start + b"# TYPE vllm:x gauge\n" + broken, start]
    pages = [(page.layout.engine, page.layout.facts) for page in map(reader.read, told)]
    assert pages == [
        ("unknown", {}),
        ("vllm", {"statistics": "not yet"}),
        ("vllm", {"statistics": "unreadable"}),
        ("unknown", {}),
    ]


def test_a_line_without_any_value_does_not_swallow_others() -> None:
    reader = PageReader("e")
    pages = [reader.read(body) for body in (b"foo\n", b"5\n", b" foo\n", b" 5\n")]
    assert [(page.layout.dropped_families, page.bad_lines) for page in pages] == [(1, 0), (0, 1), (1, 0), (0, 1)]


def test_most_lines_decide_which_engine_it_is() -> None:
    assert recognise(["vllm", "sglang", "sglang"], b"") == ("sglang", {})


# Folding ----------------------------------------------------------------------------------------------------------


def test_folds_of_the_layout() -> None:
    page = read(
        'vllm:num_requests_running{engine="0",pid="1"} 3',
        'vllm:num_requests_running{engine="0",pid="2"} NaN',
        'vllm:kv_cache_usage_perc{engine="0",pid="1"} NaN',
        'vllm:kv_cache_usage_perc{engine="0",pid="2"} NaN',
        'vllm:spec_decode_draft_acceptance_rate{engine="0",pid="1"} 0.25',
        'vllm:spec_decode_draft_acceptance_rate{engine="0",pid="2"} 0.75',
        'vllm:spec_decode_draft_acceptance_rate{engine="0",pid="3"} NaN',
    )
    assert page.layout.folds == (Fold.SUM, Fold.MAX, Fold.MEAN)
    running, usage, acceptance = page.values().tolist()
    assert math.isnan(running), "a sum with an unknown part is unknown"
    assert math.isnan(usage)
    assert acceptance == 0.5


@pytest.mark.parametrize(
    ("fold", "values", "expected"),
    [
        (Fold.SUM, [1, 2, 4], 7),
        (Fold.MAX, [1, math.nan, -4], 1),
        (Fold.MIN, [1, math.nan, -4], -4),
        (Fold.MIN, [math.nan, math.nan], math.nan),
        (Fold.MEAN, [1, math.nan, 5], 3),
        (Fold.MEAN, [math.nan, math.nan], math.nan),
        (Fold.LAST, [1, 2, 4], 4),
    ],
)
def test_each_fold(fold: Fold, values: list[float], expected: float) -> None:
    single, folded = Series("e", "a"), Series("e", "b")
    source = np.array([0, *[1] * len(values)], dtype=np.int32)
    lines = tuple(str(position) for position in range(len(source)))
    layout = Layout((single, folded), source, lines, (Fold.SUM, fold), {}, "vllm", 0, 0)
    found = layout.fold(np.array([9.0, *values])).tolist()
    assert found[0] == 9.0
    assert found[1] == pytest.approx(expected, nan_ok=True)
