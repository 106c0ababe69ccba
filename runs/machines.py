"""What the samples of the nodes amount to in a stretch, added up slice by slice: a long one takes no more memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runs.activity import Window
from runs.cages import DIRECTIONS, Cages
from runs.evidence import Evidence
from runs.extents import Readings
from runs.reader import LEAD_MS, Reader, Wanted
from runs.subject import Subject
from runs.watch import Watch
from telemetry.catalog import gpu
from telemetry.counters import increase, integral
from telemetry.frame import Frame
from telemetry.model import Metric
from telemetry.seam import joined

GAUGES: tuple[Metric, ...] = (gpu.GPU_UTILIZATION, gpu.GPU_POWER, gpu.GPU_TEMPERATURE, gpu.GPU_SM_CLOCK)
COMPARED = (gpu.GPU_TEMPERATURE, gpu.GPU_SM_CLOCK)
"""Nodes are compared with each other in these."""
SAMPLES: tuple[Metric, ...] = (*GAUGES, *(metric for both in DIRECTIONS.values() for metric in both))
READINGS = 130_000
"""Readings of all nodes that are in memory at once: two hours of sixteen nodes at one a second; an hour of them where
the stretch is longer."""
HOUR_MS, SHORTEST_MS = 3_600_000, 60_000


def slices(start_ms: int, end_ms: int, targets: int, readings: int = READINGS) -> list[tuple[int, int]]:
    """Closed ranges that follow each other: one where that is few readings, else parts of at most half as many, which
    begin at whole hours, or at even parts of them. targets: how many are read, once a second."""
    length = max(readings // max(targets, 1) * 1000, SHORTEST_MS)
    if end_ms - start_ms <= length:
        return [(start_ms, end_ms)]
    length = max(length // 2, SHORTEST_MS)
    step = length // HOUR_MS * HOUR_MS if length >= HOUR_MS else HOUR_MS // -(-HOUR_MS // length)
    begins = [start_ms, *range((start_ms // step + 1) * step, end_ms + 1, step)]
    return list(zip(begins, [*(begin - 1 for begin in begins[1:]), end_ms], strict=True))


def walk(
    reader: Reader, wanted: Wanted, parts: Sequence[tuple[int, int]], targets: Collection[str]
) -> Iterator[tuple[Frame, int, int]]:
    """(samples, start, end) of each part; before its start stand those of a minute, and each series' last one."""
    frame: Frame | None = None
    for start, end in parts:
        before = None if frame is None else _tail(frame, start)
        frame = None  # one slice at a time is in memory
        frame = reader.frame(wanted, start - LEAD_MS if before is None else start, end, targets)
        if before is not None:
            frame = joined(before, frame)
        yield frame, start, end


def _tail(frame: Frame, end_ms: int) -> Frame:
    """What the next slice needs of one that ended: the last minute, and before it the newest sample of each series."""
    late = int(np.searchsorted(frame.ticks, end_ms - LEAD_MS))
    known = ~np.isnan(frame.values[:, :late])
    some = known.any(axis=1)
    newest = late - 1 - np.argmax(known[some][:, ::-1], axis=1) if late and some.any() else np.zeros(0, dtype=np.intp)
    columns = np.concatenate((np.unique(newest), np.arange(late, len(frame.ticks)))).astype(np.intp)
    arrays = (frame.values[:, columns], frame.at_ms[:, columns], frame.breaks[:, columns])
    return Frame(frame.ticks[columns], frame.series, *arrays, frame.gap_ms)


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
        for name, own in self.readings.items():
            own.add(frame.select(lambda series, name=name: series.metric == name), start_ms, end_ms)  # type: ignore[misc]
        self.watch.add(frame, start_ms, end_ms)
        self.cages.add(frame, before, end_ms, self._first_ms)
        inside = [_cut(one, before, end_ms) for one in active if one.end_ms >= before and one.start_ms <= end_ms]
        self.evidence.add(frame, inside)
        _add(self.joules, frame.select(lambda series: series.metric == gpu.GPU_POWER.name), before, end_ms)


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


def load(subject: Subject, reader: Reader, active: Sequence[Window], readings: int = READINGS) -> Machines:
    """Read the nodes of a subject. active: windows in which tokens came. readings: as of `slices`."""
    nodes = list(subject.nodes if subject.chosen is None else subject.chosen)
    start, end = subject.start_ms, subject.end_ms
    own = {metric.name: Readings(start, end, metric in COMPARED) for metric in GAUGES}
    found = Machines(subject, own, Watch(start, end))
    wanted = frozenset(metric.name for metric in SAMPLES)
    for frame, low, high in walk(reader, wanted, slices(start, end, len(nodes), readings), nodes):
        found.add(frame, low, high, active)
        del frame  # before the next one is read
    return found
