"""Names in braces that a rule's message may hold, in whose place values stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from alerts import expression as ex
from telemetry import formatting

HOLE = re.compile(r"\{(\w+)\}")
PEERS = "peers"


def spelled(name: str, how: str = "") -> tuple[str, ...]:
    """Names under which what was read stands: its own, and with how it was taken before it, "now" being nothing.

    >>> spelled("gpu_power_watts", "peers"), spelled("gpu.*.vbios")
    (('gpu_power_watts', 'peers_gpu_power_watts'), ('gpu_vbios',))
    """
    plain = re.sub(r"\W+", "_", name).strip("_")
    return (plain,) if how in ("", "now") else (plain, f"{how}_{plain}")


def limits(condition: ex.Condition) -> Mapping[str, str]:
    """The catalogue's limits of what a condition reads: {"warning_METRIC": text}."""
    return {
        f"{word}_{reading.metric.name}": formatting.text(float(value), reading.metric.unit)
        for reading in ex.readings(condition)
        for word in ("warning", "critical")
        if (value := getattr(reading.metric.limits, word, None)) is not None
    }


def names(of: ex.Condition | ex.Value) -> Iterator[str]:
    """Every name for what a condition reads, some of them twice."""
    if isinstance(of, ex.Reading):
        yield from spelled(of.metric.name, of.how)
    elif isinstance(of, ex.Peers) and isinstance(of.value, ex.Reading):
        yield from spelled(of.value.metric.name, PEERS)
    elif isinstance(of, ex.Differs) and isinstance(of.of, str):
        yield from spelled(of.of)
    for part in ex.parts(of):
        yield from names(part)
