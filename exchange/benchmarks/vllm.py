"""`vllm bench serve --save-result`: one flat object; `--append-result` writes several, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from exchange.benchmarks import numbers as of
from exchange.benchmarks.fields import Fields
from exchange.benchmarks.record import Benchmark
from runs.entries import Entry, Number

TOOL = "vllm bench serve"
NEEDED = ("date", "duration", "completed", "total_output_tokens")
"""An object with all of these is one of its results."""
PERCENT = 0.01
PLAIN: tuple[tuple[str, Number, float], ...] = (
    ("duration", of.SECONDS, 1),
    ("completed", of.COMPLETED, 1),
    ("failed", of.FAILED, 1),
    ("total_input_tokens", of.PROMPT, 1),
    ("total_output_tokens", of.OUTPUT, 1),
    ("output_throughput", of.CLIENT_TPS, 1),
    ("total_token_throughput", of.TOTAL_TPS, 1),
    ("request_throughput", of.REQUEST_RATE, 1),
    ("request_goodput", of.GOODPUT, 1),
    ("max_output_tokens_per_s", of.PEAK, 1),
    ("max_concurrent_requests", of.PEAK_REQUESTS, 1),
    ("spec_decode_acceptance_rate", of.ACCEPTANCE, PERCENT),
    ("spec_decode_acceptance_length", of.ACCEPTED_LENGTH, 1),
)
"""Key of the file → number, and what one of it is in the base unit."""
LATENCY = re.compile(r"(mean|median|std|p\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el)_ms")
POSITIONS = "spec_decode_per_position_acceptance_rates"
PROTOCOL = {
    "backend": "backend",
    "endpoint_type": "endpoint",
    "label": "label",
    "tokenizer_id": "tokenizer",
    "num_prompts": "requests asked for",
    "request_rate": "requests per second asked for",
    "burstiness": "burstiness",
    "max_concurrency": "most requests at once",
    "ramp_up_strategy": "ramp-up",
    "ramp_up_start_rps": "ramp-up from",
    "ramp_up_end_rps": "ramp-up to",
}
LISTS = frozenset({POSITIONS})
COUNTED = re.compile(r"spec_decode_num_\w+|rtfx|model_id|date")


def fits(data: Any) -> bool:
    """Whether it looks like one of its results."""
    return isinstance(data, Mapping) and all(name in data for name in NEEDED)


def read(data: Mapping[str, Any], where: str) -> Benchmark:
    """A result; ValueError names the key that is wrong. where: which object of the file, for the sentence."""
    fields = Fields(data, where)
    ended = _ended(fields)
    return Benchmark(
        tool=TOOL,
        model=fields.text("model_id"),
        entries=tuple(_entries(fields)),
        local_end=ended,
        seconds=fields.number("duration", needed=True),
        protocol=_protocol(fields),
    )


def _ended(fields: Fields) -> str:
    given = fields.text("date", needed=True)
    try:
        return datetime.strptime(given, "%Y%m%d-%H%M%S").isoformat()
    except ValueError:
        raise fields.wrong("date", given, "a time like 20261130-024725") from None


def _entries(fields: Fields) -> Iterable[Entry]:
    for key, number, scale in PLAIN:
        value = fields.number(key, needed=key in NEEDED)
        if value is not None:
            yield number.entry(value * scale)
    for key in fields.data:
        if (found := LATENCY.fullmatch(key)) is not None:
            value = fields.number(key)
            if value is not None:
                yield of.latency(found[2], found[1]).entry(value / 1000)
    for place, share in enumerate(fields.numbers(POSITIONS)):
        yield of.ACCEPTANCE_AT.entry(share, of=str(place + 1))


def _protocol(fields: Fields) -> dict[str, str]:
    """How it was measured: what the tool tells, and what people gave it with --metadata. Lists are never read."""
    numbers = {key for key, _, _ in PLAIN}
    found = {}
    for key, value in fields.data.items():
        if value is None or isinstance(value, list | dict) or key in numbers:
            continue
        if LATENCY.fullmatch(key) or COUNTED.fullmatch(key):
            continue
        found[PROTOCOL.get(key, key)[:160]] = str(value)[:500]
    return found
