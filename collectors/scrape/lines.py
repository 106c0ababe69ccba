"""What one line of a page means: the interpreter of the alias tables. Values play no part here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.scrape.aliases import ENTRIES, INFOS, Entry, dialect_of
from collectors.scrape.aliases.agent import AGENT
from collectors.scrape.aliases.row import Dialect, Row
from telemetry.model import Fold, Kind, Metric, Scope, part

PROCESS_START = "process_start_time_seconds"
CREATED = "_created"
INFINITY = "+Inf"
_SUFFIXES = ("_bucket", "_sum", "_count", "_total", CREATED)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a line says about one stored metric.

    family: name of the metric whose wire names compete (a histogram's parts stand or fall together).
    engine, model: None where the line does not name them.
    replica: which copy of a counter the line is; only the lowest one is read.
    number: what a value of 1 stands for, None where the value speaks for itself.
    """

    metric: Metric
    family: str
    rank: int
    labels: tuple[tuple[str, str], ...]
    engine: str | None
    model: str | None
    fold: Fold
    replica: tuple[tuple[int, str], ...]
    number: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, known by name and labels. `dropped` names the family when the catalogue does not know it."""

    identity: str
    meanings: tuple[Meaning, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    engine: str | None = None
    created: bool = False
    dropped: str | None = None


def is_known(name: str) -> bool:
    """Whether a sample of this name is worth reading at all."""
    return name in ENTRIES or name in INFOS or name == PROCESS_START or _marks_creation(name)


def scope_of(name: str) -> Scope | None:
    """What a sample of this name speaks of, None where that does not matter (the start of whatever process)."""
    dialect = dialect_of(name)
    if dialect is None:
        return None
    return Scope.NODE if dialect is AGENT else Scope.ENGINE


def family_of(name: str) -> str:
    """Name of the family a sample belongs to, as far as its suffix tells."""
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def understand(name: str, labels: Mapping[str, str]) -> Line | None:
    """What a sample of this name and these labels means; None when its labels make no sense (a bucket without edge)."""
    dialect = dialect_of(name)
    labels = dict(labels)
    if name.endswith("_bucket") and name in ENTRIES:
        edge = _edge(labels.get("le", ""))
        if edge is None:
            return None
        labels["le"] = edge
    identity = f"{name}{sorted(labels.items())!r}"
    if dialect is None:
        return Line(identity)
    if _marks_creation(name):
        return Line(identity, engine=dialect.engine, created=True)
    if any(labels.get(label) in values for label, values in dialect.ignore.items()):
        return Line(identity, engine=dialect.engine)
    meanings = tuple(_meaning(entry, labels) for entry in ENTRIES.get(name, ()) if _applies(entry[1], labels))
    return Line(identity, meanings, _facts(name, labels), dialect.engine)


def _marks_creation(name: str) -> bool:
    return name.endswith(CREATED) and dialect_of(name) is not None


def _edge(text: str) -> str | None:
    """One spelling per bucket edge: "0.10" and "0.1" are the same."""
    try:
        edge = float(text)
    except ValueError:
        return None
    if edge != edge:
        return None
    return INFINITY if edge == float("inf") else repr(edge)


def _applies(row: Row, labels: Mapping[str, str]) -> bool:
    if row.number is not None and _number(row, labels) is None:
        return False
    return all(labels.get(label) == value for label, value in row.where.items())


def _number(row: Row, labels: Mapping[str, str]) -> float | None:
    if row.number is None:
        return None if row.code is None else float(row.code)
    text = labels.get(row.number, "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _meaning(entry: Entry, labels: Mapping[str, str]) -> Meaning:
    dialect, row, histogram_part = entry
    metric = part(row.metric, histogram_part) if histogram_part else row.metric
    ours = {label: labels.get(wire, "") for label, wire in row.labels.items()}
    if histogram_part == "bucket":
        ours["le"] = labels["le"]
    return Meaning(
        metric=metric,
        family=row.metric.name,
        rank=row.rank,
        labels=tuple(sorted(ours.items())),
        engine=_first(labels, dialect.engine_labels),
        model=_first(labels, dialect.model_labels),
        fold=_fold(row, metric),
        replica=_replica(dialect, metric, labels),
        number=_number(row, labels),
    )


def _fold(row: Row, metric: Metric) -> Fold:
    return Fold.SUM if metric.kind is Kind.COUNTER else row.fold or metric.across


def _replica(dialect: Dialect, metric: Metric, labels: Mapping[str, str]) -> tuple[tuple[int, str], ...]:
    if metric.kind is not Kind.COUNTER:
        return ()
    ranks = (labels.get(label, "") for label in dialect.replicas)
    return tuple((len(rank), rank) for rank in ranks)


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((labels[name] for name in names if labels.get(name)), None)


def _facts(name: str, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    info = INFOS.get(name)
    if info is None:
        return ()
    stated = ((fact, labels.get(wire, "")) for wire, fact in info.facts.items())
    return tuple((fact, value) for fact, value in stated if value not in ("", "None"))
