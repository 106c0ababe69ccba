"""SGLang with --enable-metrics, colon and underscore names.

Each tensor- and pipeline-parallel rank may repeat what its engine says: gauges take the largest (with priority
scheduling that is the total, too), counters the lowest rank. `dp_rank` is the engine.
`generation_tokens_total`, `prompt_tokens_total` and `cached_tokens_total` move when a request ends;
`realtime_tokens_total` moves while it runs, so it is preferred where a version has it (it does not count the token
that a prefill produces). `spec_verify_calls_total` moves at the end of a request and has no accepted tokens beside it:
not read. Inter-token latency is observed per token, not per step.
"""

from collectors.scrape.aliases.row import Dialect, Row
from telemetry.catalog import engine
from telemetry.model import Fold

_LIVE = "realtime_tokens_total"

SGLANG = Dialect(
    "sglang",
    ("sglang:", "sglang_"),
    (
        Row(_LIVE, engine.GENERATION_TOKENS, where={"mode": "decode"}),
        Row("generation_tokens_total", engine.GENERATION_TOKENS, rank=1),
        Row(_LIVE, engine.PROMPT_TOKENS, where={"mode": "prefill_compute"}),
        Row(_LIVE, engine.PROMPT_TOKENS, where={"mode": "prefill_cache"}),
        Row("prompt_tokens_total", engine.PROMPT_TOKENS, rank=1),
        Row(_LIVE, engine.PROMPT_TOKENS_COMPUTED, where={"mode": "prefill_compute"}),
        Row(_LIVE, engine.PROMPT_TOKENS_CACHED, where={"mode": "prefill_cache"}),
        Row("cached_tokens_total", engine.PROMPT_TOKENS_CACHED, rank=1),
        Row("num_running_reqs", engine.REQUESTS_RUNNING, fold=Fold.MAX),
        Row("num_queue_reqs", engine.REQUESTS_WAITING, fold=Fold.MAX),
        Row("num_requests_total", engine.REQUESTS_FINISHED),
        Row("num_retracted_requests_total", engine.PREEMPTIONS),
        Row("token_usage", engine.KV_CACHE_USAGE, fold=Fold.MAX),
        Row("max_total_num_tokens", engine.KV_CACHE_CAPACITY, fold=Fold.MAX),
        Row("gen_throughput", engine.REPORTED_THROUGHPUT, fold=Fold.MAX),
        Row("spec_accept_length", engine.REPORTED_ACCEPTED_LENGTH, fold=Fold.MAX),
        Row("spec_accept_rate", engine.REPORTED_ACCEPTANCE, fold=Fold.MAX),
        Row("time_to_first_token_seconds", engine.TTFT),
        Row("inter_token_latency_seconds", engine.ITL),
        Row("time_per_output_token_seconds", engine.ITL, rank=1),
        Row("e2e_request_latency_seconds", engine.E2E),
        Row("queue_time_seconds", engine.QUEUE_TIME),
        Row("prompt_tokens_histogram", engine.REQUEST_PROMPT_TOKENS),
        Row("generation_tokens_histogram", engine.REQUEST_GENERATION_TOKENS),
        Row("estimated_flops_per_gpu_total", engine.ESTIMATED_FLOPS),
    ),
    engine_labels=("dp_rank",),
    model_labels=("model_name",),
    ignore={"engine_type": ("draft",)},
    replicas=("pp_rank", "tp_rank", "moe_ep_rank"),
)
