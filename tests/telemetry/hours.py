"""Days told in few numbers: samples at stated seconds of whole hours, and their summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from telemetry import far
from telemetry.frame import Frame
from telemetry.model import Metric, Ratio, Series
from telemetry.query import Line, Query
from telemetry.summary import HOUR_MS, Summaries, summarise
from tests.telemetry.frames import START_MS, Numbers, numbers, table

FIRST_MS = START_MS + 400_000
"""A whole hour, from which the seconds below count."""
STEP_S = 10
"""Interval of most frames here."""
PER_HOUR = 3600 // STEP_S


def frame(rows: Mapping[Series, Numbers], at_s: Sequence[float] | None = None, **more: object) -> Frame:
    """Samples every 10 s from FIRST_MS on, or at these seconds."""
    count = len(next(iter(rows.values())))
    seconds = [400 + second for second in (at_s or range(0, count * STEP_S, STEP_S))]
    return table(rows, at_s=seconds, interval_s=STEP_S, **more)  # type: ignore[arg-type]


def hours(samples: Frame) -> Summaries:
    """Summaries of all hours from the first to the last sample."""
    first, last = (int(tick) // HOUR_MS * HOUR_MS for tick in (samples.ticks[0], samples.ticks[-1]))
    return summarise(samples, range(first, last + 1, HOUR_MS))


def question(metric: Metric | Ratio, first: float, last: float, width: int = 1, **more: object) -> Query:
    """A query about the hours first … last (whole ones: 0, 0 is the first), in bins of `width` hours."""
    start, end = FIRST_MS + round(first * HOUR_MS), FIRST_MS + round((last + 1) * HOUR_MS) - 1
    return Query(metric, start, end, **{"width_ms": width * HOUR_MS, "slowest_ms": STEP_S * 1000} | more)  # type: ignore[arg-type]


def ask(metric: Metric | Ratio, samples: Frame, first: float, last: float, **more: object) -> list[Line]:
    """Answer of the hours first … last."""
    return far.answer(question(metric, first, last, **more), hours(samples))


def told(line: Line, *names: str) -> list[list[float | None]]:
    """Lists of a line by name."""
    return [numbers(np.asarray(getattr(line, name)).tolist()) for name in names]


def linear(rate: float, count: int, start: float = 0.0) -> list[float | None]:
    """A counter that grows by `rate` a second."""
    return [start + rate * STEP_S * number for number in range(count)]
