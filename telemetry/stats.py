"""Least, mean, largest and last of each line of an answer, over all of its range: of what the answer was made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from telemetry import far
from telemetry.bins import divides, mean
from telemetry.frame import Floats
from telemetry.model import Kind
from telemetry.quantiles import SIDES
from telemetry.query import Line, Query
from telemetry.summary import Summaries

RANKS = ("<", "=", ">")
"""What is known of where the largest of several percentiles lies: beyond the last edge, if one of them does."""


@dataclass(frozen=True)
class Stats:
    """NaN where unknown. mean: of gauges, of quotients Σ ∕ Σ; NaN of counts, states and percentiles, which have none.

    relation, last_relation: of percentiles, on which side of the edges `maximum` and `last` lie, as in `Line`.
    """

    minimum: float
    mean: float
    maximum: float
    last: float
    relation: str | None = None
    last_relation: str | None = None


def stats(query: Query, line: Line) -> Stats:
    """Of a line that was made of samples, or of percentiles of hours."""
    value = line.values
    low, high, last = (value, value, value) if value is not None else (line.minimum, line.maximum, line.last)
    assert low is not None
    assert high is not None
    assert last is not None
    known = np.flatnonzero(~np.isnan(last))
    if not len(known):
        return Stats(np.nan, np.nan, np.nan, np.nan)
    at = int(known[-1])
    told = [one for one in line.relation or () if one is not None]
    return Stats(
        float(np.nanmin(low)),
        _mean(query, line),
        float(np.nanmax(high)),
        float(last[at]),
        max(told, key=RANKS.index, default=None),
        _side(line, at),
    )


def _side(line: Line, at: int) -> str | None:
    """The relation of the last value: of a bin, `relation` tells that of its largest."""
    if line.last_side is not None:
        return SIDES.get(float(line.last_side[at]))
    return None if line.relation is None else line.relation[at]


def _mean(query: Query, line: Line) -> float:
    if query.ratio is None and query.metric.kind is not Kind.GAUGE:
        return float("nan")
    if line.above is None or line.below is None:
        return float("nan") if line.values is None else float(np.nanmean(line.values))
    known = ~np.isnan(line.above + line.below)
    above, below = (np.array(side[known].sum()) for side in (line.above, line.below))
    return float(mean(query, above, below, quotient=divides(query)))


def of_hours(query: Query, summaries: Summaries, until_ms: float | None) -> dict[frozenset[tuple[str, str]], Stats]:
    """By the labels of each line of an answer of hours: one bin of all of them."""
    whole = replace(query, points=1, width_ms=None)
    return {frozenset(line.labels.items()): _of_bin(query, line) for line in far.answer(whole, summaries, until_ms)}


def _of_bin(query: Query, line: Line) -> Stats:
    def first(values: Floats | None) -> float:
        return float("nan") if values is None or not len(values) else float(values[0])

    meant = query.ratio is not None or query.metric.kind is Kind.GAUGE
    average = first(line.mean) if meant else float("nan")
    return Stats(first(line.minimum), average, first(line.maximum), first(line.last))
