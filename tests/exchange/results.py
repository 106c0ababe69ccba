"""Results of benchmarks as their tools write them, small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data" / "benchmarks"


def recorded(name: str) -> bytes:
    """A recorded file: of the real tools, its lists cut short."""
    return (DATA / name).read_bytes()


def vllm(**changed: Any) -> dict[str, Any]:
    """A result of `vllm bench serve`: 400 tokens in 20 s, which ended at a tick of the small world, in UTC."""
    return {
        "date": "20261130-005350",
        "backend": "openai",
        "model_id": "org/Kimi-K3",
        "num_prompts": 4,
        "request_rate": "inf",
        "max_concurrency": None,
        "duration": 20.0,
        "completed": 4,
        "failed": 0,
        "total_input_tokens": 880,
        "total_output_tokens": 400,
        "output_throughput": 20.0,
        "mean_ttft_ms": 4100.0,
        "p99_ttft_ms": 5000.0,
    } | changed


def packed(*values: Any, between: str = "\n") -> bytes:
    """Objects as a file has them."""
    return between.join(json.dumps(one) for one in values).encode()


GUIDELLM = {
    "metadata": {"version": 2, "guidellm_version": "0.7.1"},
    "benchmarks": [
        {
            "type_": "generative_benchmark",
            "config": {"backend": {"model": "org/Kimi-K3"}, "strategy": {"type_": "concurrent", "streams": 4}},
            "scheduler_metrics": {"start_time": 1_796_000_010.0, "end_time": 1_796_000_030.0},
            "metrics": {
                "request_totals": {"successful": 4, "errored": 1, "incomplete": 0, "total": 5},
                "output_token_count": {"successful": {"mean": 100.0, "total_sum": 400.0, "count": 4}},
                "output_tokens_per_second": {"successful": {"mean": 19.5}},
                "time_to_first_token_ms": {
                    "successful": {
                        "mean": 812.5,
                        "median": 800.0,
                        "count": 4,
                        "percentiles": {"p50": 800.0, "p95": 990.0},
                    }
                },
                "request_latency": {"successful": {"mean": 5.25, "count": 4, "percentiles": {"p99": 6.0}}},
            },
            "requests": {"successful": [{"output": "a secret answer"}]},
        }
    ],
}
