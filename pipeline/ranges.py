"""Which numbers a metric can have, and how fast a counter can grow; what is outside is nonsense of a page, and unknown.

Every limit stands here. They are far beyond what a machine of today does, so that no burst is cut: a page read late, a
cage at its full rate, prefills of hours that are counted at their end all at once. What they stop is a number that
would become the peak of a chart and the greatest part of a total.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from collectors.scrape.page import Layout
from telemetry import catalog
from telemetry.catalog import engine, gpu, host, memory
from telemetry.frame import Bools, Floats
from telemetry.model import PARTS, Kind, Metric, Scope, Unit, part

EXACT = 2.0**53
"""Beyond this a float no longer holds every whole number, so that a counter would lose what is added to it."""
WORDS = 2.0**66
"""Ports count 64-bit numbers of words of 4 bytes."""
ANY = 1e21
"""Beyond this a number is nonsense in every unit."""
OPERATIONS = 1e24
"""A century of one of today's GPUs."""


LEAST_S = 1.0
"""Counters move in steps, so that even between two pages of one instant one of these seconds may have passed."""


class Limits(NamedTuple):
    """low ≤ a number on a page ≤ high, in the metric's unit; a counter grows by at most `rate` in a second, beside what
    was long in coming and is counted at once (`burst`)."""

    low: float
    high: float
    rate: float = np.inf
    burst: float = 0.0

    def most(self, seconds: float) -> float:
        """The most that a counter can have grown in this time."""
        return self.burst + self.rate * max(seconds, LEAST_S)


GAUGES: dict[Unit, Limits] = {
    Unit.BYTES: Limits(0.0, 1e15),
    Unit.PACKET_BYTES: Limits(0.0, 1e6),
    Unit.CELSIUS: Limits(-60.0, 200.0),
    Unit.COUNT: Limits(0.0, 1e15),
    Unit.HERTZ: Limits(0.0, 1e10),
    Unit.NETWORK_BYTES_PER_SECOND: Limits(0.0, 1e12),
    Unit.RATIO: Limits(0.0, 1.05),
    Unit.REQUESTS: Limits(0.0, 1e7),
    Unit.SECONDS: Limits(0.0, 1e10),
    Unit.TOKENS: Limits(0.0, 1e12),
    Unit.TOKENS_PER_SECOND: Limits(0.0, 1e7),
    Unit.TOKENS_PER_STEP: Limits(0.0, 1e6),
    Unit.WATTS: Limits(0.0, 2e4),
}
"""Of one device, engine or node. A ratio may be a little over 1, by rounding; a sensor that is not there likes to say
255, or what fills its bits."""
RATES: dict[tuple[Scope, Unit], float] = {
    (Scope.ENGINE, Unit.COUNT): 1e6,
    (Scope.ENGINE, Unit.REQUESTS): 1e6,
    (Scope.ENGINE, Unit.SECONDS): 1e6,
    (Scope.ENGINE, Unit.TOKENS): 1e6,
    (Scope.NODE, Unit.BYTES): 1e11,
    (Scope.NODE, Unit.COUNT): 1e8,
    (Scope.NODE, Unit.JOULES): 1e5,
    (Scope.NODE, Unit.SECONDS): 1e3,
}
"""What a counter grows by in a second at most. An engine's tokens are a hundred times those of 16 nodes, its seconds
are those of a million requests; a node's bytes are 800 Gb/s of each port and disk, its counts packets of such a port,
its seconds those of a thousand cores."""
AT_ONCE: dict[Unit, float] = {Unit.TOKENS: 1e8, Unit.SECONDS: 1e7}
"""What engines count of a request when it is over: a hundred prompts of a million tokens, a thousand waits of hours."""
AS_MADE = frozenset(
    {engine.GENERATION_TOKENS, engine.DRAFT_TOKENS, engine.ACCEPTED_TOKENS, engine.ACCEPTED_BY_POSITION}
)
"""Tokens that are counted as they are made, step by step."""
KERNEL_LINES = Limits(0.0, EXACT, 1e5)
"""What the kernel writes a line about, each time."""


def _special() -> dict[str, Limits]:
    lines = (host.KERNEL_XID, host.KERNEL_NO_MEMORY, host.KERNEL_AER, host.KERNEL_LINK, memory.OOM_KILLS)
    return {
        engine.ESTIMATED_FLOPS.name: Limits(0.0, OPERATIONS, 1e18),
        gpu.GPU_CLOCK_EVENT_REASONS.name: Limits(0.0, ANY),
        gpu.GPU_FAN_SPEED.name: Limits(0.0, 3.0),
        part(engine.ITL, PARTS[1]).name: Limits(0.0, EXACT, RATES[Scope.ENGINE, Unit.SECONDS]),
    } | {metric.name: KERNEL_LINES for metric in lines}


SPECIAL = _special()
"""Metrics that are not like others of their unit: NVML's fans turn faster than their nominal maximum, waits between
tokens are counted as they come."""


def limits_of(metric: Metric) -> Limits:
    """Limits of one stored metric."""
    if metric.name in SPECIAL:
        return SPECIAL[metric.name]
    if metric.kind is Kind.COUNTER:
        high = EXACT if metric.scope is Scope.ENGINE else WORDS
        at_once = metric.scope is Scope.ENGINE and metric not in AS_MADE
        burst = AT_ONCE.get(metric.unit, 0.0) if at_once else 0.0
        return Limits(0.0, high, RATES.get((metric.scope, metric.unit), np.inf), burst)
    if metric.kind is Kind.STATE:
        return Limits(0.0, float(len(metric.states) - 1))
    return GAUGES.get(metric.unit, Limits(0.0, ANY))


@dataclass(frozen=True)
class Ranges:
    """Limits of each line of a page: float64[n_raw] each."""

    low: Floats
    high: Floats
    rate: Floats
    burst: Floats

    def holds(self, raw: Floats) -> Bools:
        """Which numbers can be; not one that is unknown."""
        return np.asarray((raw >= self.low) & (raw <= self.high))

    def most(self, seconds: Floats) -> Floats:
        """The most that each line can have grown in this time."""
        return self.burst + self.rate * np.maximum(seconds, LEAST_S)

    def of(self, line: int) -> Limits:
        """Those of one line."""
        return Limits(*(float(column[line]) for column in (self.low, self.high, self.rate, self.burst)))


def limits_of_lines(layout: Layout) -> Ranges:
    """Limits of each line of a page."""
    of_series = [limits_of(catalog.stored(series.metric)) for series in layout.series]
    return Ranges(*np.array(of_series, dtype=np.float64).reshape(-1, len(Limits._fields))[layout.source].T)
