"""Small clusters in memory, told as lines of numbers, with answers that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runs.entries import Section
from runs.stretch import Stretch, load
from runs.subject import Member, Subject
from runs.summary import summarise
from storage.records import Absence, Episode, Event
from telemetry.catalog import cluster
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Frame
from telemetry.model import Metric, Series, part
from tests.runs.memory import InMemory

START = 1_796_000_000_000
HEAD = Member("head", "0", "m")
Line = Sequence[float | None]


def at(second: float) -> int:
    """The instant of a second."""
    return START + round(second * 1000)


def engine(metric: Metric, target: str = "head", number: str = "0", **labels: str) -> Series:
    """A series of an engine."""
    return Series(target, metric.name, tuple(sorted({"engine": number, "model": "m", **labels}.items())))


def node(target: str, metric: Metric, **labels: str) -> Series:
    """A series of a node, of GPU 0 where the metric is one of GPUs."""
    gpu = {"gpu": "0"} if "gpu" in metric.by else {}
    return Series(target, metric.name, tuple(sorted({**gpu, **labels}.items())))


def histogram(metric: Metric, buckets: Mapping[str, Line], total: Line, count: Line) -> dict[Series, Line]:
    """The series of an engine's histogram."""
    rows: dict[Series, Line] = {engine(part(metric, "bucket"), le=edge): line for edge, line in buckets.items()}
    return rows | {engine(part(metric, "sum")): total, engine(part(metric, "count")): count}


@dataclass
class World:
    """rows: one number per second; a shorter line keeps its last. seconds: how many there are.

    unread: seconds at which a target gave no answer. breaks: seconds before which a target restarted.
    """

    seconds: int
    rows: Mapping[Series, Line]
    unread: Mapping[str, Collection[int]] = field(default_factory=dict)
    breaks: Mapping[str, Collection[int]] = field(default_factory=dict)
    episodes: Sequence[Episode] = ()
    absences: Sequence[Absence] = ()
    events: Sequence[Event] = ()
    interval_s: int = 1
    engines: Sequence[Member] = (HEAD,)
    nodes: Sequence[str] = ()
    chosen: Sequence[str] | None = None

    def frame(self) -> Frame:
        """Everything as one frame; an engine's answer comes at its tick."""
        ticks = np.array([at(second) for second in range(0, self.seconds, self.interval_s)], dtype=np.int64)
        scrapes = {Series(one.target, cluster.SCRAPE_SECONDS.name): [0.01] for one in self.engines}
        rows = {**self.rows, **scrapes}
        shape = (len(rows), len(ticks))
        values, read, broken = np.full(shape, np.nan), np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for row, (series, line) in enumerate(rows.items()):
            told = [*line, *[line[-1]] * (self.seconds - len(line))][: self.seconds : self.interval_s]
            values[row] = [np.nan if value is None else value for value in told]
            read[row, [second // self.interval_s for second in self.unread.get(series.target, ())]] = False
            broken[row, [second // self.interval_s for second in self.breaks.get(series.target, ())]] = True
        values[~read] = np.nan
        at_ms = np.where(read, ticks.astype(float), np.nan)
        gaps = np.full(len(rows), self.interval_s * 1000 * NOMINAL_PER_GAP)
        return Frame(ticks, tuple(rows), values, at_ms, broken, gaps)

    def reader(self) -> InMemory:
        """History to read from."""
        return InMemory(self.frame(), {"model": self.episodes}, self.absences, self.events)

    def subject(self, start: float = 0, end: float | None = None) -> Subject:
        """A stretch, the whole by default."""
        until = at(self.seconds - 1 if end is None else end)
        return Subject("model", at(start), until, self.engines, self.nodes, self.chosen)

    def stretch(self, start: float = 0, end: float | None = None) -> Stretch:
        """A stretch, read."""
        return load(self.subject(start, end), self.reader())

    def summary(self, start: float = 0, end: float | None = None) -> tuple[Section, ...]:
        """The summary of a stretch."""
        return summarise(self.subject(start, end), self.reader())


def ramp(*steps: tuple[int, float]) -> list[float]:
    """A counter: (seconds, gained per second) one after the other, from 0.

    >>> ramp((2, 5.0), (1, 0.0))
    [0.0, 5.0, 10.0, 10.0]
    """
    line = [0.0]
    for seconds, gained in steps:
        line += [line[-1] + gained * number for number in range(1, seconds + 1)]
    return line
