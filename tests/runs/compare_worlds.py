"""Cells for tests of comparisons: made up with a known truth, and those of the recorded benchmark."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from runs.compare.cells import LINES, Cells
from telemetry.frame import Floats

RECORDED = Path(__file__).parents[1] / "data" / "compare" / "bench-cells.json"
"""The recorded benchmark (open loop, 2 requests a second), cut into cells by `runs.compare.cells.cut`."""
START = 1_796_000_000_000
WIDTH_S = 5.0


def cells(count: int, width_s: float = WIDTH_S, first_ms: float = float(START), **lines: Any) -> Cells:
    """Cells with these lines (numbers or one number for all); what is not given is not known."""
    ends = START + np.arange(1, count + 1) * round(width_s * 1000)
    full = {name: np.broadcast_to(np.asarray(lines.get(name, np.nan), float), (count,)).copy() for name in LINES}
    return Cells(ends, width_s, first_ms, **full)


def noise(generator: np.random.Generator, count: int, memory: float) -> Floats:
    """A first-order autoregression of variance 1, as a sum over what came before: float64[count]."""
    reach = 1 if memory == 0 else int(np.ceil(-30.0 / np.log10(memory) / 10.0)) + 1
    weights = memory ** np.arange(reach) * np.sqrt(1.0 - memory**2)
    return np.convolve(generator.standard_normal(count + reach - 1), weights, mode="valid")


def steady(
    generator: np.random.Generator,
    count: int,
    *,
    speed: float = 20.0,
    running: Any = 4.0,
    memory: float = 0.5,
    sigma: float = 0.1,
    request_s: float = 5.0,
    **lines: Any,
) -> Cells:
    """A closed loop whose speed per request wanders about a truth; a request lasts `request_s`."""
    load = np.broadcast_to(np.asarray(running, float), (count,))
    tokens = speed * (1.0 + sigma * noise(generator, count, memory)) * load * WIDTH_S
    told = {"request_s": request_s, "requests": 1.0, "finished": 1.0, "queue": 0.0, "moved": 0.0, "stirred": 1.0}
    return cells(count, **{"tokens": tokens, "running_s": load * WIDTH_S, "waiting_s": 0.0, **told, **lines})


def wandering(generator: np.random.Generator, count: int, first: int, most: int = 8) -> Floats:
    """A number running that walks between 1 and `most`: float64[count]."""
    steps = generator.choice((-1, 0, 1), count, p=(0.1, 0.8, 0.1)).tolist()
    found, now = [], first
    for step in steps:
        now = min(max(now + step, 1), most)
        found.append(now)
    return np.array(found, dtype=np.float64)


@cache
def recorded() -> Cells:
    """The recorded benchmark."""
    return Cells.from_json(json.loads(RECORDED.read_text("utf-8")))


def resampled(generator: np.random.Generator, source: Cells, count: int, block: int = 4) -> Cells:
    """Another run of the same kind: blocks of a run's cells, drawn with replacement."""
    starts = generator.integers(0, len(source) - block + 1, -(-count // block))
    chosen = (starts[:, np.newaxis] + np.arange(block)).ravel()[:count]
    return source.take(chosen)


def faster(source: Cells, factor: float) -> Cells:
    """The same with so many times the tokens."""
    lines = {name: getattr(source, name) for name in LINES} | {"tokens": source.tokens * factor}
    return Cells(source.end_ms, source.width_s, source.first_ms, **lines)
