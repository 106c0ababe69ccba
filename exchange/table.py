"""What the rows of an export consist of: a time, texts that say of what, and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from telemetry.model import Kind
from telemetry.model import Scope as Reach
from telemetry.query import Line, Query

TIME, TARGET, METRIC, UNIT, VALUE = "time", "target", "metric", "unit", "value"
BIN = ("min", "mean", "max", "last")
"""What stands for the samples of a bin."""
PERCENTILE = ("side", "count")
"""Beside a percentile: −1 where it lies below the first edge, 1 above the last (the value is then that edge), else 0;
and how many observations it rests on."""

MEANINGS = {
    VALUE: "",
    "min": "Least of the bin that begins at the row's time. ",
    "mean": "Mean of the bin; of a ratio sum by sum. ",
    "max": "Greatest of the bin. ",
    "last": "Last of the bin. ",
    "side": "-1: the percentile lies below the first edge; 1: above the last; 0: between. ",
    "count": "Observations that the percentile rests on. ",
}
"""What a part is, in front of what its metric is."""

Scope = tuple[str, ...]
"""The texts of a row."""


class Layout(Enum):
    """wide: a row per time and scope, a column per metric. long: a row per time, scope and metric."""

    WIDE = "wide"
    LONG = "long"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers; metric and unit "" where it has none, or where each row says its own."""

    name: str
    unit: str
    metric: str = ""
    meaning: str = ""

    @property
    def heading(self) -> str:
        """Name and unit: "gpu_power_watts_max [watts]"."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Place:
    """Where a query's numbers stand. parts: what of a line, in the order of the columns that begin at `first`."""

    first: int
    parts: tuple[str, ...]
    texts: Scope


@dataclass(frozen=True)
class Table:
    """texts: headings of the columns of text, after the time. labels: labels of a line, at the end of the texts.

    places: of each query's numbers among the columns.
    """

    layout: Layout
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    places: tuple[Place, ...]

    @property
    def headings(self) -> tuple[str, ...]:
        """All of them, as the first line of a CSV has them."""
        return (TIME, *self.texts, *(column.heading for column in self.columns))

    def scope(self, query: int, line: Line) -> Scope:
        """The texts of a line's rows; what it does not have is empty."""
        return (*self.places[query].texts, *(line.labels.get(label, "") for label in self.labels))


def table(queries: Sequence[Query], layout: Layout, *, reduced: bool) -> Table:
    """The table of these queries' answers. reduced: a row is a bin of samples, else a sample."""
    labels = _labels(queries)
    if layout is Layout.WIDE:
        return _wide(queries, labels, reduced)
    parts = tuple(dict.fromkeys(part for query in queries for part in _parts(query, reduced)))
    places = tuple(Place(0, parts, (name(query), query.unit.value)) for query in queries)
    return Table(layout, (METRIC, UNIT, *labels), labels, tuple(map(_long, parts)), places)


def _wide(queries: Sequence[Query], labels: tuple[str, ...], reduced: bool) -> Table:
    columns: list[Column] = []
    places = []
    for query in queries:
        parts = _parts(query, reduced)
        places.append(Place(len(columns), parts, ()))
        columns += [_column(query, part) for part in parts]
    return Table(Layout.WIDE, labels, labels, tuple(columns), tuple(places))


def _column(query: Query, part: str) -> Column:
    full = name(query) if part == VALUE else f"{name(query)}_{part}"
    unit = "" if part in PERCENTILE else query.unit.value
    return Column(full, unit, query.metric.name, MEANINGS[part] + query.metric.help)


def _long(part: str) -> Column:
    return Column(part, "", "", MEANINGS[part].strip())


def _labels(queries: Sequence[Query]) -> tuple[str, ...]:
    """`target`, and every label that a line of any query has; none where all lines are sums of everything."""
    found = {label: None for query in queries if not folded(query) for label in (TARGET, *query.metric.by)}
    return tuple(found)


def folded(query: Query) -> bool:
    """Whether all series become one line, which is of no target."""
    return query.total or (query.ratio is not None and query.ratio.scope is Reach.CLUSTER)


def name(query: Query) -> str:
    """Name of what a query's values are: that of the metric, `_rate` or `_p95` where they are not its own."""
    if query.metric.kind is Kind.HISTOGRAM:
        return f"{query.metric.name}_p{query.quantile * 100:g}"
    return f"{query.metric.name}_rate" if query.rate else query.metric.name


def _parts(query: Query, reduced: bool) -> tuple[str, ...]:
    parts = BIN if reduced else (VALUE,)
    return (*parts, *PERCENTILE) if query.metric.kind is Kind.HISTOGRAM else parts
