"""Frames written as tables of plain numbers: a row per series, None where there is no sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Frame
from telemetry.model import Series

Numbers = Sequence[float | None]
START_MS = 1_796_000_000_000


def series(metric: str = "generation_tokens_total", target: str = "head", **labels: str) -> Series:
    return Series(target, metric, tuple(sorted(labels.items())))


def table(
    rows: Mapping[Series, Numbers] | Sequence[Numbers],
    *,
    at_s: Sequence[float] | None = None,
    arrived_s: Sequence[float | None] | None = None,
    breaks: Mapping[int, Sequence[int]] | None = None,
    interval_s: float = 1.0,
) -> Frame:
    """A frame; ticks at `at_s` seconds after START_MS (0, 1, 2 … without), true when they were asked or at `arrived_s`.

    breaks: row → ticks (positions) at which a restart lies before the sample.
    """
    named = rows if isinstance(rows, Mapping) else {series(row=str(number)): row for number, row in enumerate(rows)}
    values = np.array([[np.nan if value is None else value for value in row] for row in named.values()], dtype=float)
    count = values.shape[1] if values.size else len(at_s or ())
    values = values.reshape(len(named), count)
    ticks = START_MS + np.array([round(second * 1000) for second in (at_s or range(count))], dtype=np.int64)
    true_s = ticks.astype(float) if arrived_s is None else START_MS + 1000.0 * np.array(arrived_s, dtype=float)
    broken = np.zeros(values.shape, dtype=bool)
    for row, columns in (breaks or {}).items():
        broken[row, list(columns)] = True
    gaps = np.full(len(named), interval_s * 1000 * NOMINAL_PER_GAP)
    return Frame(ticks, tuple(named), values, np.tile(true_s, (len(named), 1)), broken, gaps)


def numbers(line: Sequence[float]) -> list[float | None]:
    """Plain numbers again, None where unknown."""
    return [None if np.isnan(value) else round(float(value), 6) for value in line]
