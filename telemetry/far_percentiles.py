"""Percentiles of whole hours: of all that a bin observed, from two points of each bucket."""

from __future__ import annotations

import numpy as np

from telemetry.frame import Bools, Floats
from telemetry.grid import Grid, edge
from telemetry.histograms import INFINITE
from telemetry.model import Series, part
from telemetry.percentiles import Labels
from telemetry.quantiles import SIDES, quantiles, together
from telemetry.query import Line, Query


def lines(query: Query, grid: Grid) -> list[Line]:
    """A line for each group of histograms: `values` of each bin, unknown where it observed too little, with `count`."""
    name = part(query.metric, "bucket").name  # type: ignore[arg-type]
    groups: dict[Labels, list[int]] = {}
    for row, series in enumerate(grid.series):
        if series.metric == name:
            groups.setdefault(query.group(series), []).append(row)
    return [_line(query, key, grid.take(rows)) for key, rows in groups.items()]


def _line(query: Query, key: Labels, grid: Grid) -> Line:
    gained = np.full(grid.count.shape[:2], np.nan)
    for rows in _histograms(grid.series):
        gained[rows] = _gained(grid.take(rows))
    found = quantiles(*together(grid.series, gained, np.isnan(gained)), query.quantile)
    relation = tuple(SIDES.get(side) for side in found.side.tolist())
    return Line(dict(key), grid.t_ms, found.values, relation=relation, count=found.count)


def _histograms(series: tuple[Series, ...]) -> list[list[int]]:
    """Rows of each histogram, that of +Inf last."""
    rows: dict[tuple[str, Labels], list[tuple[float, int]]] = {}
    for row, one in enumerate(series):
        labels = tuple(pair for pair in one.labels if pair[0] != "le")
        rows.setdefault((one.target, labels), []).append((float(one.label("le") or "nan"), row))
    found = [sorted(edges) for edges in rows.values()]
    return [[row for _, row in edges] for edges in found if edges[-1][0] == INFINITE]


def _gained(grid: Grid) -> Floats:
    """Increase of each bucket over each bin: float64[bucket, bin]; NaN for an edge that the histogram, whose +Inf is
    the last row, did not have whenever it was read.

    From the last sample before the bin where the same edges were read in the hour before, else from the first in it.
    """
    same = ((grid.count == grid.count[-1]).all(axis=2)) & grid.count[-1].any(axis=1)
    before = (grid.before_count[-1] > 0) & _same_before(grid, same)
    start = np.where(before, grid.before_last, edge(grid, "first", newest=False))
    return np.where(same, edge(grid, "last", newest=True) - start, np.nan)


def _same_before(grid: Grid, same: Bools) -> Bools:
    return np.asarray((~same | (grid.before_count == grid.before_count[-1])).all(axis=0))
