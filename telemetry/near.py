"""A query answered from samples: every one of them, or bins of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from telemetry import ratios
from telemetry.bins import Binned, Bins, lines
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame, Ints, Sheet
from telemetry.model import Fold, Kind, Metric, Ratio, Series
from telemetry.percentiles import Labels, percentiles
from telemetry.quantiles import SIDES
from telemetry.query import Line, Query
from telemetry.rollup import counted as counted_in
from telemetry.rollup import envelope, folded, known_in, slots


@dataclass(frozen=True)
class Block:
    """Lines of an answer at every tick, not yet reduced. Arrays are float64[line, tick], NaN where unknown.

    above, below: what a quotient divides, None where that is always as many seconds.
    side, count: of percentiles, see `percentiles.Percentiles`.
    """

    labels: tuple[Labels, ...]
    ticks: Ints
    values: Floats
    above: Floats | None = None
    below: Floats | None = None
    side: Floats | None = None
    count: Floats | None = None


def answer(query: Query, frame: Frame, step_ms: int = 1000) -> list[Line]:
    """Lines for a query, from a frame of its stored metrics over [start − lead, end]. Counters come as stored."""
    block = evaluate(query, frame)
    bins = query.bins(step_ms)
    few = query.width_ms is None and query.points is not None and len(block.ticks) <= query.points
    return whole(block) if bins is None or few else reduced(query, block, query.start_ms, bins)


def evaluate(query: Query, frame: Frame, standing: Mapping[Series, float] | None = None) -> Block:
    """The lines at every tick of the range that the frame holds. standing: see `counted`."""
    kept = [row for row, series in enumerate(frame.series) if query.wants(series)]
    frame = frame if len(kept) == len(frame.series) else frame.take(kept)
    low, high = np.searchsorted(frame.ticks, (query.start_ms, query.end_ms + 1))
    inside, ticks = slice(low, high), frame.ticks[low:high]
    if query.ratio is not None:
        return _quotients(query, query.ratio, frame, inside)
    if query.metric.kind is Kind.HISTOGRAM:
        found = percentiles(query.metric, frame, query.quantile, query.group, inside)  # type: ignore[arg-type]
        values, side, count = (
            _stacked([getattr(one, name) for one in found.values()], len(ticks)) for name in ("values", "side", "count")
        )
        return Block(tuple(found), ticks, values, side=side, count=count)
    if not query.total:
        return Block(tuple(map(query.group, frame.series)), ticks, frame.values[:, inside])
    if not len(frame.ticks) or (not frame.series and not standing):
        return Block((), ticks, np.zeros((0, len(ticks))))
    return Block(((),), ticks, _total(query.metric, frame, standing or {})[np.newaxis, inside])  # type: ignore[arg-type]


def plain(query: Query, sheet: Sheet) -> Block:
    """The same of values that are shown as they were stored, series by series."""
    kept = [row for row, series in enumerate(sheet.series) if query.wants(series)]
    whole = len(kept) == len(sheet.series)
    labels = tuple(query.group(sheet.series[row]) for row in kept)
    return Block(labels, sheet.ticks, sheet.values if whole else sheet.values[kept])


def _stacked(rows: list[Floats], ticks: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), ticks)


def _quotients(query: Query, ratio: Ratio, frame: Frame, inside: slice) -> Block:
    found = ratios.sides(ratio, frame, query.group)
    ticks = frame.ticks[inside]
    labels: tuple[Labels, ...] = tuple(found)  # type: ignore[arg-type]
    above = _stacked([both[0][inside] for both in found.values()], len(ticks))
    if ratios.is_per_second(ratio):
        return Block(labels, ticks, ratios.quotient(ratio, above, np.array(ratio.window_s)))
    below = _stacked([both[1][inside] for both in found.values()], len(ticks))
    return Block(labels, ticks, ratios.quotient(ratio, above, below), above, below)


def _total(metric: Metric, frame: Frame, standing: Mapping[Series, float]) -> Floats:
    if metric.kind is Kind.COUNTER:
        return counted(frame, standing)
    ticks = frame.ticks.astype(np.float64)
    held = ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms))
    if metric.across is Fold.SUM:
        return ratios.total(held, ticks, ~np.isnan(frame.values))
    return fold(held, metric.across)


def counted(frame: Frame, standing: Mapping[Series, float]) -> Floats:
    """Total of counters, which never falls: float64[tick]. Its increase between two ticks at which it is known is the
    sum of the members' increases, as `counters.increase` has them, so increases over any split of a range add up.

    A member that is away keeps its last value, and one that has not come yet stands at its first: neither coming nor
    going is an increase, and what happened meanwhile is added when the member is back. The total is unknown while a
    member fell silent less than SILENT_MS ago, and while no member is known.
    standing: where members stand before their first sample in the frame, and those that have none in it: what they had
    before, or will begin with.
    """
    ticks, known = frame.ticks.astype(np.float64), ~np.isnan(frame.values)
    seen = ratios.total(ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms)), ticks, known)
    last = ratios.last_known(known)
    nearest = np.where(last >= 0, last, np.argmax(known, axis=1)[:, np.newaxis])
    level = np.take_along_axis(frame.values, nearest, axis=1)
    for row, series in enumerate(frame.series):
        if series in standing:
            level[row, last[row] < 0] = standing[series]
    away = sum(value for series, value in standing.items() if frame.row(series) is None)
    return np.where(np.isnan(seen), np.nan, np.nansum(level, axis=0) + away)


def whole(block: Block) -> list[Line]:
    """Every sample."""
    return [
        Line(
            dict(labels),
            block.ticks,
            block.values[row],
            relation=None if block.side is None else _relation(block.side[row]),
            count=None if block.count is None else block.count[row],
            above=None if block.above is None else block.above[row],
            below=None if block.below is None else block.below[row],
            last_side=None if block.side is None else block.side[row],
        )
        for row, labels in enumerate(block.labels)
    ]


def reduced(query: Query, block: Block, start_ms: int, bins: Bins) -> list[Line]:
    """Bins (origin, width) from that of `start_ms` on. The mean of a quotient's bin is Σ ∕ Σ of its ticks: ratios are
    never averaged."""
    return lines(query, binned(block, start_ms, bins))


def binned(block: Block, start_ms: int, bins: Bins) -> Binned:
    """The same as bins that can be joined with those of other blocks."""
    origin, width = bins
    found = envelope(block.ticks, block.values, start_ms, width, origin)
    side = None if block.side is None else envelope(block.ticks, block.side, start_ms, width, origin)
    count = None if block.count is None else envelope(block.ticks, block.count, start_ms, width, origin).maximum
    above, below = (found.total, found.count) if block.above is None else _sums(block, start_ms, bins)
    return Binned(
        block.labels,
        found.t_ms,
        found.minimum,
        found.maximum,
        found.last,
        above,
        below,
        None if side is None else side.maximum,
        None if side is None else side.last,
        count,
    )


def _sums(block: Block, start_ms: int, bins: Bins) -> tuple[Floats, Floats]:
    """Σ of both sides of a quotient in each bin, over the ticks at which both are known."""
    assert block.above is not None
    assert block.below is not None
    _, edges = slots(block.ticks, start_ms, bins[1], bins[0])
    if not len(edges):
        none = np.zeros((len(block.labels), 0))
        return none, none
    known = known_in(block.above + block.below, edges)
    counts = counted_in(block.values.shape, known, edges)
    return folded("sum", block.above, known, edges, counts), folded("sum", block.below, known, edges, counts)


def _relation(sides: Floats) -> tuple[str | None, ...]:
    return tuple(SIDES.get(one) for one in sides.tolist())
