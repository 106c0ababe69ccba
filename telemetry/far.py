"""A query answered from summaries of hours: months without a single sample, and nothing that hours do not tell.

Bins are whole hours. What does not follow exactly from what was kept of each series, like the largest sum of several,
is unknown (NaN), and so is the mean of a sum in an hour of which it is not certain when its members were watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from telemetry import far_percentiles, far_ratios
from telemetry.catalog import cluster, gpu
from telemetry.catalog.ratios import INTERCONNECT_TRANSMIT
from telemetry.frame import Bools, Floats
from telemetry.grid import Grid, alike, divided, edge, largest, lay_out, least, summed, watched
from telemetry.model import Fold, Kind, Metric, Series
from telemetry.percentiles import Labels
from telemetry.query import Line, Query
from telemetry.summary import HOUR_MS, Summaries

RECORDED = {
    gpu.GPU_POWER.name: cluster.CLUSTER_POWER,
    gpu.GPU_UTILIZATION.name: cluster.CLUSTER_UTILIZATION,
    INTERCONNECT_TRANSMIT.name: cluster.CLUSTER_TRANSMIT,
}
"""Series that say of the whole cluster, tick by tick, what the total of a metric says."""
RECORDED_FROM = 0.9
"""Share of the members' samples from which on a recorded series tells of an hour; it pauses while one is silent."""


def stored(query: Query) -> list[str]:
    """Names of the metrics whose summaries an answer needs."""
    more = _recorded(query)
    return [*query.stored(), *([] if more is None else [more.name])]


def start_ms(query: Query) -> int:
    """From when on they are needed: percentiles begin with the last sample of the hour before."""
    return query.start_ms - (HOUR_MS if query.metric.kind is Kind.HISTOGRAM else 0)


def bins(query: Query) -> tuple[int, int]:
    """(origin, width) of the bins: whole hours."""
    hour = query.start_ms // HOUR_MS * HOUR_MS
    if query.width_ms is None and query.points is not None and query.points <= 1:
        return hour, (query.end_ms - hour) // HOUR_MS * HOUR_MS + HOUR_MS
    return query.bins(HOUR_MS) or (0, HOUR_MS)


def tells_extremes(query: Query, series: Sequence[Series]) -> bool:
    """Whether the least and the largest value of each bin follow from summaries, too."""
    if query.metric.kind is Kind.HISTOGRAM or _recorded(query) is not None:
        return True
    members = [one for one in series if one.metric in query.stored() and query.wants(one)]
    alone = len({query.group(one) for one in members}) == len(members)
    if query.ratio is not None:
        return alone and far_ratios.has_extremes(query.ratio)
    return alone or query.metric.kind is Kind.COUNTER


def answer(query: Query, summaries: Summaries, until_ms: float | None = None) -> list[Line]:
    """Lines for a query, from summaries of its `stored` metrics of the hours that overlap the range, and one before.

    until_ms: the newest tick of the last hour where that is not over; without it, all hours are.
    """
    names = frozenset(stored(query))
    rows = [row for row, series in enumerate(summaries.series) if series.metric in names and query.wants(series)]
    grid = lay_out(summaries, rows, (query.start_ms, query.end_ms), bins(query), until_ms)
    if grid is None:
        return []
    recorded = _recorded(query)
    told = [row for row, series in enumerate(grid.series) if recorded and series.metric == recorded.name]
    members = grid.take([row for row in range(len(rows)) if grid.count[row].any() and row not in told])
    lines = _lines(query, members) if members.series else []
    return [_recorded_where(lines[0], members, grid.take(told))] if lines and told else lines


def _recorded_where(line: Line, members: Grid, told: Grid) -> Line:
    """A total's line, replaced by the recorded series in the bins of which that tells as long as there were members."""
    enough = (told.count.max(axis=0) >= RECORDED_FROM * members.count.max(axis=0)).all(axis=1)
    (own,) = _gauges(told, [()])
    names = ("minimum", "maximum", "mean", "last")
    return replace(line, **{name: np.where(enough, getattr(own, name), getattr(line, name)) for name in names})


def _recorded(query: Query) -> Metric | None:
    asked = query.total and query.targets is None and not query.labels
    return RECORDED.get(query.metric.name) if asked else None


def _lines(query: Query, grid: Grid) -> list[Line]:
    if query.ratio is not None:
        return far_ratios.lines(query, query.ratio, grid)
    if query.metric.kind is Kind.HISTOGRAM:
        return far_percentiles.lines(query, grid)
    kind = _counters if query.metric.kind is Kind.COUNTER else _gauges
    if query.total:
        return [_counted(grid) if kind is _counters else _total(grid, query.metric.across)]  # type: ignore[union-attr]
    return kind(grid, list(map(query.group, grid.series)))


def _gauges(grid: Grid, labels: Sequence[Labels]) -> list[Line]:
    mean = divided(summed(grid.total), summed(grid.count))
    low, high, last = least(grid.minimum), largest(grid.maximum), edge(grid, "last", newest=True)
    return [
        Line(dict(name), grid.t_ms, None, low[row], high[row], mean[row], last[row]) for row, name in enumerate(labels)
    ]


def _counters(grid: Grid, labels: Sequence[Labels]) -> list[Line]:
    """A counter never falls: its least is its first, its largest its last. The mean of a count is not kept."""
    low, high = edge(grid, "first", newest=False), edge(grid, "last", newest=True)
    none = np.full(len(grid.t_ms), np.nan)
    return [Line(dict(name), grid.t_ms, None, low[row], high[row], none, high[row]) for row, name in enumerate(labels)]


def _total(grid: Grid, across: Fold) -> Line:
    """Of a bin with one member all that is known of it; of several what follows exactly for their fold."""
    known = grid.count.any(axis=2)
    single = known.sum(axis=0) == 1
    nothing = np.full(len(grid.t_ms), np.nan)
    low, high = least(least(grid.minimum), 0), largest(largest(grid.maximum), 0)
    last = largest(edge(grid, "last", newest=True), 0)
    mean = {Fold.SUM: _mean_of_sum, Fold.MEAN: _mean_of_mean}.get(across, lambda _: nothing)(grid)
    own = divided(np.nansum(grid.total, axis=(0, 2)), grid.count.sum(axis=(0, 2)))
    return Line(
        {},
        grid.t_ms,
        None,
        np.where(single | (across is Fold.MIN), low, np.nan),
        np.where(single | (across is Fold.MAX), high, np.nan),
        np.where(single, own, mean),
        np.where(single, last, np.nan),
    )


def _mean_of_sum(grid: Grid) -> Floats:
    """Σ of the members' means where all were read equally often; else of their integrals, over the time watched."""
    often = grid.count.max(axis=0)
    equal = alike(grid.count)
    sums = np.nansum(divided(grid.total, grid.count), axis=0) * often
    seconds, certain = watched(grid.series, grid.seconds, grid.cap_s)
    gained = np.where(certain, np.nansum(grid.gain, axis=0), 0.0)
    by_time = divided(gained.sum(axis=1), np.where(certain, seconds, 0.0).sum(axis=1))
    return np.where(equal.all(axis=1), divided(sums.sum(axis=1), often.sum(axis=1)), by_time)


def _mean_of_mean(grid: Grid) -> Floats:
    """Mean of the members' means in the hours in which all were read equally often."""
    equal = alike(grid.count)
    often = np.where(equal, grid.count.max(axis=0), 0.0)
    members = (grid.count > 0).sum(axis=0).astype(np.float64)
    mean = divided(np.nansum(divided(grid.total, grid.count), axis=0), members)
    return divided(np.nansum(mean * often, axis=1), often.sum(axis=1))


def _counted(grid: Grid) -> Line:
    """Total of counters, member by member as `near.counted` has it: one that is away keeps its last count, one that has
    not come yet stands at its first. The least of a bin is known where its first members were read equally often."""
    known = np.asarray(grid.count.any(axis=2))
    first, last = edge(grid, "first", newest=False), edge(grid, "last", newest=True)
    here = known.any(axis=0)
    hour = np.argmax(grid.count.any(axis=0), axis=1)
    often = np.take_along_axis(grid.count, hour[np.newaxis, :, np.newaxis], axis=2)[:, :, 0]
    begin = np.where(often > 0, first, _standing(known, first, last, before=True))
    high = np.where(here, _standing(known, first, last, before=False).sum(axis=0), np.nan)
    low = np.where(here & alike(often), begin.sum(axis=0), np.nan)
    return Line({}, grid.t_ms, None, low, high, np.full(len(high), np.nan), high)


def _standing(known: Bools, first: Floats, last: Floats, *, before: bool) -> Floats:
    """Where each counter stands at the end of each bin, or just before it: float64[series, bin]."""
    newest = np.maximum.accumulate(np.where(known, np.arange(known.shape[1]), -1), axis=1)
    if before:
        newest = np.concatenate((np.full((len(known), 1), -1), newest[:, :-1]), axis=1)
    oldest = np.take_along_axis(first, np.argmax(known, axis=1)[:, np.newaxis], axis=1)
    return np.where(newest >= 0, np.take_along_axis(last, np.maximum(newest, 0), axis=1), oldest)
