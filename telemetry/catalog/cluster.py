"""Recorded series: sums over many targets, stored at ingest because the maximum of a sum is not the sum of maxima.

Their target is a deployment's name (`deployment/NAME`) or `cluster`; the ratios of `catalog.ratios` are computed, these are kept.
Also what the collector measures of its own work on each target.
"""

from telemetry.model import Fold, Kind, Metric, Scope, Unit

CLUSTER_TARGET = "cluster"
DEPLOYMENT_PREFIX = "deployment/"


def _recorded(
    name: str,
    label: str,
    text: str,
    unit: Unit,
    kind: Kind = Kind.GAUGE,
    scope: Scope = Scope.DEPLOYMENT,
    **more: object,
) -> Metric:
    return Metric(name, label, text, unit, kind, scope, "cluster", **more)  # type: ignore[arg-type]


RECORDED_DECODE = _recorded(
    "recorded_decode_tokens_per_second",
    "Decode, recorded",
    "Decode TPS of a deployment over the trailing 10 s, as recorded live.",
    Unit.TOKENS_PER_SECOND,
)
RECORDED_DECODE_1S = _recorded(
    "recorded_decode_1s_tokens_per_second",
    "Decode over 1 s, recorded",
    "Decode TPS of a deployment over the trailing second; a step of a speculative engine adds many tokens at once.",
    Unit.TOKENS_PER_SECOND,
    over_time=Fold.MAX,
)
PREFILL_TOKENS = _recorded(
    "prefill_tokens_total",
    "Prefilled tokens",
    "Computed prompt tokens of finished prefill episodes.",
    Unit.TOKENS,
    Kind.COUNTER,
)
PREFILL_SECONDS = _recorded(
    "prefill_seconds_total", "Prefill time", "Length of finished prefill episodes.", Unit.SECONDS, Kind.COUNTER
)
DEPLOYMENT_RUNNING = _recorded(
    "deployment_requests_running",
    "Running, recorded",
    "Requests running over all engines of a deployment.",
    Unit.REQUESTS,
    over_time=Fold.MAX,
)
CLUSTER_POWER = _recorded(
    "cluster_gpu_power_watts",
    "GPU power, recorded",
    "GPU power of all nodes that answer, as recorded live; unknown for 15 s after one falls silent.",
    Unit.WATTS,
    scope=Scope.CLUSTER,
    over_time=Fold.MAX,
)
CLUSTER_TRANSMIT = _recorded(
    "cluster_transmit_bytes_per_second",
    "Interconnect, recorded",
    "Sum of what all nodes send over the fabric, trailing 10 s.",
    Unit.NETWORK_BYTES_PER_SECOND,
    scope=Scope.CLUSTER,
    over_time=Fold.MAX,
)
CLUSTER_WORST_CAGE = _recorded(
    "cluster_busiest_cage_bytes_per_second",
    "Busiest cage, recorded",
    "What the busiest cage sends or receives, trailing 10 s.",
    Unit.NETWORK_BYTES_PER_SECOND,
    scope=Scope.CLUSTER,
    over_time=Fold.MAX,
)
CLUSTER_UTILIZATION = _recorded(
    "cluster_gpu_utilization_ratio",
    "GPU utilisation, recorded",
    "Mean over the GPUs of all nodes that answer.",
    Unit.RATIO,
    scope=Scope.CLUSTER,
    across=Fold.MEAN,
)

SCRAPE_SECONDS = Metric(
    "scrape_duration_seconds",
    "Scrape time",
    "From sending the request to the last byte of the answer.",
    Unit.SECONDS,
    Kind.GAUGE,
    Scope.TARGET,
    "monitor",
    over_time=Fold.MAX,
    across=Fold.MAX,
)
SCRAPE_BYTES = Metric(
    "scrape_size_bytes",
    "Page size",
    "Size of the answer.",
    Unit.BYTES,
    Kind.GAUGE,
    Scope.TARGET,
    "monitor",
    over_time=Fold.MAX,
)
CLOCK_SKEW = Metric(
    "clock_skew_seconds",
    "Clock skew",
    "Node's wall clock less the hub's at the middle of the request.",
    Unit.SECONDS,
    Kind.GAUGE,
    Scope.TARGET,
    "monitor",
    over_time=Fold.LAST,
    across=Fold.MAX,
)
