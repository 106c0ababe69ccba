"""One question to the history, and its answer: the same object serves pages, API, summaries and exports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from telemetry import catalog, ratios
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Ints
from telemetry.model import Fold, Kind, Metric, Ratio, Scope, Series, Unit, part
from telemetry.percentiles import WINDOW_MS, Labels
from telemetry.rates import rate
from telemetry.rollup import bins_of


@dataclass(frozen=True, slots=True)
class Query:
    """metric: what; start_ms, end_ms: closed range of ticks; points: at most so many, None for every sample.

    width_ms: bins of exactly this width, beginning at its multiples, however few samples there are; in place of points.
    targets: names to keep, None for all. labels: label values to keep, by label; a series without one of them is left
    out, unless it is the term of a ratio that has no such label (a node's memory beside that of its GPUs).
    total: fold all series into one line (ratios: Σ ∕ Σ; counters: `near.counted`; others: the catalogue's fold across
    devices).
    rate: of a counter, its increase over the trailing 10 s per second, in place of its count. ValueError for others.
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
    rate: bool = False
    width_ms: int | None = None

    def __post_init__(self) -> None:
        if self.rate and self.metric.kind is not Kind.COUNTER:
            raise ValueError(f"{self.metric.name} is no counter and has no rate")

    @property
    def ratio(self) -> Ratio | None:
        """The quotient that is asked for: a ratio, or a counter's rate; None of what is stored."""
        if isinstance(self.metric, Ratio):
            return self.metric
        return rate(self.metric) if self.rate else None

    @property
    def unit(self) -> Unit:
        """Unit of the answer's values."""
        return self.metric.unit if self.ratio is None else self.ratio.unit

    @property
    def window_ms(self) -> int:
        """Trailing window of each value, 0 for values of an instant."""
        if self.ratio is not None:
            return int(self.ratio.window_s * 1000)
        return WINDOW_MS if self.metric.kind is Kind.HISTOGRAM else 0

    @property
    def fold(self) -> Fold:
        """Which value of a bin stands for it, where one must: the catalogue's fold over time of a gauge or state, the
        last of a counter; of a ratio the mean (Σ ∕ Σ), of percentiles, whose mean is none, the largest."""
        if isinstance(self.metric, Ratio) or self.rate:
            return Fold.MEAN
        return {Kind.COUNTER: Fold.LAST, Kind.HISTOGRAM: Fold.MAX}.get(self.metric.kind, self.metric.over_time)

    @property
    def lead_ms(self) -> int:
        """How long before the start samples are needed, so that the first value is made as all later ones are.

        A value may be held for a gap, its window may begin a gap after the sample before, and a member that fell
        silent spoils a sum for SILENT_MS. Samples as they were stored need nothing.
        """
        if self.window_ms == 0 and not self.total and self.ratio is None:
            return 0
        return self.window_ms + 2 * int(self.slowest_ms * NOMINAL_PER_GAP) + ratios.SILENT_MS

    def bins(self, step_ms: int) -> tuple[int, int] | None:
        """(origin, width) of the bins asked for, whole steps wide; None for every sample."""
        if self.width_ms is not None:
            return 0, max(-(-self.width_ms // step_ms), 1) * step_ms
        return None if self.points is None else bins_of(self.start_ms, self.end_ms, self.points, step_ms)

    def stored(self) -> Collection[str]:
        """Names of the stored metrics that answer needs."""
        if isinstance(self.metric, Ratio):
            return ratios.stored_names(self.metric)
        if self.metric.kind is Kind.HISTOGRAM:
            return [part(self.metric, "bucket").name]
        return [self.metric.name]

    def sources(self) -> list[str] | None:
        """Targets to read from, None for all: a cluster ratio over some nodes still needs every engine."""
        crosses = isinstance(self.metric, Ratio) and self.metric.scope is Scope.CLUSTER
        return None if self.targets is None or crosses else sorted(self.targets)

    def group(self, series: Series) -> Labels:
        """Labels of the line that a series belongs to, as sorted pairs after the target; none of a total."""
        ratio = self.ratio
        if self.total or (ratio is not None and ratio.scope is Scope.CLUSTER):
            return ()
        kept = series.labels if ratio is None else [pair for pair in series.labels if pair[0] in ratio.by]
        return (("target", series.target), *(pair for pair in kept if not self._edge(pair[0])))

    def _edge(self, label: str) -> bool:
        return label == "le" and self.metric.kind is Kind.HISTOGRAM

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
    (Of percentiles over whole hours, values are those of each bin's own observations.)
    relation: of percentiles, "=", "<" (below the first edge, which is the value) or ">" (above the last), None where
    there is no value; of a bin, that of its maximum. count: float64[n], observations in the window; of a bin, the most.
    above, below: float64[n] of samples, what means over more of them divide: the sums of a quotient's sides; of bins of
    all else Σ and number of values. last_side: of percentiles, on which side of the edges `last` or the value lies, see
    `quantiles.SIDES`.
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
    above: Floats | None = None
    below: Floats | None = None
    last_side: Floats | None = None
