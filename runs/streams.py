"""Decode per request: tokens and requests over time, both of the same time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runs.phases import line
from runs.stretch import Stretch, of, place
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.frame import Floats, Frame

SIDES = (engine.GENERATION_TOKENS, engine.REQUESTS_RUNNING)


@dataclass(frozen=True, slots=True)
class Streams:
    """tokens: that came; request_s: requests running × seconds. Of the time alone in which both are known."""

    tokens: float
    request_s: float


def streams(stretch: Stretch) -> Streams:
    """Step by step from reading to reading: a step over a gap or a restart, or in which an engine of the run is silent,
    counts on neither side. A step that the start cuts counts with its part."""
    running, frame = line(stretch, engine.REQUESTS_RUNNING), of(stretch.engines, engine.GENERATION_TOKENS)
    if len(frame.ticks) < 2 or untold(stretch.engines):
        return Streams(0.0, 0.0)
    ticks = frame.ticks.astype(np.float64)
    gained, length = steps(frame), np.diff(ticks)
    known = ~np.isnan(gained)
    counted = ~np.isnan(ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms)))[:, :-1]
    load, seconds = running.values[:-1], running.seconds[:-1]
    usable = ~np.isnan(load) & known.any(axis=0) & ~(counted & ~known).any(axis=0)
    came = np.where(known, gained, 0.0).sum(axis=0) * seconds * 1000.0 / length
    return Streams(float(came[usable].sum()), float((load * seconds)[usable].sum()))


def untold(frame: Frame) -> bool:
    """Whether an engine counts output tokens and does not tell how many requests run, so that one has no other side."""
    counted, told = ({place(one) for one in of(frame, metric).series} for metric in SIDES)
    return bool(counted - told)


def steps(frame: Frame) -> Floats:
    """What counters gain from each tick to the next: float64[series, tick − 1]; NaN over a gap or a restart, and before
    the first and after the last sample. Between samples of one that is read more rarely they rise evenly."""
    found = np.full((len(frame.series), max(len(frame.ticks) - 1, 0)), np.nan)
    ticks = frame.ticks.astype(np.float64)
    for row, values in enumerate(frame.values):
        places = np.flatnonzero(~np.isnan(values))
        if len(places) < 2:
            continue
        ends = np.arange(1, len(ticks))
        after = np.searchsorted(places, ends)
        inside = (after > 0) & (after < len(places))
        right = places[np.minimum(after, len(places) - 1)]
        left = places[np.maximum(after - 1, 0)]
        restarts = np.cumsum(frame.breaks[row])
        whole = inside & (ticks[right] - ticks[left] <= frame.gap_ms[row]) & (restarts[right] == restarts[left])
        found[row] = np.where(whole, np.diff(np.interp(ticks, ticks[places], values[places])), np.nan)
    return found
