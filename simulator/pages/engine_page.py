"""What the imaginary engine answers: `/metrics` as the Python front end of vLLM 0.32 writes it, models and version.

A row of the table is one family in the page's order. A counter also yields a gauge `_created`, and so does a histogram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simulator.engine import KV_BLOCKS
from simulator.pages.clocks import Clocks
from simulator.requests import BLOCK
from simulator.tally import CONTEXT, DRAFT_TOKENS, EDGES, INFINITY, KV_TOKENS, Histogram, Tally
from simulator.world import WARM_UP_S, World

MODEL = "moonshotai/Kimi-K3"
VERSION = "0.32.0"
ENGINE, NAME = 'engine="0"', f'model_name="{MODEL}"'
PLAIN = f"{ENGINE},{NAME}"
EARLIER_S = 7_200.0
"""How long before the simulation the first process started."""
REASONS = ("stop", "length", "abort", "error", "repetition")
TIERS = ("device", "host", "p2p", "disk", "external_unspecified")
Values = Iterable[tuple[str, float]]


@dataclass(frozen=True)
class Family:
    """One family: what stands in each line is read from the tally; histograms are found by their name."""

    name: str
    kind: str
    help: str
    read: Callable[[Tally], Values]


def _plain(name: str, kind: str, text: str, read: Callable[[Tally], float]) -> Family:
    return Family(name, kind, text, lambda tally: ((PLAIN, read(tally)),))


def _none(_tally: Tally) -> float:
    return 0.0


def _positions(tally: Tally) -> Values:
    return ((f'{PLAIN},position="{at}"', tally.by_position[at]) for at in range(DRAFT_TOKENS))


def _waiting(tally: Tally) -> Values:
    yield f'{PLAIN},reason="capacity"', tally.waiting
    yield f'{PLAIN},reason="deferred"', 0


def _sleep(_tally: Tally) -> Values:
    return ((f'{PLAIN},sleep_state="{state}"', float(state == "awake")) for state in SLEEP_STATES)


def _sources(tally: Tally) -> Values:
    yield f'{PLAIN},source="local_compute"', tally.computed
    yield f'{PLAIN},source="local_cache_hit"', tally.cached
    yield f'{PLAIN},source="external_kv_transfer"', 0


def _tiers(tally: Tally) -> Values:
    return ((f'{PLAIN},source="{tier}"', tally.hits if tier == "device" else 0) for tier in TIERS)


def _finished(tally: Tally) -> Values:
    return ((f'{ENGINE},finished_reason="{reason}",{NAME}', tally.finished.get(reason, 0)) for reason in REASONS)


def _rejected(_tally: Tally) -> Values:
    return ((f'{NAME},reason="{reason}"', 0) for reason in ("max_num_queued_reqs", "max_num_queued_tokens"))


SLEEP_STATES = ("awake", "weights_offloaded", "discard_all")
SPECULATIVE = "vllm:spec_decode_num_"
FAMILIES = (
    _plain(f"{SPECULATIVE}drafts_total", "counter", "Drafts.", lambda tally: tally.drafts),
    _plain(f"{SPECULATIVE}draft_tokens_total", "counter", "Drafted tokens.", lambda tally: tally.drafts * DRAFT_TOKENS),
    _plain(f"{SPECULATIVE}accepted_tokens_total", "counter", "Accepted tokens.", lambda tally: tally.accepted),
    Family(f"{SPECULATIVE}accepted_tokens_per_pos_total", "counter", "Accepted tokens by position.", _positions),
    _plain("vllm:estimated_flops_per_gpu_total", "counter", "Estimated operations, not switched on.", _none),
    _plain("vllm:estimated_read_bytes_per_gpu_total", "counter", "Estimated reads, not switched on.", _none),
    _plain("vllm:estimated_write_bytes_per_gpu_total", "counter", "Estimated writes, not switched on.", _none),
    _plain("vllm:num_requests_running", "gauge", "Requests in the batch.", lambda tally: tally.running),
    _plain("vllm:num_requests_waiting", "gauge", "Requests in the queue.", lambda tally: tally.waiting),
    Family("vllm:num_requests_waiting_by_reason", "gauge", "Requests in the queue by reason.", _waiting),
    Family("vllm:engine_sleep_state", "gauge", "Where the weights are.", _sleep),
    _plain("vllm:kv_cache_usage_perc", "gauge", "KV cache in use, 1 is full.", lambda tally: tally.kv_usage),
    _plain("vllm:prefix_cache_queries_total", "counter", "Tokens looked up.", lambda tally: tally.queries),
    _plain("vllm:prefix_cache_hits_total", "counter", "Tokens found.", lambda tally: tally.hits),
    _plain("vllm:external_prefix_cache_queries_total", "counter", "Tokens looked up elsewhere.", _none),
    _plain("vllm:external_prefix_cache_hits_total", "counter", "Tokens found elsewhere.", _none),
    _plain("vllm:mm_cache_queries_total", "counter", "Items looked up.", _none),
    _plain("vllm:mm_cache_hits_total", "counter", "Items found.", _none),
    _plain("vllm:num_preemptions_total", "counter", "Preemptions.", _none),
    _plain("vllm:prompt_tokens_total", "counter", "Prompt tokens.", lambda tally: tally.prompt),
    Family("vllm:prompt_tokens_by_source_total", "counter", "Prompt tokens by source.", _sources),
    _plain("vllm:prompt_tokens_cached_total", "counter", "Cached prompt tokens.", lambda tally: tally.cached),
    Family("vllm:prompt_tokens_cached_by_source_total", "counter", "Cached prompt tokens by tier.", _tiers),
    _plain("vllm:generation_tokens_total", "counter", "Generated tokens.", lambda tally: tally.generated),
    Family("vllm:request_success_total", "counter", "Finished requests by reason.", _finished),
    Family("vllm:admission_rejections_total", "counter", "Rejected requests.", _rejected),
)
CONFIG = {
    "block_size": str(BLOCK),
    "cache_dtype": "auto",
    "enable_prefix_caching": "True",
    "engine": "0",
    "gpu_memory_utilization": "0.88",
    "kv_cache_max_concurrency": "2.0",
    "kv_cache_size_tokens": str(KV_TOKENS),
    "num_gpu_blocks": str(KV_BLOCKS),
    "prefix_caching_hash_algo": "sha256",
}
"""Of the labels of cache_config_info, those that say something."""


def number(value: float) -> str:
    """A number as the Python client writes it: 3.0, 0.25, 1.7960054e+09."""
    text = repr(float(value))
    whole, _, rest = text.partition(".")
    if len(whole) <= 6 or "e" in text:
        return text
    digits = (whole + rest).rstrip("0")
    return f"{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}e+{len(whole) - 1:02d}"


BUCKETS = {
    name: tuple(f'{ENGINE},le="{"+Inf" if edge == INFINITY else number(edge)}",{NAME}' for edge in (*edges, INFINITY))
    for name, edges in EDGES.items()
}


def started_s(world: World, clocks: Clocks) -> float:
    """Wall clock at which the engine's present process started."""
    started = world.engine.tally.started
    return clocks.wall_s(started - EARLIER_S if world.engine.lives == 1 else started)


def render(world: World, clocks: Clocks) -> str:
    """The page of the engine at the world's present instant."""
    tally, started = world.engine.tally, started_s(world, clocks)
    created = number(round(started + 41.7, 3))
    parts = [_process(started, clocks.wall_s(world.now))]
    for family in FAMILIES:
        lines = list(family.read(tally))
        parts.append(_header(family.name, family.kind, family.help))
        parts += [f"{family.name}{{{labels}}} {number(value)}\n" for labels, value in lines]
        if family.kind == "counter":
            name = family.name.removesuffix("_total") + "_created"
            parts.append(_header(name, "gauge", family.help))
            parts += [f"{name}{{{labels}}} {created}\n" for labels, _ in lines]
    parts += [_histogram(f"vllm:{name}", BUCKETS[name], tally.histograms[name], created) for name in EDGES]
    config = ",".join(f'{label}="{value}"' for label, value in CONFIG.items())
    parts.append(_header("vllm:cache_config_info", "gauge", "Configuration of the KV cache."))
    parts.append(f"vllm:cache_config_info{{{config}}} 1.0\n")
    return "".join(parts)


def _header(name: str, kind: str, text: str) -> str:
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _process(started: float, now: float) -> str:
    lines = (
        ("process_virtual_memory_bytes", "gauge", "Virtual memory.", 8.214e9),
        ("process_resident_memory_bytes", "gauge", "Resident memory.", 1.2885e9),
        ("process_start_time_seconds", "gauge", "Start of the process.", round(started, 2)),
        ("process_cpu_seconds_total", "counter", "Processor time.", round(0.4 * (now - started), 2)),
        ("process_open_fds", "gauge", "Open files.", 71),
    )
    return "".join(f"{_header(name, kind, text)}{name} {number(value)}\n" for name, kind, text, value in lines)


def _histogram(name: str, buckets: tuple[str, ...], histogram: Histogram, created: str) -> str:
    parts, total = [_header(name, "histogram", "Histogram.")], 0
    for labels, count in zip(buckets, histogram.counts, strict=True):
        total += count
        parts.append(f"{name}_bucket{{{labels}}} {number(total)}\n")
    parts.append(f"{name}_count{{{PLAIN}}} {number(histogram.count)}\n{name}_sum{{{PLAIN}}} {number(histogram.sum)}\n")
    parts.append(f"{_header(name + '_created', 'gauge', 'Histogram.')}{name}_created{{{PLAIN}}} {created}\n")
    return "".join(parts)


def models(world: World, clocks: Clocks) -> dict[str, object]:
    """`GET /v1/models`."""
    model = {
        "id": MODEL,
        "object": "model",
        "created": int(started_s(world, clocks)),
        "owned_by": "vllm",
        "root": MODEL,
        "parent": None,
        "max_model_len": CONTEXT,
    }
    return {"object": "list", "data": [model]}


assert WARM_UP_S < EARLIER_S, "the first process is older than the warm-up"
