"""vLLM, from the V0 names of 0.2 to 0.33, the Rust front end, Ray (Serve) and Triton's vLLM backend.

A name that was renamed has a row per name; `rank` 0 is today's. Releases: 0.9.2 renamed the KV gauge and the prefix
counters, 0.10.2 the inter-token latency, 0.20 split the queue by reason, 0.16 brought prompt tokens by source.
`request_prefill_kv_computed_tokens` is left out on purpose: it counts computed tokens when a request ends, minutes
after the prefill they belong to, so before 0.16 computed prompt tokens are "not offered".
"""

from dataclasses import replace

from collectors.scrape.aliases.row import Dialect, Info, Row
from telemetry.catalog import engine
from telemetry.model import Fold, Kind

_SOURCE = "prompt_tokens_by_source_total"

ROWS = (
    Row("generation_tokens_total", engine.GENERATION_TOKENS),
    Row("prompt_tokens_total", engine.PROMPT_TOKENS),
    Row(_SOURCE, engine.PROMPT_TOKENS_COMPUTED, where={"source": "local_compute"}),
    Row("prompt_tokens_cached_total", engine.PROMPT_TOKENS_CACHED),
    Row(_SOURCE, engine.PROMPT_TOKENS_TRANSFERRED, where={"source": "external_kv_transfer"}),
    Row("num_requests_running", engine.REQUESTS_RUNNING),
    Row("num_requests_waiting", engine.REQUESTS_WAITING),
    Row("num_requests_waiting_by_reason", engine.REQUESTS_WAITING, rank=1),
    Row("request_success_total", engine.REQUESTS_FINISHED, labels={"outcome": "finished_reason"}),
    Row("num_preemptions_total", engine.PREEMPTIONS),
    Row("kv_cache_usage_perc", engine.KV_CACHE_USAGE),
    Row("gpu_cache_usage_perc", engine.KV_CACHE_USAGE, rank=1),
    Row("cache_config_info", engine.KV_CACHE_CAPACITY, number="kv_cache_size_tokens", fold=Fold.MAX),
    Row("prefix_cache_queries_total", engine.PREFIX_CACHE_QUERIES),
    Row("prefix_cache_hits_total", engine.PREFIX_CACHE_HITS),
    Row("gpu_prefix_cache_queries_total", engine.PREFIX_CACHE_QUERIES, rank=1),
    Row("gpu_prefix_cache_hits_total", engine.PREFIX_CACHE_HITS, rank=1),
    Row("spec_decode_num_drafts_total", engine.DRAFTS),
    Row("spec_decode_num_draft_tokens_total", engine.DRAFT_TOKENS),
    Row("spec_decode_num_accepted_tokens_total", engine.ACCEPTED_TOKENS),
    Row("spec_decode_num_accepted_tokens_per_pos_total", engine.ACCEPTED_BY_POSITION, labels={"position": "position"}),
    Row("spec_decode_draft_acceptance_rate", engine.REPORTED_ACCEPTANCE),
    Row("avg_generation_throughput_toks_per_s", engine.REPORTED_THROUGHPUT),
    Row("engine_sleep_state", engine.SLEEP_STATE, where={"sleep_state": "awake"}, code=0),
    Row("engine_sleep_state", engine.SLEEP_STATE, where={"sleep_state": "weights_offloaded"}, code=1),
    Row("engine_sleep_state", engine.SLEEP_STATE, where={"sleep_state": "discard_all"}, code=2),
    Row("estimated_flops_per_gpu_total", engine.ESTIMATED_FLOPS),
    Row("admission_rejections_total", engine.HTTP_REJECTIONS),
    Row("time_to_first_token_seconds", engine.TTFT),
    Row("inter_token_latency_seconds", engine.ITL),
    Row("time_per_output_token_seconds", engine.ITL, rank=1),
    Row("request_time_per_output_token_seconds", engine.TPOT),
    Row("e2e_request_latency_seconds", engine.E2E),
    Row("request_queue_time_seconds", engine.QUEUE_TIME),
    Row("time_in_queue_requests", engine.QUEUE_TIME, rank=1),
    Row("request_prefill_time_seconds", engine.PREFILL_TIME),
    Row("request_decode_time_seconds", engine.DECODE_TIME),
    Row("request_prompt_tokens", engine.REQUEST_PROMPT_TOKENS),
    Row("request_generation_tokens", engine.REQUEST_GENERATION_TOKENS),
    Row("iteration_tokens_total", engine.ITERATION_TOKENS),
)

INFOS = (
    Info(
        "cache_config_info",
        {
            "cache_dtype": "kv_cache_dtype",
            "block_size": "kv_block_size",
            "num_gpu_blocks": "kv_blocks",
            "kv_cache_size_tokens": "kv_cache_size_tokens",
            "enable_prefix_caching": "prefix_caching",
            "gpu_memory_utilization": "gpu_memory_utilization",
        },
    ),
    Info("lora_requests_info", {"max_lora": "max_lora"}),
)

VLLM = Dialect("vllm", ("vllm:",), ROWS, INFOS, engine_labels=("engine",), model_labels=("model_name", "model"))


def _without_total(row: Row) -> Row:
    """Ray may export a counter as a gauge under its bare name, beside or instead of the one with _total."""
    return replace(row, wire=row.wire.removesuffix("_total"), rank=row.rank + 10)


RAY = replace(
    VLLM,
    prefixes=("ray_vllm:", "ray_vllm_"),
    rows=(*ROWS, *(_without_total(row) for row in ROWS if row.metric.kind is Kind.COUNTER)),
)
