"""One question to the history, and its answer: the same object serves pages, API, summaries and exports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from telemetry import catalog, ratios
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.fleet import fold
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import PARTS, Fold, Kind, Metric, Ratio, Scope, Series, part
from telemetry.percentiles import SIDES, WINDOW_MS, Percentiles, percentiles
from telemetry.rollup import bins_of, envelope


@dataclass(frozen=True, slots=True)
class Query:
    """metric: what; start_ms, end_ms: closed range of ticks; points: at most so many, None for every sample.

    targets: names to keep, None for all. labels: label values to keep, by label; a series without one of them is left
    out, unless it is the term of a ratio that has no such label (a node's memory beside that of its GPUs).
    total: fold all series into one line (ratios: Σ ∕ Σ; counters: `_counted`; others: the catalogue's fold across
    devices).
    quantile: for histograms, which one of a trailing window of 5 minutes; unknown where it holds too few observations.
    slowest_ms: longest nominal interval of a target that takes part: its last sample before the start may be so old.
    """

    metric: Metric | Ratio
    start_ms: int
    end_ms: int
    points: int | None = None
    targets: frozenset[str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    total: bool = False
    quantile: float = 0.5
    slowest_ms: int = 1000

    @property
    def window_ms(self) -> int:
        """Trailing window of each value, 0 for values of an instant."""
        if isinstance(self.metric, Ratio):
            return int(self.metric.window_s * 1000)
        return WINDOW_MS if self.metric.kind is Kind.HISTOGRAM else 0

    @property
    def fold(self) -> Fold:
        """Which value of a bin stands for it, where one must: the catalogue's fold over time of a gauge or state, the
        last of a counter; of a ratio the mean (Σ ∕ Σ), of percentiles, whose mean is none, the largest."""
        if isinstance(self.metric, Ratio):
            return Fold.MEAN
        return {Kind.COUNTER: Fold.LAST, Kind.HISTOGRAM: Fold.MAX}.get(self.metric.kind, self.metric.over_time)

    @property
    def lead_ms(self) -> int:
        """How long before the start samples are needed, so that the first value is made as all later ones are.

        A value may be held for a gap, its window may begin a gap after the sample before, and a member that fell
        silent spoils a sum for SILENT_MS. Samples as they were stored need nothing.
        """
        if self.window_ms == 0 and not self.total and not isinstance(self.metric, Ratio):
            return 0
        return self.window_ms + 2 * int(self.slowest_ms * NOMINAL_PER_GAP) + ratios.SILENT_MS

    def stored(self) -> Collection[str]:
        """Names of the stored metrics that answer needs."""
        if isinstance(self.metric, Ratio):
            return ratios.stored_names(self.metric)
        if self.metric.kind is Kind.HISTOGRAM:
            return [part(self.metric, name).name for name in PARTS]
        return [self.metric.name]

    def wants(self, series: Series) -> bool:
        """Whether a stored series takes part in the answer."""
        if self.targets is not None and series.target not in self.targets and not self._crosses(series):
            return False
        return all(self._carries(series, key, value) for key, value in self.labels.items())

    def _carries(self, series: Series, key: str, value: str) -> bool:
        """Whether a series has a label's value, or is the term of a ratio whose metric does not know that label."""
        found = series.label(key)
        if found is not None or not isinstance(self.metric, Ratio):
            return found == value
        terms = (*self.metric.numerator, *self.metric.denominator)
        return key not in catalog.stored(series.metric).by and any(key in term.by for term in terms)

    def _crosses(self, series: Series) -> bool:
        """A ratio of a node's and an engine's metrics keeps its denominator when nodes are filtered."""
        if not isinstance(self.metric, Ratio) or self.metric.scope is not Scope.CLUSTER:
            return False
        return catalog.stored(series.metric).scope is Scope.ENGINE


@dataclass(frozen=True)
class Line:
    """One line of an answer. labels: what it is of, `target` included unless folded away.

    t_ms: int64[n]. values: float64[n] of single samples, or None when reduced: minimum, maximum, mean and last per bin.
    relation: of percentiles, "=", "<" (below the first edge, which is the value) or ">" (above the last), None where
    there is no value; of a bin, that of its maximum. count: float64[n], observations in the window; of a bin, the most.
    """

    labels: Mapping[str, str]
    t_ms: Ints
    values: Floats | None
    minimum: Floats | None = None
    maximum: Floats | None = None
    mean: Floats | None = None
    last: Floats | None = None
    relation: tuple[str | None, ...] | None = None
    count: Floats | None = None


def answer(query: Query, frame: Frame, step_ms: int = 1000) -> list[Line]:
    """Lines for a query, from a frame of its stored metrics over [start − lead, end]. Counters come as stored."""
    frame = frame.select(query.wants)
    inside = (frame.ticks >= query.start_ms) & (frame.ticks <= query.end_ms)
    ticks = frame.ticks[inside]
    if isinstance(query.metric, Ratio):
        return _quotients(query, query.metric, frame, inside, step_ms)
    if query.metric.kind is Kind.HISTOGRAM:
        found = percentiles(query.metric, frame, query.quantile, query.total)
        return [_percentile_line(query, labels, ticks, one, inside, step_ms) for labels, one in found]
    lines = _lines(query, query.metric, frame)
    return [_reduced(query, labels, ticks, values[inside], step_ms) for labels, values in lines]


def _quotients(query: Query, ratio: Ratio, frame: Frame, inside: Bools, step_ms: int) -> list[Line]:
    """Lines of a ratio. Reduced, the mean of a bin is Σ ∕ Σ of its ticks: ratios are never averaged."""
    lines = []
    ticks = frame.ticks[inside]
    for key, both in ratios.sides(ratio, frame, lambda series: _group(ratio, series, query.total)).items():
        above, below = (side[inside] for side in both)
        labels: dict[str, str] = dict(key)  # type: ignore[call-overload]
        line = _reduced(query, labels, ticks, ratios.quotient(ratio, above, below), step_ms)
        if line.mean is not None:
            known = ~np.isnan(above + below)
            sums = [
                _reduced(query, labels, ticks, np.where(known, side, np.nan), step_ms).mean for side in (above, below)
            ]
            line = replace(line, mean=ratios.quotient(ratio, *sums))  # type: ignore[arg-type]
        lines.append(line)
    return lines


def _lines(query: Query, metric: Metric, frame: Frame) -> list[tuple[dict[str, str], Floats]]:
    if query.total:
        return [({}, _total(metric, frame))] if len(frame.series) else []
    return [(_labels(series), frame.values[row]) for row, series in enumerate(frame.series)]


def _total(metric: Metric, frame: Frame) -> Floats:
    if metric.kind is Kind.COUNTER:
        return _counted(frame)
    ticks = frame.ticks.astype(np.float64)
    held = ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms))
    if metric.across is Fold.SUM:
        return ratios.total(held, ticks, ~np.isnan(frame.values))
    return fold(held, metric.across)


def _counted(frame: Frame) -> Floats:
    """Total of counters, which never falls: float64[tick]. Its increase between two ticks at which it is known is the
    sum of the members' increases, as `counters.increase` has them, so increases over any split of a range add up.

    A member that is away keeps its last value, and one that has not come yet stands at its first: neither coming nor
    going is an increase, and what happened meanwhile is added when the member is back. The total is unknown while a
    member fell silent less than SILENT_MS ago, and while no member is known.
    """
    ticks, known = frame.ticks.astype(np.float64), ~np.isnan(frame.values)
    seen = ratios.total(ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms)), ticks, known)
    last = ratios.last_known(known)
    nearest = np.where(last >= 0, last, np.argmax(known, axis=1)[:, np.newaxis])
    return np.where(np.isnan(seen), np.nan, np.nansum(np.take_along_axis(frame.values, nearest, axis=1), axis=0))


def _labels(series: Series) -> dict[str, str]:
    return {"target": series.target, **dict(series.labels)}


def _group(ratio: Ratio, series: Series, folded: bool) -> tuple[tuple[str, str], ...]:
    if folded or ratio.scope is Scope.CLUSTER:
        return ()
    labels = [(key, value) for key, value in series.labels if key in ratio.by]
    return (("target", series.target), *labels)


def _percentile_line(
    query: Query, labels: Mapping[str, str], ticks: Ints, found: Percentiles, inside: Bools, step_ms: int
) -> Line:
    line, side, count = (
        _reduced(query, labels, ticks, part[inside], step_ms) for part in (found.values, found.side, found.count)
    )
    sides = side.values if side.maximum is None else side.maximum
    return replace(
        line,
        relation=tuple(SIDES.get(one) for one in ([] if sides is None else sides.tolist())),
        count=count.values if count.maximum is None else count.maximum,
    )


def _reduced(query: Query, labels: Mapping[str, str], ticks: Ints, values: Floats, step_ms: int) -> Line:
    if query.points is None or len(ticks) <= query.points:
        return Line(labels, ticks, values)
    origin, width = bins_of(query.start_ms, query.end_ms, query.points, step_ms)
    bins = envelope(ticks, values[np.newaxis, :], query.start_ms, width, origin)
    return Line(labels, bins.t_ms, None, bins.minimum[0], bins.maximum[0], bins.mean[0], bins.last[0])
