"""Frames written down as numbers: what a rule would read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from telemetry.frame import Frame
from telemetry.model import Series

NAN = float("nan")
START_MS = 1_790_000_000_000


def frame(rows: Mapping[Series, Sequence[float]], step_s: float = 1.0, gap_ms: float | None = None) -> Frame:
    """One sample per step; a number that is none is a moment at which the target was not read."""
    values = np.array([list(row) for row in rows.values()], dtype=np.float64)
    ticks = START_MS + (np.arange(values.shape[1]) * step_s * 1000).astype(np.int64)
    at_ms = np.where(np.isnan(values), np.nan, ticks.astype(np.float64))
    gaps = np.full(len(rows), 2500.0 * step_s if gap_ms is None else gap_ms)
    return Frame(ticks, tuple(rows), values, at_ms, np.zeros(values.shape, dtype=bool), gaps)


def of_node(node: str, metric: str, **labels: str) -> Series:
    return Series(node, metric, tuple(sorted(labels.items())))


def of_engine(metric: str, target: str = "head", model: str = "Kimi-K3", **labels: str) -> Series:
    return Series(target, metric, tuple(sorted({"engine": "0", "model": model, **labels}.items())))
