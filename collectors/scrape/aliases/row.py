"""The types that alias tables are written in: one row says what one sample name of one engine means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from telemetry.model import Fold, Metric


@dataclass(frozen=True, slots=True)
class Row:
    """One sample name on a page → one stored metric.

    wire: sample name without the dialect's prefix; of a histogram the name without _bucket, _sum and _count.
    where: wire labels that must have these values; other lines of the name say nothing about the metric.
    labels: our label → wire label it is read from.
    rank: where several names of one metric are on a page only those of the lowest rank count (0 is the newest name).
    fold: how lines that differ only in labels we fold away become one; the metric's `across` unless said.
    number: wire label that holds the number; the line's own value is 1 and only says that it applies.
    code: the state that the line stands for while its value is 1.
    """

    wire: str
    metric: Metric
    where: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    rank: int = 0
    fold: Fold | None = None
    number: str | None = None
    code: int | None = None


@dataclass(frozen=True, slots=True)
class Info:
    """An info line: its labels are facts. `facts` maps wire label → name of the fact."""

    wire: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes its page.

    prefixes: what stands before each sample name; also what the engine is recognised by.
    engine_labels, model_labels: wire labels that name the engine and its model, first match counts. None for targets
        whose series carry neither (the agent).
    ignore: wire label → values whose lines repeat others and are not read at all.
    replicas: wire labels that number copies of one counter; only the lowest copy is read.
    """

    engine: str
    prefixes: tuple[str, ...]
    rows: tuple[Row, ...]
    infos: tuple[Info, ...] = ()
    engine_labels: tuple[str, ...] = ()
    model_labels: tuple[str, ...] = ()
    ignore: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    replicas: tuple[str, ...] = ()
