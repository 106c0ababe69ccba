"""Bits of a mask in words: the one mask that GPUs have is why their clock is not higher."""

from __future__ import annotations

import math
from collections.abc import Mapping

from telemetry.catalog import gpu
from telemetry.formatting import UNKNOWN_TEXT

REASONS: Mapping[int, str] = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "power brake",
    0x100: "display clock",
}
MASKS: Mapping[str, Mapping[int, str]] = {gpu.GPU_CLOCK_EVENT_REASONS.name: REASONS}
"""By the names of metrics."""
NOTHING = "none"


def said(metric: str, value: float | None) -> str:
    """The bits of a mask by name, lowest first; those without a name as a number.

    >>> said("gpu_clock_event_reasons", 0x88), said("gpu_clock_event_reasons", 0x201), said("other", 0x60)
    ('hardware slowdown, power brake', 'idle, 0x200', '0x60')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN_TEXT
    names, bits = MASKS.get(metric, {}), int(value)
    held = [word for bit, word in names.items() if bits & bit]
    rest = bits & ~sum(names)
    return ", ".join([*held, *([hex(rest)] if rest or not names else [])]) or NOTHING
