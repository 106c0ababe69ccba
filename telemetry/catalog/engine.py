"""What an inference engine says of itself, under one name whatever engine and version it is."""

from telemetry.model import Fold, Kind, Limits, Metric, Scope, Unit

ENGINE = ("engine", "model")
PHASES = ("unknown", "idle", "prefilling", "decoding", "loading", "asleep", "stalled", "stopped")
SLEEP_STATES = ("awake", "weights offloaded", "weights discarded")
OUTCOMES = ("stop", "length", "abort", "error", "repetition")


def _engine(
    name: str,
    label: str,
    text: str,
    unit: Unit,
    kind: Kind = Kind.GAUGE,
    by: tuple[str, ...] = ENGINE,
    group: str = "engine",
    **more: object,
) -> Metric:
    counts = kind in (Kind.COUNTER, Kind.HISTOGRAM)
    return Metric(name, label, text, unit, kind, Scope.ENGINE, group, by=by, at_first_use=counts, **more)  # type: ignore[arg-type]


def _histogram(name: str, label: str, text: str, unit: Unit = Unit.SECONDS) -> Metric:
    return _engine(name, label, text, unit, Kind.HISTOGRAM, group="latency")


GENERATION_TOKENS = _engine(
    "generation_tokens_total",
    "Output tokens",
    "Tokens generated, the first of each request included.",
    Unit.TOKENS,
    Kind.COUNTER,
    group="tokens",
)
PROMPT_TOKENS = _engine(
    "prompt_tokens_total",
    "Prompt tokens",
    "Prompt tokens of requests whose prefill finished, cached and transferred ones included (llama.cpp counts only computed ones).",
    Unit.TOKENS,
    Kind.COUNTER,
    group="tokens",
)
PROMPT_TOKENS_COMPUTED = _engine(
    "prompt_tokens_computed_total",
    "Prompt tokens computed",
    "Prompt tokens that were really computed: neither cached nor transferred.",
    Unit.TOKENS,
    Kind.COUNTER,
    group="tokens",
)
PROMPT_TOKENS_CACHED = _engine(
    "prompt_tokens_cached_total",
    "Prompt tokens cached",
    "Prompt tokens found in a prefix cache, the engine's own or an external one, so those transferred from another engine are part of them.",
    Unit.TOKENS,
    Kind.COUNTER,
    group="tokens",
)
PROMPT_TOKENS_TRANSFERRED = _engine(
    "prompt_tokens_transferred_total",
    "Prompt tokens transferred",
    "Prompt tokens whose KV entries came from another engine.",
    Unit.TOKENS,
    Kind.COUNTER,
    group="tokens",
)
REQUESTS_RUNNING = _engine(
    "requests_running", "Running", "Requests in execution, those still in prefill included.", Unit.REQUESTS
)
REQUESTS_WAITING = _engine("requests_waiting", "Waiting", "Requests in the queue.", Unit.REQUESTS)
REQUESTS_FINISHED = _engine(
    "requests_finished_total",
    "Requests finished",
    "Finished requests by outcome.",
    Unit.REQUESTS,
    Kind.COUNTER,
    by=("engine", "model", "outcome"),
)
PREEMPTIONS = _engine(
    "preemptions_total",
    "Preemptions",
    "Requests thrown out of the batch for lack of KV blocks.",
    Unit.COUNT,
    Kind.COUNTER,
)
KV_CACHE_USAGE = _engine(
    "kv_cache_usage_ratio",
    "KV cache usage",
    "Share of the KV cache in use.",
    Unit.RATIO,
    over_time=Fold.MAX,
    across=Fold.MAX,
    limits=Limits(0.95),
)
KV_CACHE_CAPACITY = _engine(
    "kv_cache_capacity_tokens",
    "KV cache capacity",
    "Tokens that fit the KV cache, where the engine says so.",
    Unit.TOKENS,
)
PREFIX_CACHE_QUERIES = _engine(
    "prefix_cache_queries_total",
    "Prefix cache queries",
    "Tokens looked up in the prefix cache.",
    Unit.TOKENS,
    Kind.COUNTER,
)
PREFIX_CACHE_HITS = _engine(
    "prefix_cache_hits_total", "Prefix cache hits", "Tokens found in the prefix cache.", Unit.TOKENS, Kind.COUNTER
)
DRAFTS = _engine(
    "speculative_drafts_total",
    "Drafts",
    "Drafts verified: verification steps × requests.",
    Unit.COUNT,
    Kind.COUNTER,
    group="speculative",
)
DRAFT_TOKENS = _engine(
    "speculative_draft_tokens_total",
    "Draft tokens",
    "Tokens proposed by the draft.",
    Unit.TOKENS,
    Kind.COUNTER,
    group="speculative",
)
ACCEPTED_TOKENS = _engine(
    "speculative_accepted_tokens_total",
    "Accepted tokens",
    "Proposed tokens that were accepted.",
    Unit.TOKENS,
    Kind.COUNTER,
    group="speculative",
)
ACCEPTED_BY_POSITION = _engine(
    "speculative_accepted_by_position_total",
    "Accepted by position",
    "Accepted tokens by their position in the draft.",
    Unit.TOKENS,
    Kind.COUNTER,
    by=("engine", "model", "position"),
    group="speculative",
)
REPORTED_ACCEPTANCE = _engine(
    "reported_acceptance_ratio",
    "Acceptance as reported",
    "Acceptance as a gauge of the engine itself, where it has no counters.",
    Unit.RATIO,
    across=Fold.MEAN,
    group="speculative",
)
REPORTED_ACCEPTED_LENGTH = _engine(
    "reported_accepted_length_tokens",
    "Accepted length as reported",
    "Accepted length as a gauge of the engine itself, where it has no counters.",
    Unit.TOKENS_PER_STEP,
    across=Fold.MEAN,
    group="speculative",
)
REPORTED_THROUGHPUT = _engine(
    "reported_throughput_tokens_per_second",
    "Throughput as reported",
    "Decode throughput as a gauge of the engine itself; keeps its last value when idle, so it counts only while requests run.",
    Unit.TOKENS_PER_SECOND,
)
SLEEP_STATE = _engine(
    "engine_sleep_state",
    "Sleep state",
    "Whether the engine's weights are on the GPU.",
    Unit.STATE,
    Kind.STATE,
    over_time=Fold.MAX,
    across=Fold.MAX,
    states=SLEEP_STATES,
)
ESTIMATED_FLOPS = _engine(
    "estimated_flops_total",
    "Estimated operations",
    "Floating-point operations per GPU as the engine estimates them; moves during a prefill, where switched on.",
    Unit.COUNT,
    Kind.COUNTER,
)
HTTP_REJECTIONS = _engine(
    "admission_rejections_total",
    "Rejected requests",
    "Requests refused because the queue was full.",
    Unit.REQUESTS,
    Kind.COUNTER,
)
PREFILL_SECONDS_BUSY = _engine(
    "prompt_processing_seconds_total",
    "Prompt processing time",
    "Time spent on prompts, where the engine counts it (llama.cpp).",
    Unit.SECONDS,
    Kind.COUNTER,
)

TTFT = _histogram(
    "time_to_first_token_seconds", "TTFT", "Time to first token, at the server: from arrival, queue included."
)
ITL = _histogram(
    "inter_token_latency_seconds",
    "ITL",
    "Inter-token latency: one observation per request and step that returned tokens, so with speculative decoding per step, not per token (SGLang observes tokens).",
)
TPOT = _histogram(
    "time_per_output_token_seconds", "TPOT", "Time per output token of finished requests: decode time ∕ (tokens − 1)."
)
E2E = _histogram("e2e_latency_seconds", "E2E latency", "From arrival to the last token of finished requests.")
QUEUE_TIME = _histogram("request_queue_seconds", "Queue time", "Time finished requests spent waiting.")
PREFILL_TIME = _histogram("request_prefill_seconds", "Prefill time", "Time finished requests spent in prefill.")
DECODE_TIME = _histogram("request_decode_seconds", "Decode time", "Time finished requests spent decoding.")
REQUEST_PROMPT_TOKENS = _histogram(
    "request_prompt_tokens", "Prompt length", "Prompt tokens per finished request.", Unit.TOKENS
)
REQUEST_GENERATION_TOKENS = _histogram(
    "request_generation_tokens", "Answer length", "Output tokens per finished request.", Unit.TOKENS
)
ITERATION_TOKENS = _histogram(
    "iteration_tokens", "Tokens per step", "Tokens of an engine step that had output.", Unit.TOKENS
)

ENGINE_PHASE = _engine(
    "engine_phase",
    "Phase",
    "What the engine is doing, judged from its counters.",
    Unit.STATE,
    Kind.STATE,
    over_time=Fold.LAST,
    across=Fold.MAX,
    states=PHASES,
)
