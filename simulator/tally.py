"""What the imaginary engine counts: plain integers and histograms, all starting at 0 with its process."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

DRAFT_TOKENS = 8
INFINITY = float("inf")


def decades(largest: float) -> tuple[float, ...]:
    """1, 2, 5, 10, … up to a limit that need not be one of them."""
    steps = (float(mantissa * 10**power) for power in range(10) for mantissa in (1, 2, 5))
    return tuple(edge for edge in steps if edge <= largest)


CONTEXT = 262_144
KV_TOKENS = 2 * CONTEXT
"""Longest request, and what fits the KV cache."""
TTFT: tuple[float, ...] = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0)
TTFT += (2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0)
PER_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
WHOLE: tuple[float, ...] = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
WHOLE += (120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0)
STEP = (1.0, *(float(2**power) for power in range(3, 15)))
EDGES: dict[str, Sequence[float]] = {
    "request_prompt_tokens": decades(CONTEXT),
    "request_generation_tokens": decades(CONTEXT),
    "iteration_tokens_total": STEP,
    "request_max_num_generation_tokens": decades(CONTEXT),
    "request_params_n": (1.0, 2.0, 5.0, 10.0, 20.0),
    "request_params_max_tokens": decades(CONTEXT),
    "time_to_first_token_seconds": TTFT,
    "inter_token_latency_seconds": PER_TOKEN,
    "request_time_per_output_token_seconds": PER_TOKEN,
    "e2e_request_latency_seconds": WHOLE,
    "request_queue_time_seconds": WHOLE,
    "request_inference_time_seconds": WHOLE,
    "request_prefill_time_seconds": WHOLE,
    "request_decode_time_seconds": WHOLE,
    "request_num_preemptions": (1.0, 2.0, 5.0, 10.0, 20.0),
    "request_prefill_kv_computed_tokens": decades(CONTEXT),
}
"""Upper edges of the engine's histograms, without +Inf."""


class Histogram:
    """Observations per bucket; an observation on an edge belongs to the bucket below it."""

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges = (*edges, INFINITY)
        self.counts = [0] * len(self.edges)
        self.sum = 0.0
        self.count = 0

    def observe(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self.edges, value)] += 1
        self.sum += value
        self.count += 1


@dataclass
class Tally:
    """Counters, gauges and histograms of one life of the engine's process, as after its last step."""

    started: float
    generated: int = 0
    prompt: int = 0
    computed: int = 0
    cached: int = 0
    queries: int = 0
    hits: int = 0
    drafts: int = 0
    accepted: int = 0
    by_position: list[int] = field(default_factory=lambda: [0] * DRAFT_TOKENS)
    finished: dict[str, int] = field(default_factory=lambda: {"stop": 0, "length": 0, "abort": 0})
    running: int = 0
    waiting: int = 0
    kv_usage: float = 0.0
    histograms: dict[str, Histogram] = field(
        default_factory=lambda: {name: Histogram(edges) for name, edges in EDGES.items()}
    )

    def observe(self, name: str, value: float) -> None:
        """Count one observation in one of the histograms."""
        self.histograms[name].observe(value)
