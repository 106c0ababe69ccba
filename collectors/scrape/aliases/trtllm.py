"""TensorRT-LLM's Prometheus page (`/prometheus/metrics` of trtllm-serve, or passed on by Dynamo).

Its `/metrics` is a JSON list that is emptied by whoever reads it: not read, see `collectors.scrape.engines`.
`time_per_output_token_seconds` has one observation per request, so it is the per-request TPOT.
"""

from collectors.scrape.aliases.row import Dialect, Row
from telemetry.catalog import engine

TRTLLM = Dialect(
    "trtllm",
    ("trtllm_", "trtllm:"),
    (
        Row("generation_tokens_total", engine.GENERATION_TOKENS),
        Row("prompt_tokens_total", engine.PROMPT_TOKENS),
        Row("prompt_cached_tokens_total", engine.PROMPT_TOKENS_CACHED),
        Row("num_requests_running", engine.REQUESTS_RUNNING),
        Row("num_requests_waiting", engine.REQUESTS_WAITING),
        Row("request_success_total", engine.REQUESTS_FINISHED, labels={"outcome": "finished_reason"}),
        Row("kv_cache_utilization", engine.KV_CACHE_USAGE),
        Row("spec_decode_num_draft_tokens_total", engine.DRAFT_TOKENS),
        Row("spec_decode_num_accepted_tokens_total", engine.ACCEPTED_TOKENS),
        Row("spec_decode_acceptance_length", engine.REPORTED_ACCEPTED_LENGTH),
        Row("time_to_first_token_seconds", engine.TTFT),
        Row("time_per_output_token_seconds", engine.TPOT),
        Row("e2e_request_latency_seconds", engine.E2E),
        Row("request_queue_time_seconds", engine.QUEUE_TIME),
        Row("request_prefill_time_seconds", engine.PREFILL_TIME),
        Row("request_decode_time_seconds", engine.DECODE_TIME),
    ),
    model_labels=("model_name",),
)
