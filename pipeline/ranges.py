"""Which numbers a metric can have at all: what is outside is nonsense of the page, and unknown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.scrape.page import Layout
from telemetry import catalog
from telemetry.catalog import engine, gpu
from telemetry.frame import Floats
from telemetry.model import Kind, Metric, Scope, Unit

EXACT = 2.0**53
"""Beyond this a float no longer holds every whole number, so that a counter would lose what is added to it."""
WORDS = 2.0**66
"""Ports count 64-bit numbers of words of 4 bytes."""
ANY = 1e21
"""Beyond this a number is nonsense in every unit."""
OPERATIONS = 1e24
"""A century of one of today's GPUs."""


class Limits(NamedTuple):
    """low ≤ a number on a page ≤ high, in the metric's unit; a counter grows by at most `step` between two pages."""

    low: float
    high: float
    step: float = np.inf


GAUGES: dict[Unit, Limits] = {Unit.CELSIUS: Limits(-100.0, 1000.0), Unit.RATIO: Limits(0.0, 1.05)}
"""Units whose gauges are not just anything from 0 up; a ratio may be a little over 1, by rounding."""
SPECIAL: dict[str, Limits] = {
    engine.ESTIMATED_FLOPS.name: Limits(0.0, OPERATIONS, ANY),
    gpu.GPU_FAN_SPEED.name: Limits(0.0, 3.0),
}
"""Metrics that go beyond what is usual for their unit: NVML's fans turn faster than their nominal maximum."""


def limits_of(metric: Metric) -> Limits:
    """Limits of one stored metric."""
    if metric.name in SPECIAL:
        return SPECIAL[metric.name]
    if metric.kind is Kind.COUNTER:
        return Limits(0.0, EXACT if metric.scope is Scope.ENGINE else WORDS, EXACT)
    if metric.kind is Kind.STATE:
        return Limits(0.0, float(len(metric.states) - 1))
    return GAUGES.get(metric.unit, Limits(0.0, ANY))


def limits_of_lines(layout: Layout) -> Floats:
    """float64[3, n_raw]: low, high and step of each line of a page."""
    of_series = [limits_of(catalog.stored(series.metric)) for series in layout.series]
    return np.array(of_series, dtype=np.float64).reshape(-1, 3)[layout.source].T
