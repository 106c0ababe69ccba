"""The prefill that runs beside requests in decode: no token misses, so only the number of requests shows it.

Prompt counters jump when a prefill has ended. While it runs, its request counts as running but has no time between
tokens: requests running less requests in decode tells how many are in prefill.
"""

from __future__ import annotations

import numpy as np

from dashboard.live.prefill import anew
from dashboard.live.scene import Scene
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.catalog.ratios import REQUESTS_DECODING
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Series

SMOOTH_MS = REQUESTS_DECODING.window_s * 1000.0
"""Both numbers are means of this long: the gauge is read between steps, tokens come in steps."""
LEAST, LEAST_SHARE = 0.5, 0.05
"""So many requests, and this share of those running, must be without tokens: less is the rounding of steps."""
Stretch = tuple[float, float]


def beside(scene: Scene) -> list[Stretch]:
    """(since, tick), milliseconds, of each engine in which a prefill runs now while others decode.

    Not known, so not told, where an engine does not count times between tokens, and for the first ten seconds after
    another prefill's end.
    """
    frame = scene.engines_of(engine.REQUESTS_RUNNING.name, engine.PROMPT_TOKENS.name, *DECODING)
    decoding = ratios.evaluate(REQUESTS_DECODING, frame, _owner)
    found = []
    for series in frame.series:
        if series.metric == engine.REQUESTS_RUNNING.name and _owner(series) in decoding:
            since = _since(frame, series, decoding[_owner(series)])
            if since is not None and since < scene.tick:
                found.append((since, float(scene.tick)))
    return found


DECODING = sorted(ratios.stored_names(REQUESTS_DECODING))


def _owner(series: Series) -> tuple[str, str | None, str | None]:
    return series.target, series.label("engine"), series.label("model")


def _since(frame: Frame, running: Series, decoding: Floats) -> float | None:
    """Since when a prefill runs in an engine; None where none is seen to."""
    ticks, count = frame.ticks, _mean(frame, running)
    without: Floats = count - decoding
    known = without[~np.isnan(without)].tolist()
    if not known:
        return None
    usual = max(min(known), 0.0)  # requests that never count: an engine that times only some of them
    shown = without - usual >= np.maximum(LEAST, LEAST_SHARE * np.nan_to_num(count))
    ended = _last_end(frame, Series(running.target, engine.PROMPT_TOKENS.name, running.labels))
    shown &= ticks >= ended + SMOOTH_MS
    if not len(shown) or not shown[-1]:
        return None
    before = np.flatnonzero(~shown & ~np.isnan(without))
    first = int(before[-1]) + 1 if len(before) else 0
    row = frame.row(running)
    return max(float(ticks[first]) - SMOOTH_MS / 2.0, ended, anew(frame, row) if row is not None else -np.inf)


def _mean(frame: Frame, running: Series) -> Floats:
    """Mean of the gauge over the window that ends at each tick, of the readings in it: float64[tick]."""
    row = frame.row(running)
    values: Floats = frame.values[row] if row is not None else np.full(len(frame.ticks), np.nan)
    known = ~np.isnan(values)
    summed, number = _running(np.nan_to_num(values)), _running(known.astype(np.float64))
    first = np.searchsorted(frame.ticks, frame.ticks - SMOOTH_MS, side="right")
    places = np.arange(1, len(values) + 1)
    count = number[places] - number[first]
    return np.where(count > 0, (summed[places] - summed[first]) / np.maximum(count, 1.0), np.nan)


def _running(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))


def _last_end(frame: Frame, prompts: Series) -> float:
    """Tick at which prompt tokens last grew: a prefill ended. The first tick where none did."""
    row = frame.row(prompts)
    if row is None or not len(frame.ticks):
        return float("inf")
    at, values = _samples(frame, row)
    moved = np.flatnonzero(np.diff(values) > 0)
    return float(at[moved[-1] + 1]) if len(moved) else float(frame.ticks[0])


def _samples(frame: Frame, row: int) -> tuple[Ints, Floats]:
    known = ~np.isnan(frame.values[row])
    return frame.ticks[known], frame.values[row, known]
