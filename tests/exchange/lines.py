"""Lines and queries to make exports of."""

from __future__ import annotations

import numpy as np

from telemetry.model import Metric, Ratio
from telemetry.query import Line, Query

T0 = 1_796_000_000_000
NAN = float("nan")


def query(metric: Metric | Ratio, **more: object) -> Query:
    """A query of a minute."""
    return Query(metric, T0, T0 + 59_999, **more)  # type: ignore[arg-type]


def line(labels: dict[str, str], seconds: list[float], values: list[float]) -> Line:
    """Samples at these seconds after T0."""
    return Line(labels, np.array([T0 + round(one * 1000) for one in seconds], np.int64), np.array(values, float))


def bins(labels: dict[str, str], seconds: list[float], *parts: list[float]) -> Line:
    """Bins: minimum, maximum, mean, last."""
    t_ms = np.array([T0 + round(one * 1000) for one in seconds], np.int64)
    return Line(labels, t_ms, None, *(np.array(part, float) for part in parts))
