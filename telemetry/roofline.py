"""The roofline of decoding: how short a step could be if nothing but reading the weights took time.

A step reads every weight that any of its tokens needs, once, and the memory of all nodes that hold them reads at the
same time. So no step is shorter than bytes ∕ (bandwidth × nodes). What a step reads beyond that (KV cache, activations,
a draft model) and what it waits for (the fabric, a kernel's start) is left out: the floor is never reached.

Of a mixture of experts a token reads few experts, but a step serves many tokens: those of all requests in it and, with
speculative decoding, every draft token that is verified. How many experts they touch together is not counted by any
engine. Where the figures are given, they are taken as drawn evenly and independently, `touched`; real texts prefer
some experts, so a step reads somewhat less. Without the figures a step counts as one token's bytes, a bound that holds
whatever the routing does, and lies far below for many tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

MEMORY_BANDWIDTH: Mapping[str, float] = {"NVIDIA GB10": 273e9}
"""Bytes per second that a GPU's memory can read, by the name NVML gives it; makers' figures, not measured."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a deployment's model weighs, as far as somebody has told.

    active_bytes: read for one token that is alone in its step, routed experts included.
    expert_bytes: of all routed experts together; experts: how many there are in a layer; experts_per_token: to how many
    of them a token is routed. All three or none.
    bandwidth: bytes per second of one node's memory, None: by the name of its GPU.
    nodes: on how many nodes an engine's step runs, None: on all.
    """

    active_bytes: float
    expert_bytes: float | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    bandwidth: float | None = None
    nodes: int | None = None


def touched(tokens: float, experts_per_token: int, experts: int) -> float:
    """Share of a layer's experts that at least one of some tokens is routed to, if drawn evenly and independently.

    >>> round(touched(1, 16, 896), 4), round(touched(27, 16, 896), 4)
    (0.0179, 0.3852)
    """
    return 1.0 - float((1.0 - experts_per_token / experts) ** tokens)


def step_bytes(weights: Weights, tokens: float) -> float:
    """Bytes of weights that a step of so many tokens reads; of less than one token, what one reads.

    >>> step_bytes(Weights(132e9), 27)
    132000000000.0
    """
    if weights.expert_bytes is None or weights.experts is None or weights.experts_per_token is None:
        return weights.active_bytes
    alone, together = (touched(n, weights.experts_per_token, weights.experts) for n in (1.0, max(tokens, 1.0)))
    return weights.active_bytes + weights.expert_bytes * (together - alone)


def step_tokens(requests: float, draft_tokens: float) -> float:
    """Tokens that go through the model in a step: of each request one, and its draft tokens. At least one request."""
    return max(requests, 1.0) * (1.0 + draft_tokens)


def floor_s(read_bytes: float, bytes_per_second: float) -> float:
    """Seconds below which no step can be: bytes ∕ what all nodes read together. NaN without a bandwidth."""
    return read_bytes / bytes_per_second if bytes_per_second > 0 else math.nan


def ceiling(read_bytes: float, bytes_per_second: float) -> float:
    """Steps per second of one engine that cannot be exceeded. NaN without bytes."""
    return bytes_per_second / read_bytes if read_bytes > 0 else math.nan


def share(floor: float, step_s: float) -> float:
    """Share of the roofline that is reached: floor ∕ measured step time. NaN where the step time is unknown or 0.

    >>> round(share(0.03, 0.15), 3)
    0.2
    """
    return floor / step_s if step_s > 0 else math.nan
