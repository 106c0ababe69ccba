"""How close the decode steps of a run came to the roofline; only where everything that it is made of is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runs.entries import Section, find
from runs.fingerprint import Fingerprint
from telemetry import roofline
from telemetry.roofline import MEMORY_BANDWIDTH, Weights


class UnknownError(Exception):
    """It cannot be told; the text says why."""


@dataclass(frozen=True, slots=True)
class Roof:
    """step_s: measured mean step. floor_s: no step can be shorter. ceiling: steps per second that cannot be exceeded.
    share: floor ∕ step. tokens: in a step. nodes: that read. why: why it is not known."""

    step_s: float | None = None
    floor_s: float | None = None
    ceiling: float | None = None
    share: float | None = None
    tokens: float | None = None
    nodes: int | None = None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def roof(weights: Weights | None, summary: Sequence[Section], printed: Fingerprint) -> Roof:
    """The roofline of a run. weights: what its model weighs, None where nobody has told (setting `roofline`)."""
    try:
        return _known(weights, summary, printed)
    except UnknownError as why:
        return Roof(why=str(why))


def _known(weights: Weights | None, summary: Sequence[Section], printed: Fingerprint) -> Roof:
    if weights is None:
        raise UnknownError("what the model weighs is not told (setting roofline)")
    engines = max(len(_names(printed, "engines")), 1)
    speed, nodes = _bandwidth(weights, engines, printed)
    tokens = _tokens(summary, engines)
    step = _value(summary, "latency.itl_mean")
    if step is None or step <= 0:
        raise UnknownError("the engine does not offer step times")
    read = roofline.step_bytes(weights, tokens)
    floor = roofline.floor_s(read, speed)
    if floor > step:
        raise UnknownError("steps are shorter than the figures allow; check the setting roofline")
    return Roof(step, floor, roofline.ceiling(read, speed), roofline.share(floor, step), tokens, nodes)


def _value(summary: Sequence[Section], path: str) -> float | None:
    found = find(summary, path)
    return None if found is None else found.value


def _names(printed: Fingerprint, key: str) -> list[str]:
    field = printed.find(key)
    return field.value.split(", ") if field is not None and field.value else []


def _bandwidth(weights: Weights, engines: int, printed: Fingerprint) -> tuple[float, int]:
    """Bytes per second that the nodes of one engine read together, and how many these are."""
    if weights.nodes is None and engines > 1:
        raise UnknownError("several engines step by themselves; set how many nodes one of them has (nodes)")
    nodes = len(_names(printed, "nodes")) if weights.nodes is None else weights.nodes
    if nodes == 0:
        raise UnknownError("which nodes took part is not known; set how many (nodes)")
    each = weights.bandwidth
    if each is None:
        gpu = printed.find("gpu")
        each = MEMORY_BANDWIDTH.get(gpu.value, math.nan) if gpu is not None and not gpu.apart else math.nan
    if not each > 0:
        raise UnknownError("memory bandwidth of the nodes is not known; set bandwidth")
    return each * nodes, nodes


def _tokens(summary: Sequence[Section], engines: int) -> float:
    """Tokens of a step of one engine."""
    requests = _value(summary, "phases.decoding_mean")
    if requests is None:
        raise UnknownError("how many requests were in decode is not known")
    drafted = _value(summary, "speculation.draft_length")
    if drafted is None and find(summary, "speculation.acceptance") is not None:
        raise UnknownError("this engine times tokens, not steps")
    return roofline.step_tokens(requests / engines, drafted or 0.0)
