"""Rows of a frame: those of some metrics, and which engine each is of."""

from __future__ import annotations

from collections.abc import Sequence

from telemetry.frame import Frame
from telemetry.model import Metric, Series

Place = tuple[str, str, str]
"""Target, engine and model of a series."""


def place(series: Series) -> Place:
    """Which engine a series is of."""
    return series.target, series.label("engine") or "", series.label("model") or ""


def of(frame: Frame, *metrics: Metric) -> Frame:
    """The rows of these metrics."""
    wanted = names(metrics)
    return frame.select(lambda series: series.metric in wanted)


def names(metrics: Sequence[Metric]) -> frozenset[str]:
    """Names to ask a reader for."""
    return frozenset(metric.name for metric in metrics)
