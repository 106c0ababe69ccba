"""How the numbers of the workload move: a table of series, and the few ways in which readings change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from telemetry.frame import Floats
from telemetry.model import PARTS

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Spec:
    """One series. kind: of SHAPES; low, high: reached at no load and at full load (a counter's: per second).

    step: what readings are multiples of. noise: spread around that, as a share of high − low.
    """

    metric: str
    labels: Labels
    kind: str
    low: float
    high: float
    step: float
    noise: float = 0.0


def spec(metric: str, kind: str, low: float, high: float, step: float, noise: float = 0.0, **labels: str) -> Spec:
    """A row of the tables below."""
    return Spec(metric, tuple(sorted(labels.items())), kind, low, high, step, noise)


def load(count: int, random: np.random.Generator) -> Floats:
    """How busy a machine is, 0 … 1: stretches of half a minute to ten minutes, a third of them idle."""
    lengths = random.integers(30, 600, count // 30 + 2)
    levels = np.where(random.random(len(lengths)) < 0.33, 0.0, random.uniform(0.4, 1.0, len(lengths)))
    return np.repeat(levels, lengths)[:count]


def _rounded(values: Floats, step: float) -> Floats:
    """Multiples of a step, as the division by a power of ten gives them."""
    if step < 1:
        return np.round(np.rint(values / step) / round(1 / step), 9)
    return np.rint(values / step) * step


def _constant(one: Spec, _state: float | None, busy: Floats, _random: np.random.Generator) -> Floats:
    return np.full(len(busy), one.high)


def _gauge(one: Spec, _state: float | None, busy: Floats, random: np.random.Generator) -> Floats:
    span = one.high - one.low
    values = one.low + span * busy + random.normal(0, span * one.noise, len(busy))
    return _rounded(np.clip(values, one.low, one.high), one.step)


def _drift(one: Spec, state: float | None, busy: Floats, random: np.random.Generator) -> Floats:
    """Follows the load slowly, as temperatures and memory do."""
    span = one.high - one.low
    begin = one.low + span / 2 if state is None else state
    wander = begin + np.cumsum(random.normal(0, span * one.noise, len(busy)) + (busy - 0.45) * span * 2e-3)
    over = (wander - one.low) % (2 * span)
    return _rounded(one.low + np.where(over > span, 2 * span - over, over), one.step)


def _counter(one: Spec, state: float | None, busy: Floats, random: np.random.Generator) -> Floats:
    rate = one.low + (one.high - one.low) * busy * (1 + random.normal(0, one.noise, len(busy)))
    steps = np.rint(np.maximum(rate, 0) / one.step)
    begin = 0.0 if state is None else np.rint(state / one.step)
    total = begin + np.cumsum(steps)
    return np.round(total / round(1 / one.step), 9) if one.step < 1 else total * one.step


def _rare(one: Spec, state: float | None, busy: Floats, random: np.random.Generator) -> Floats:
    """A count of what happens now and then, `high` times a second under full load."""
    return (state or 0.0) + np.cumsum(random.poisson(one.low + (one.high - one.low) * busy)).astype(float)


SHAPES: Mapping[str, Callable[[Spec, float | None, Floats, np.random.Generator], Floats]] = {
    "constant": _constant,
    "gauge": _gauge,
    "drift": _drift,
    "counter": _counter,
    "rare": _rare,
}


def make(
    specs: Sequence[Spec], state: Sequence[float | None], count: int, random: np.random.Generator
) -> tuple[Floats, list[float | None]]:
    """(float64[series, count], where each ended). One load moves all series of a target."""
    busy = load(count, random)
    values = np.array([SHAPES[one.kind](one, before, busy, random) for one, before in zip(specs, state, strict=True)])
    return values, values[:, -1].tolist()


FUNCTIONS = (("p0", "rocep1s0f0"), ("p0", "rocep1s0f1"), ("p1", "roceP2p1s0f0"), ("p1", "roceP2p1s0f1"))
PORTS = [
    one
    for cage, function in FUNCTIONS
    for one in (
        spec("rdma_transmit_bytes_total", "counter", 0, 5e9, 4, 0.05, cage=cage, function=function),
        spec("rdma_receive_bytes_total", "counter", 0, 5e9, 4, 0.05, cage=cage, function=function),
        spec("netdev_transmit_bytes_total", "counter", 800, 40_000, 1, 0.3, cage=cage, function=function),
        spec("netdev_receive_bytes_total", "counter", 800, 40_000, 1, 0.3, cage=cage, function=function),
        spec("link_up", "constant", 0, 1, 1, cage=cage, function=function),
        spec("link_capacity_bytes_per_second", "constant", 0, 12.5e9, 1, cage=cage, function=function),
    )
]
NODE: tuple[Spec, ...] = (
    spec("gpu_utilization_ratio", "gauge", 0, 1, 0.01, 0.02, gpu="0"),
    spec("gpu_temperature_celsius", "drift", 38, 82, 1, 0.002, gpu="0"),
    spec("gpu_power_watts", "gauge", 9, 92, 0.01, 0.03, gpu="0"),
    spec("gpu_power_instant_watts", "gauge", 9, 96, 0.01, 0.05, gpu="0"),
    spec("gpu_power_limit_watts", "constant", 0, 140, 1, gpu="0"),
    spec("gpu_sm_clock_hertz", "gauge", 208e6, 2.55e9, 13e6, 0.01, gpu="0"),
    spec("gpu_sm_clock_max_hertz", "constant", 0, 3.003e9, 1, gpu="0"),
    spec("gpu_performance_state", "gauge", 0, 8, 8, gpu="0"),
    spec("gpu_clock_event_reasons", "gauge", 0, 4, 4, 0.2, gpu="0"),
    spec("gpu_process_memory_bytes", "constant", 0, 109_521_666_048, 1, gpu="0"),
    spec("gpu_processes", "constant", 0, 1, 1, gpu="0"),
    spec("gpu_energy_joules_total", "counter", 9, 92, 0.001, 0.03, gpu="0"),
    spec("gpu_throttle_seconds_total", "rare", 0, 0.002, 1, gpu="0", reason="thermal"),
    spec("memory_total_bytes", "constant", 0, 128_452_956_160, 1),
    spec("memory_used_bytes", "drift", 110e9, 120e9, 4096, 0.0002),
    spec("memory_available_bytes", "drift", 8e9, 18e9, 4096, 0.0002),
    spec("memory_available_min_bytes", "drift", 8e9, 18e9, 4096, 0.0002),
    spec("memory_headroom_bytes", "drift", 8e9, 18e9, 4096, 0.0002),
    spec("memory_free_bytes", "drift", 1e9, 9e9, 4096, 0.0005),
    spec("memory_cached_bytes", "drift", 6e9, 9e9, 4096, 0.0001),
    spec("swap_in_bytes_total", "constant", 0, 0, 1),
    spec("swap_out_bytes_total", "constant", 0, 0, 1),
    spec("pressure_waiting_seconds_total", "counter", 0, 0.004, 1e-6, 0.8, resource="memory"),
    spec("pressure_stalled_seconds_total", "counter", 0, 0.002, 1e-6, 0.8, resource="memory"),
    spec("memory_compaction_stalls_total", "rare", 0, 0.01, 1),
    spec("memory_allocation_stalls_total", "rare", 0, 0.01, 1),
    spec("oom_kills_total", "constant", 0, 0, 1),
    spec("management_transmit_bytes_total", "counter", 2000, 90_000, 1, 0.4, interface="enP7s7"),
    spec("management_receive_bytes_total", "counter", 2000, 60_000, 1, 0.4, interface="enP7s7"),
    spec("cpu_busy_seconds_total", "counter", 0.3, 6, 0.01, 0.1),
    spec("cpu_cores", "constant", 0, 20, 1),
    spec("load_average", "drift", 0, 12, 0.01, 0.002),
    spec("temperature_celsius", "drift", 40, 78, 0.1, 0.002, sensor="acpitz"),
    spec("disk_available_bytes", "drift", 8e11, 9e11, 4096, 1e-7, mount="/"),
    spec("uptime_seconds", "counter", 1, 1, 1),
    spec("agent_cpu_seconds_total", "counter", 0.005, 0.005, 0.01),
    *PORTS,
)
SCALARS: tuple[Spec, ...] = (
    spec("generation_tokens_total", "counter", 0, 320, 1, 0.08),
    spec("prompt_tokens_total", "counter", 0, 900, 1, 1.0),
    spec("prompt_tokens_computed_total", "counter", 0, 500, 1, 1.0),
    spec("prompt_tokens_cached_total", "counter", 0, 400, 1, 1.0),
    spec("prompt_tokens_transferred_total", "constant", 0, 0, 1),
    spec("preemptions_total", "rare", 0, 0.005, 1),
    spec("prefix_cache_queries_total", "counter", 0, 900, 1, 1.0),
    spec("prefix_cache_hits_total", "counter", 0, 400, 16, 1.0),
    spec("speculative_drafts_total", "counter", 0, 120, 1, 0.08),
    spec("speculative_draft_tokens_total", "counter", 0, 360, 1, 0.08),
    spec("speculative_accepted_tokens_total", "counter", 0, 200, 1, 0.1),
    spec("estimated_flops_total", "counter", 0, 2e13, 1e6, 0.1),
    spec("requests_running", "gauge", 0, 24, 1, 0.06),
    spec("requests_waiting", "gauge", 0, 3, 1, 0.2),
    spec("kv_cache_usage_ratio", "drift", 0.02, 0.8, 1e-6, 0.004),
    spec("kv_cache_capacity_tokens", "constant", 0, 421_376, 1),
    spec("engine_sleep_state", "constant", 0, 0, 1),
    spec("scrape_duration_seconds", "gauge", 0.001, 0.02, 1e-6, 0.1),
    spec("scrape_size_bytes", "constant", 0, 61_440, 1),
    *(
        spec("requests_finished_total", "rare", 0, rate, 1, outcome=outcome)
        for outcome, rate in (("stop", 0.9), ("length", 0.3), ("abort", 0.01), ("error", 0.0))
    ),
    *(
        spec("speculative_accepted_by_position_total", "counter", 0, 110 * 0.8**place, 1, 0.1, position=str(place))
        for place in range(17)
    ),
)
HISTOGRAMS: Mapping[str, float] = {
    "time_to_first_token_seconds": 1.2,
    "inter_token_latency_seconds": 320.0,
    "time_per_output_token_seconds": 1.2,
    "e2e_latency_seconds": 1.2,
    "request_queue_seconds": 1.2,
    "request_prefill_seconds": 1.2,
    "request_decode_seconds": 1.2,
    "iteration_tokens": 16.0,
}
"""Histogram → observations a second under full load."""
EDGES = ("0.001", "0.002", "0.005", "0.01", "0.02", "0.04", "0.06", "0.08", "0.1", "0.15", "0.25", "0.5",
         "0.75", "1.0", "2.5", "5.0", "10.0", "20.0", "40.0", "+Inf")  # fmt: skip


def _histogram(name: str, rate: float) -> list[Spec]:
    """Its parts. A bucket is cumulative: what it gains grows with its edge; the last ones gain the same."""
    bucket, total, count = (f"{name}_{part}" for part in PARTS)
    shares = np.clip((np.arange(len(EDGES)) - 3) / 10, 0, 1)
    buckets = [
        spec(bucket, "rare", 0, rate * share, 1, le=edge) for edge, share in zip(EDGES, shares.tolist(), strict=True)
    ]
    return [*buckets, spec(total, "counter", 0, rate * 0.11, 1e-6, 0.5), spec(count, "rare", 0, rate, 1)]


def _of_engine(one: Spec) -> Spec:
    """An engine's series carry engine and model; what the hub says of the target does not."""
    labels = () if one.metric.startswith("scrape_") else (("engine", "0"), ("model", "gpt-oss-120b"))
    return Spec(one.metric, tuple(sorted((*one.labels, *labels))), one.kind, one.low, one.high, one.step, one.noise)


ENGINE: tuple[Spec, ...] = tuple(
    map(_of_engine, (*SCALARS, *(one for name, rate in HISTOGRAMS.items() for one in _histogram(name, rate))))
)
