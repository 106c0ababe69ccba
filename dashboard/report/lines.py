"""What a report draws: lines of the whole run on one time axis, and maps of nodes, from the charts that were kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telemetry.catalog import cluster, gpu
from telemetry.model import Metric, Unit

Values = list[float | None]
LEAST_TOP, MOST_TOP = 1e-290, 1e290
"""Ends of an axis between which its steps can be counted."""
MOST_COLUMNS = 360
"""Columns of a map; more would be narrower than a printed dot."""


@dataclass(frozen=True, slots=True)
class Line:
    """One chart. colour: a variable of the palette. bars: each value stands for itself, nothing runs between two."""

    key: str
    title: str
    unit: Unit
    colour: str
    values: Values
    bars: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    """Nodes × time. rows: name and values in columns of `step_ms`."""

    key: str
    title: str
    unit: Unit
    step_ms: int
    rows: Sequence[tuple[str, Values]]

    @property
    def span(self) -> tuple[float, float] | None:
        """Least and largest value; None where none is known."""
        known = [value for _, row in self.rows for value in row if value is not None]
        return (min(known), max(known)) if known else None


@dataclass(frozen=True, slots=True)
class Kind:
    """A chart of a recorded metric."""

    metric: Metric
    title: str
    colour: str


KINDS = (
    Kind(cluster.RECORDED_DECODE, "Decode", "decode"),
    Kind(cluster.DEPLOYMENT_RUNNING, "Requests running", "series-4"),
    Kind(cluster.CLUSTER_UTILIZATION, "GPU utilisation, mean of all nodes", "util"),
    Kind(cluster.CLUSTER_POWER, "GPU power, all nodes", "series-5"),
    Kind(cluster.CLUSTER_TRANSMIT, "Interconnect, sent by all nodes", "net"),
)
MAPS = (
    Kind(gpu.GPU_POWER, "GPU power", ""),
    Kind(gpu.GPU_SM_CLOCK, "SM clock", ""),
    Kind(gpu.GPU_TEMPERATURE, "GPU temperature", ""),
)


def lines(charts: Mapping[str, Any]) -> list[Line]:
    """Lines that have a value at all; prefill stands behind decode."""
    found = [
        Line(kind.metric.name, kind.title, kind.metric.unit, kind.colour, total)
        for kind in KINDS
        if (total := _total(charts, kind.metric)) is not None
    ]
    prefill = _prefill(charts)
    if prefill is not None:
        after = 1 if found and found[0].key == cluster.RECORDED_DECODE.name else 0
        unit = Unit.TOKENS_PER_SECOND
        found.insert(after, Line("prefill", "Prefill, of those that ended then", unit, "prefill", prefill, bars=True))
    return found


def _series(charts: Mapping[str, Any], metric: Metric) -> list[Mapping[str, Any]]:
    return [one for one in charts["series"] if one["metric"] == metric.name]


def _total(charts: Mapping[str, Any], metric: Metric) -> Values | None:
    """The recorded series; there is one of the deployment, or of the cluster."""
    own = [one["v"] for one in _series(charts, metric)]
    return list(own[0]) if own and any(value is not None for value in own[0]) else None


def _prefill(charts: Mapping[str, Any]) -> Values | None:
    """Tokens ∕ seconds of the prefills that ended in each bin, from the two counters; None where none did."""
    tokens, seconds = (_total(charts, metric) for metric in (cluster.PREFILL_TOKENS, cluster.PREFILL_SECONDS))
    if tokens is None or seconds is None:
        return None
    found: Values = [
        more / longer if more is not None and longer is not None and longer > 0 else None
        for more, longer in zip(_gains(tokens), _gains(seconds), strict=True)
    ]
    return found if any(value is not None for value in found) else None


def _gains(counter: Values) -> Values:
    """What a counter gained since its last known value; it began at its first."""
    found: Values = []
    last: float | None = None
    for value in counter:
        found.append(None if value is None or last is None else value - last)
        last = last if value is None else value
    return found


def maps(charts: Mapping[str, Any]) -> list[Map]:
    """Maps of two nodes or more."""
    count = max((len(one["v"]) for one in charts["series"]), default=0)
    wide = max(math.ceil(count / MOST_COLUMNS), 1)
    found = []
    for kind in MAPS:
        rows = [(_name(one, kind.metric, charts), _thinned(one["v"], wide)) for one in _series(charts, kind.metric)]
        if len(rows) > 1:
            found.append(
                Map(kind.metric.name, kind.title, kind.metric.unit, charts["step_ms"] * wide, sorted(rows, key=_first))
            )
    return [one for one in found if one.span is not None]


def _first(row: tuple[str, Values]) -> str:
    return row[0]


def _name(one: Mapping[str, Any], metric: Metric, charts: Mapping[str, Any]) -> str:
    several = sum(other["target"] == one["target"] for other in _series(charts, metric)) > 1
    return f"{one['target']} · {one['labels'].get('gpu', '')}" if several else str(one["target"])


def _thinned(values: Values, wide: int) -> Values:
    """Means of so many neighbours, of those that are known."""
    return [_mean(values[low : low + wide]) for low in range(0, len(values), wide)]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def nice(high: float) -> tuple[float, list[float]]:
    """The top of an axis from 0 that holds a value, and where it is labelled: three or four round numbers.

    >>> nice(38.0)
    (40.0, [0.0, 20.0, 40.0])
    >>> nice(0.0)
    (1.0, [0.0, 0.5, 1.0])
    """
    if high <= 0:
        return 1.0, [0.0, 0.5, 1.0]
    high = min(max(high, LEAST_TOP), MOST_TOP)
    power = 10.0 ** math.floor(math.log10(high))
    step = next(part * power for part in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0) if high <= 3.0 * part * power * 1.0001)
    count = max(math.ceil(high / step - 1e-9), 2)
    return step * count, [step * place for place in range(count + 1)]
