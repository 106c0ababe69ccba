"""What the store takes and gives back: plain values, no SQL. Every time is epoch milliseconds of the hub's clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from alerts.notices import Notice
from alerts.outbox import ChannelMemory
from alerts.record import Alert, RuleChange, RuleState, Silence
from runs.model import Mark, Run
from telemetry.model import Series

Values = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One target at one tick: float64[series] in the order of its layout, NaN where there is no number.

    Counters are stored unwrapped. The store gives `values` back as a numpy array.
    """

    tick: int
    target: str
    at_ms: int
    layout: int
    values: Values

    def __eq__(self, other: object) -> bool:
        """Equal in every field; NaN equals NaN."""
        if not isinstance(other, Row):
            return NotImplemented
        return (self.tick, self.target, self.at_ms, self.layout) == (
            other.tick,
            other.target,
            other.at_ms,
            other.layout,
        ) and np.array_equal(np.asarray(self.values, float), np.asarray(other.values, float), equal_nan=True)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Offset:
    """A restart, wrap or beginning of a counter: from this tick on value = raw + offset.

    reason: a value of `telemetry.counters.Step`.
    """

    target: str
    metric: str
    labels: tuple[tuple[str, str], ...]
    tick: int
    offset: float
    reason: str

    @property
    def series(self) -> Series:
        """The series that it belongs to."""
        return Series(self.target, self.metric, self.labels)


@dataclass(frozen=True, slots=True)
class Absence:
    """From when to when, and why, a metric (None: the whole target) had no value; `end_ms` None = still so."""

    target: str
    metric: str | None
    start_ms: int
    end_ms: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A slowly changing text about a target, true from start (inclusive) to end (exclusive, None = still)."""

    target: str
    name: str
    value: str
    start_ms: int
    end_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A time and a text. `id` is given by the store; what is passed in is ignored."""

    id: int
    at_ms: int
    target: str
    kind: str
    text: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished prefill; tokens and seconds (its length by the rules of measurement) are None where unknown."""

    deployment: str
    target: str
    engine: str
    start_ms: int
    end_ms: int
    tokens: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Command:
    """What a person asked for; the collector applies it in its tick. `applied_ms` None = not yet."""

    id: int
    at_ms: int
    kind: str
    payload: Mapping[str, Any]
    applied_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction of samples. `first_tick` > `last_tick` when it held no row, so that range is empty."""

    sequence: int
    at_ms: int
    first_tick: int
    last_tick: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A sealed hour of a target: `hour` is its start, n the readings from first_tick to last_tick.

    late: rows came since, so it will be sealed anew. forgotten: its samples were given up, summaries are left.
    """

    target: str
    hour: int
    n: int
    first_tick: int
    last_tick: int
    late: bool
    forgotten: bool


@dataclass(frozen=True, slots=True)
class Room:
    """Where there is room, in bytes. size: of the store with its log; free: inside it, taken before it grows.

    disk, disk_free: of the disk that holds it. None where it cannot be seen.
    """

    size: int
    free: int | None
    disk: int | None
    disk_free: int | None


@dataclass(frozen=True, slots=True)
class Weight:
    """What a sealed hour of all targets takes: bytes of its samples, and rows of summaries; between which ticks."""

    hour: int
    samples: int
    rows: int
    first_tick: int
    last_tick: int


@dataclass(frozen=True, slots=True)
class TargetRow:
    """Current state of a target. kind: "node" or "engine"; `last_ok_ms` None = never read."""

    name: str
    kind: str
    url: str
    interval_ms: int
    state: str
    reason: str
    since_ms: int
    last_ok_ms: int | None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunMark:
    """A mark, and the number of the run that it is in."""

    run: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class RunPart:
    """Something that belongs to a run (JSON). revision: of the run that it was worked out of."""

    run: int
    kind: str
    revision: int
    value: Any


@dataclass(frozen=True, slots=True)
class MarksMoved:
    """Marks of a run from one instant to another, both included, go to another run; to None: they are taken away.

    kind: only these; "" all, and alerts that fired then go with them.
    """

    run: int
    to: int | None
    from_ms: int = 0
    until_ms: int = 2**62
    kind: str = ""


MERGED = "merged:"
"""Begins the kind of a run's part that remembers a run that was merged into it; that one's number follows. Its value
is {deployment, start}, so that it is found again after a split."""


@dataclass(frozen=True, slots=True)
class PartsMoved:
    """Parts of a run whose kind begins so go to another run. to: None, they are gone."""

    run: int
    to: int | None
    prefix: str


@dataclass(frozen=True, slots=True)
class DetectorState:
    """What the detector of a deployment's runs needs to go on after a restart (JSON)."""

    deployment: str
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """A command that was applied, or refused with a sentence. spent: what it said is large, and not kept."""

    command: int
    at_ms: int
    error: str | None = None
    spent: bool = False


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs; None is any. live: those that go on, or those that do not. start_ms ≤ … ≤ end_ms: runs that touch it.

    labels: those that have all of them. text: is in name, deployment, model, note or a tag, in whatever case.
    """

    deployment: str | None = None
    live: bool | None = None
    baseline: bool | None = None
    pinned: bool | None = None
    tag: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one tick writes, all or nothing.

    facts: as they are seen; the store ends the one before when the value changed, and ignores what it knows.
    absences_closed: with their `end_ms`; found again by target, metric and `start_ms`.
    targets: replace what was known of a target of the same name.
    runs: as they are now, in place of what was known of them; parts: likewise. marks_moved, parts_moved: in their
    order, after new ones and before deletions. runs_deleted: their numbers, with all that belongs to them. detectors:
    replace the state of the same deployment. commands: what became of them. alerts, silences: as they are now, in place
    of what was known of those of the same number. standings: replace those of the same rule. rule_changes: new ones.
    notices: what is to be told of them. memories: what channels were told then, in place of what was kept of the same.
    """

    rows: Sequence[Row] = ()
    offsets: Sequence[Offset] = ()
    absences_opened: Sequence[Absence] = ()
    absences_closed: Sequence[Absence] = ()
    facts: Sequence[Fact] = ()
    events: Sequence[Event] = ()
    episodes: Sequence[Episode] = ()
    targets: Sequence[TargetRow] = ()
    runs: Sequence[Run] = ()
    marks: Sequence[RunMark] = ()
    marks_moved: Sequence[MarksMoved] = ()
    parts_moved: Sequence[PartsMoved] = ()
    parts: Sequence[RunPart] = ()
    runs_deleted: Sequence[int] = ()
    detectors: Sequence[DetectorState] = ()
    commands: Sequence[Done] = ()
    alerts: Sequence[Alert] = ()
    standings: Sequence[RuleState] = ()
    rule_changes: Sequence[RuleChange] = ()
    silences: Sequence[Silence] = ()
    notices: Sequence[Notice] = ()
    memories: Sequence[ChannelMemory] = ()
