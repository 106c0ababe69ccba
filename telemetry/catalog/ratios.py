"""Quotients of stored metrics; computed on reading, never stored, so every page, export and alert agrees."""

from telemetry.catalog import cluster, engine, gpu, host, memory, network
from telemetry.model import Limits, Metric, Ratio, Scope, Unit, part


def _per_second(
    name: str, label: str, text: str, unit: Unit, scope: Scope, *counters: Metric, group: str, by: tuple[str, ...] = ()
) -> Ratio:
    return Ratio(name, label, text, unit, scope, group, counters, by=by)


DECODE_TPS = _per_second(
    "decode_tokens_per_second",
    "Decode",
    "Output tokens per second over the trailing 10 s.",
    Unit.TOKENS_PER_SECOND,
    Scope.ENGINE,
    engine.GENERATION_TOKENS,
    group="tokens",
    by=engine.ENGINE,
)
PROMPT_TPS = _per_second(
    "prompt_tokens_per_second",
    "Prompt token rate",
    "Prompt tokens per second as the engine counts them, at the first token; no speed of prefill.",
    Unit.TOKENS_PER_SECOND,
    Scope.ENGINE,
    engine.PROMPT_TOKENS,
    group="tokens",
    by=engine.ENGINE,
)
PREFILL_TPS = Ratio(
    "prefill_tokens_per_second",
    "Prefill throughput",
    "Computed prompt tokens of finished prefill episodes ∕ their length.",
    Unit.TOKENS_PER_SECOND,
    Scope.DEPLOYMENT,
    "tokens",
    (cluster.PREFILL_TOKENS,),
    (cluster.PREFILL_SECONDS,),
    window_s=300,
)
PREFILL_SPEED = Ratio(
    "prefill_speed_tokens_per_second",
    "Prefill speed",
    "Computed prompt tokens ∕ time to first token: speed of one request, queue included.",
    Unit.TOKENS_PER_SECOND,
    Scope.ENGINE,
    "tokens",
    (engine.PROMPT_TOKENS_COMPUTED,),
    (part(engine.TTFT, "sum"),),
    window_s=300,
    by=engine.ENGINE,
)
STREAM_TPS = Ratio(
    "stream_tokens_per_second",
    "Decode per request",
    "Decode TPS ∕ requests running.",
    Unit.TOKENS_PER_SECOND,
    Scope.ENGINE,
    "tokens",
    (engine.GENERATION_TOKENS,),
    (engine.REQUESTS_RUNNING,),
    by=engine.ENGINE,
)
STEP_RATE = Ratio(
    "verify_steps_per_second",
    "Verify steps",
    "Drafts verified per second, over all running requests.",
    Unit.PER_SECOND,
    Scope.ENGINE,
    "speculative",
    (engine.DRAFTS,),
    by=engine.ENGINE,
)
REQUESTS_DECODING = _per_second(
    "requests_decoding",
    "Decoding",
    "Requests in decode at a time, mean of the trailing 10 s: inter-token latencies in seconds per second, so without those in prefill.",
    Unit.REQUESTS,
    Scope.ENGINE,
    part(engine.ITL, "sum"),
    group="engine",
    by=engine.ENGINE,
)
ACCEPTANCE = Ratio(
    "acceptance_ratio",
    "Acceptance rate",
    "Accepted ∕ proposed draft tokens.",
    Unit.RATIO,
    Scope.ENGINE,
    "speculative",
    (engine.ACCEPTED_TOKENS,),
    (engine.DRAFT_TOKENS,),
    window_s=60,
    by=engine.ENGINE,
)
ACCEPTED_LENGTH = Ratio(
    "accepted_length_tokens",
    "Accepted length",
    "Tokens per verified draft: 1 + accepted ∕ drafts.",
    Unit.TOKENS_PER_STEP,
    Scope.ENGINE,
    "speculative",
    (engine.ACCEPTED_TOKENS,),
    (engine.DRAFTS,),
    offset=1,
    window_s=60,
    by=engine.ENGINE,
)
DRAFT_LENGTH = Ratio(
    "draft_length_tokens",
    "Draft length",
    "Proposed tokens per draft (effective K).",
    Unit.TOKENS_PER_STEP,
    Scope.ENGINE,
    "speculative",
    (engine.DRAFT_TOKENS,),
    (engine.DRAFTS,),
    window_s=60,
    by=engine.ENGINE,
)
PREFIX_HITS = Ratio(
    "prefix_hit_ratio",
    "Prefix hits",
    "Cached ∕ all prompt tokens.",
    Unit.RATIO,
    Scope.ENGINE,
    "engine",
    (engine.PROMPT_TOKENS_CACHED,),
    (engine.PROMPT_TOKENS,),
    window_s=300,
    by=engine.ENGINE,
)
PREFIX_CACHE_HIT_RATIO = Ratio(
    "prefix_cache_hit_ratio",
    "Prefix cache hit rate",
    "Hits ∕ queries of the prefix cache, for engines that do not count cached prompt tokens.",
    Unit.RATIO,
    Scope.ENGINE,
    "engine",
    (engine.PREFIX_CACHE_HITS,),
    (engine.PREFIX_CACHE_QUERIES,),
    window_s=300,
    by=engine.ENGINE,
)
PREEMPTION_RATE = _per_second(
    "preemptions_per_second",
    "Preemption rate",
    "Preemptions per second.",
    Unit.PER_SECOND,
    Scope.ENGINE,
    engine.PREEMPTIONS,
    group="engine",
    by=engine.ENGINE,
)
REQUEST_RATE = _per_second(
    "requests_finished_per_second",
    "Requests",
    "Finished requests per second.",
    Unit.PER_SECOND,
    Scope.ENGINE,
    engine.REQUESTS_FINISHED,
    group="engine",
    by=engine.ENGINE,
)


def _mean(name: str, label: str, histogram: Metric) -> Ratio:
    text = f"Mean {histogram.label}: sum ∕ count of what was observed in the window."
    return Ratio(
        name,
        label,
        text,
        histogram.unit,
        Scope.ENGINE,
        "latency",
        (part(histogram, "sum"),),
        (part(histogram, "count"),),
        window_s=300,
        by=engine.ENGINE,
    )


TTFT_MEAN = _mean("time_to_first_token_mean_seconds", "TTFT, mean", engine.TTFT)
ITL_MEAN = _mean("inter_token_latency_mean_seconds", "ITL, mean (step time)", engine.ITL)
TPOT_MEAN = _mean("time_per_output_token_mean_seconds", "TPOT, mean", engine.TPOT)
E2E_MEAN = _mean("e2e_latency_mean_seconds", "E2E latency, mean", engine.E2E)

INTERCONNECT_TRANSMIT = _per_second(
    "interconnect_transmit_bytes_per_second",
    "Interconnect sent",
    "RDMA and TCP/IP bytes sent over the fabric per second, trailing 10 s.",
    Unit.NETWORK_BYTES_PER_SECOND,
    Scope.NODE,
    network.RDMA_TRANSMIT,
    network.NETDEV_TRANSMIT,
    group="fabric",
    by=("cage",),
)
INTERCONNECT_RECEIVE = _per_second(
    "interconnect_receive_bytes_per_second",
    "Interconnect received",
    "RDMA and TCP/IP bytes received over the fabric per second, trailing 10 s.",
    Unit.NETWORK_BYTES_PER_SECOND,
    Scope.NODE,
    network.RDMA_RECEIVE,
    network.NETDEV_RECEIVE,
    group="fabric",
    by=("cage",),
)
INTERCONNECT_USE = Ratio(
    "interconnect_transmit_ratio",
    "Interconnect use",
    "Bytes sent ∕ capacity of the cage's one link.",
    Unit.RATIO,
    Scope.NODE,
    "fabric",
    (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT),
    (network.CAGE_CAPACITY,),
    by=("cage",),
)
MANAGEMENT_TRANSMIT = _per_second(
    "management_transmit_bytes_per_second",
    "Management send rate",
    "Bytes sent per second over ports outside the fabric.",
    Unit.NETWORK_BYTES_PER_SECOND,
    Scope.NODE,
    network.MANAGEMENT_TRANSMIT,
    group="management",
    by=("interface",),
)
MANAGEMENT_RECEIVE = _per_second(
    "management_receive_bytes_per_second",
    "Management receive rate",
    "Bytes received per second over ports outside the fabric.",
    Unit.NETWORK_BYTES_PER_SECOND,
    Scope.NODE,
    network.MANAGEMENT_RECEIVE,
    group="management",
    by=("interface",),
)
FABRIC_LOSS = _per_second(
    "fabric_loss_per_second",
    "Fabric loss rate",
    "Retries and sequence errors per second.",
    Unit.PER_SECOND,
    Scope.NODE,
    network.FABRIC_LOSS,
    group="fabric",
    by=("cage",),
)
FABRIC_CONGESTION = _per_second(
    "fabric_congestion_per_second",
    "Fabric congestion rate",
    "Congestion notifications per second.",
    Unit.PER_SECOND,
    Scope.NODE,
    network.FABRIC_CONGESTION,
    group="fabric",
    by=("cage",),
)
SWAP_TRAFFIC = _per_second(
    "swap_bytes_per_second",
    "Swapping",
    "Bytes swapped in and out per second.",
    Unit.BYTES_PER_SECOND,
    Scope.NODE,
    memory.SWAP_IN,
    memory.SWAP_OUT,
    group="memory",
)
MEMORY_PRESSURE = Ratio(
    "memory_pressure_ratio",
    "Memory pressure",
    "Share of time in which every task waited for memory (PSI full).",
    Unit.RATIO,
    Scope.NODE,
    "memory",
    (memory.PRESSURE_STALLED,),
    by=("resource",),
    limits=Limits(0.10),
)
MEMORY_USE = Ratio(
    "memory_used_ratio",
    "Memory use",
    "Used ∕ total memory.",
    Unit.RATIO,
    Scope.NODE,
    "memory",
    (memory.MEMORY_USED,),
    (memory.MEMORY_TOTAL,),
    window_s=0,
)
CPU_UTILIZATION = Ratio(
    "cpu_utilization_ratio",
    "CPU utilisation",
    "Busy processor time ∕ cores.",
    Unit.RATIO,
    Scope.NODE,
    "host",
    (host.CPU_BUSY,),
    (host.CPU_CORES,),
)
DISK_USE = Ratio(
    "disk_available_ratio",
    "Disk available share",
    "Available ∕ size.",
    Unit.RATIO,
    Scope.NODE,
    "disk",
    (host.DISK_AVAILABLE,),
    (host.DISK_SIZE,),
    window_s=0,
    by=("mount",),
    limits=Limits(0.10, 0.03, low=True),
)
THROTTLE_SHARE = Ratio(
    "gpu_throttle_ratio",
    "Throttled",
    "Share of time for which a reason held the clock down.",
    Unit.RATIO,
    Scope.NODE,
    "gpu",
    (gpu.GPU_THROTTLE,),
    by=("gpu", "reason"),
)
ENERGY_PER_TOKEN = Ratio(
    "gpu_energy_per_token_joules",
    "GPU energy per token",
    "GPU energy of the nodes ∕ output tokens. GPUs only, not whole machines.",
    Unit.JOULES_PER_TOKEN,
    Scope.CLUSTER,
    "cluster",
    (gpu.GPU_ENERGY,),
    (engine.GENERATION_TOKENS,),
    window_s=60,
)
INTERCONNECT_PER_TOKEN = Ratio(
    "interconnect_per_token_bytes",
    "Interconnect per token",
    "Bytes sent over the fabric by all nodes ∕ output tokens.",
    Unit.BYTES_PER_TOKEN,
    Scope.CLUSTER,
    "cluster",
    (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT),
    (engine.GENERATION_TOKENS,),
    window_s=60,
)
