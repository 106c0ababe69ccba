"""llama.cpp's server with --metrics. Upstream has no labels; some builds add `model`.

Its prompt counter excludes what came from the cache, so tokens looked up are processed + cached.
Averages since the start of the server (`*_tokens_seconds`, `n_busy_slots_per_decode`) are no live numbers: not read.
"""

from collectors.scrape.aliases.row import Dialect, Row
from telemetry.catalog import engine

LLAMACPP = Dialect(
    "llama.cpp",
    ("llamacpp:", "llamacpp_"),
    (
        Row("tokens_predicted_total", engine.GENERATION_TOKENS),
        Row("prompt_tokens_total", engine.PROMPT_TOKENS),
        Row("prompt_tokens_total", engine.PROMPT_TOKENS_COMPUTED),
        Row("prompt_tokens_total", engine.PREFIX_CACHE_QUERIES),
        Row("prompt_tokens_cached_total", engine.PREFIX_CACHE_QUERIES),
        Row("prompt_tokens_cached_total", engine.PREFIX_CACHE_HITS),
        Row("prompt_seconds_total", engine.PREFILL_SECONDS_BUSY),
        Row("requests_processing", engine.REQUESTS_RUNNING),
        Row("requests_deferred", engine.REQUESTS_WAITING),
        Row("kv_cache_usage_ratio", engine.KV_CACHE_USAGE),
        Row("spec_decode_num_drafts_total", engine.DRAFTS),
        Row("spec_decode_num_draft_tokens_total", engine.DRAFT_TOKENS),
        Row("spec_decode_num_accepted_tokens_total", engine.ACCEPTED_TOKENS),
    ),
    model_labels=("model",),
)
