"""What the samples of the nodes amount to in a stretch, added up slice by slice: a long one takes no more memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Protocol

from runs.activity import Window
from runs.cages import DIRECTIONS, Cages
from runs.evidence import Evidence
from runs.extents import Readings
from runs.reader import LEAD_MS, Reader, Wanted
from runs.settled import Ground, Settled, States
from runs.slices import READINGS, slices, tail, walk
from runs.subject import Subject
from runs.watch import Watch
from telemetry.catalog import gpu
from telemetry.counters import increase, integral
from telemetry.frame import Frame
from telemetry.model import Metric

GAUGES: tuple[Metric, ...] = (gpu.GPU_UTILIZATION, gpu.GPU_POWER, gpu.GPU_TEMPERATURE, gpu.GPU_SM_CLOCK)
COMPARED = (gpu.GPU_TEMPERATURE, gpu.GPU_SM_CLOCK)
"""Nodes are compared with each other in these."""
SAMPLES: tuple[Metric, ...] = (*GAUGES, *(metric for both in DIRECTIONS.values() for metric in both))


MOST_BYTES = 16_000_000
"""Of the samples in which nodes are compared, where they are kept: thirty hours of sixteen nodes."""


@dataclass
class Machines:
    """readings: by metric; joules: of GPUs by node, power over time."""

    subject: Subject
    readings: Mapping[str, Readings]
    watch: Watch
    cages: Cages = field(default_factory=Cages)
    evidence: Evidence = field(default_factory=Evidence)
    joules: dict[str, float] = field(default_factory=dict)
    _first_ms: float | None = None

    def add(self, frame: Frame, start_ms: int, end_ms: int, active: Sequence[Window]) -> None:
        """A slice, with the samples before it. active: windows in which tokens came."""
        first = self._first_ms is None
        if self._first_ms is None:
            earlier = frame.ticks[frame.ticks <= start_ms]
            self._first_ms = float(earlier[-1]) if len(earlier) else float(start_ms)
        before = start_ms if first else start_ms - 1
        rows: dict[str, list[int]] = {}
        for row, series in enumerate(frame.series):
            rows.setdefault(series.metric, []).append(row)
        for name, own in self.readings.items():
            own.add(frame, rows.get(name, ()), start_ms, end_ms)
        self.watch.add(frame, start_ms, end_ms)
        self.cages.add(frame, before, end_ms, self._first_ms)
        inside = [_cut(one, before, end_ms) for one in active if one.end_ms >= before and one.start_ms <= end_ms]
        self.evidence.add(frame, inside)
        _add(self.joules, frame.take(rows.get(gpu.GPU_POWER.name, ())), before, end_ms)

    @property
    def bytes(self) -> int:
        """Of the samples that are kept."""
        return sum(own.nbytes for own in self.readings.values())

    def copied(self, subject: Subject) -> Machines:
        """The same of a stretch that begins equally, to be added to."""
        end = subject.end_ms
        readings = {name: own.copied(end) for name, own in self.readings.items()}
        watch = replace(deepcopy(self.watch), end_ms=end)
        parts = deepcopy(self.cages), deepcopy(self.evidence)
        return Machines(subject, readings, watch, *parts, {**self.joules}, self._first_ms)


def _add(joules: dict[str, float], power: Frame, before_ms: int, end_ms: int) -> None:
    """Power over time, from the last sample at or before `before_ms` on."""
    gained = increase(integral(power), before_ms, end_ms).tolist()
    for series, value in zip(power.series, gained, strict=True):
        if value == value:
            joules[series.target] = joules.get(series.target, 0.0) + value


def over_time(
    reader: Reader, wanted: Wanted, start_ms: int, end_ms: int, nodes: Collection[str], readings: int = READINGS
) -> dict[str, float]:
    """Joules by node of gauges of power; nodes without a reading are not in it. readings: as of `slices`."""
    joules: dict[str, float] = {}
    for frame, low, high in walk(reader, wanted, slices(start_ms, end_ms, len(nodes), readings), nodes):
        _add(joules, frame, low if low == start_ms else low - 1, high)
        del frame
    return joules


def _cut(one: Window, start_ms: int, end_ms: int) -> Window:
    return Window(max(one.start_ms, start_ms), min(one.end_ms, end_ms), one.tokens)


def load(
    subject: Subject,
    reader: Reader,
    active: Sequence[Window],
    readings: int = READINGS,
    memory: Memory | None = None,
) -> Machines:
    """Read the nodes of a subject. active: windows in which tokens came. readings: as of `slices`. memory: of what was
    added up before."""
    nodes = list(subject.nodes if subject.chosen is None else subject.chosen)
    cut = slices(subject.start_ms, subject.end_ms, len(nodes), readings)
    settled = None if memory is None else Settled.of(memory.states, subject.start_ms, nodes, cut, active)
    kept = None if memory is None else memory.kept
    kept = kept if kept is not None and settled is not None and settled.stands(kept.rests_on) else None
    found = _begun(subject, memory is not None) if kept is None else kept.machines.copied(subject)
    done, rest = (0, None) if kept is None else (len(kept.rests_on.slices), kept.rest)
    wanted = frozenset(metric.name for metric in SAMPLES)
    for place, (frame, low, high) in enumerate(walk(reader, wanted, cut[done:], nodes, rest), done + 1):
        found.add(frame, low, high, active)
        if memory is not None and settled is not None and place == settled.count and found.bytes <= MOST_BYTES:
            memory.kept = Kept(settled.rests_on(place), found.copied(subject), tail(frame, high + 1 - LEAD_MS))
        del frame  # before the next one is read
    return found


def _begun(subject: Subject, more: bool) -> Machines:
    """Nothing yet. more: whether more of the stretch will be asked for."""
    start, end = subject.start_ms, subject.end_ms
    compared = {metric.name: metric in COMPARED for metric in GAUGES}
    own = {name: Readings(start, end, one, [] if one and more else None) for name, one in compared.items()}
    return Machines(subject, own, Watch(start, end))


@dataclass(frozen=True)
class Kept:
    """What the first slices of a stretch came to, what that rests on, and the samples that the next slice needs."""

    rests_on: Ground
    machines: Machines
    rest: Frame


class Memory(Protocol):
    """Keeps one of them."""

    states: States
    kept: Kept | None
