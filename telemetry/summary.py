"""Summaries: what is kept of every hour of a series, so that months are read without a single sample."""

from __future__ import annotations

from dataclasses import dataclass

from telemetry.frame import Floats, Ints
from telemetry.model import Series

HOUR_MS = 3_600_000
RATE_WINDOW_MS = 10_000
"""Window of the rates of a counter whose smallest and largest a summary keeps."""


@dataclass(frozen=True)
class Summaries:
    """Hours of several series. Arrays are float64[series, hour], NaN where the series has no known sample in the hour.

    hours: int64[hour], rising; start of each hour in epoch milliseconds, a multiple of HOUR_MS. An hour is the samples
        of start ≤ tick < start + HOUR_MS.
    count: known samples, 0 where there is none.
    first, last: the first and last of them; counters unwrapped.
    minimum, maximum: of a gauge or state its least and largest value; of a counter its least and largest trailing 10 s
        rate (per second) at the samples of the hour, NaN where no such rate is measurable.
    total: Σ of the values of a gauge or state; NaN for a counter.
    gain: what it gained over the steps that end in the hour and cross neither a gap nor a restart: the increase of a
        counter, the integral (value × seconds, trapezoid) of a gauge.
    seconds: length of those steps.
    """

    hours: Ints
    series: tuple[Series, ...]
    count: Floats
    first: Floats
    last: Floats
    minimum: Floats
    maximum: Floats
    total: Floats
    gain: Floats
    seconds: Floats
