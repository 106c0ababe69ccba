"""A stretch of a run with everything that its numbers are made of: read once, in as few questions as there can be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from runs.activity import Window, windows
from runs.coverage import Coverage, coverage
from runs.machines import READINGS, Machines, over_time
from runs.machines import load as read_machines
from runs.reader import LEAD_MS, Absence, Episode, Event, Reader
from runs.silence import last_readings, silent
from runs.subject import Subject
from telemetry.catalog import cluster, engine, gpu, host, network
from telemetry.counters import increase
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Metric, Series, part

ENGINE_SAMPLES = (
    engine.GENERATION_TOKENS,
    engine.REQUESTS_RUNNING,
    engine.REQUESTS_WAITING,
    engine.KV_CACHE_USAGE,
    engine.ENGINE_PHASE,
    engine.REPORTED_ACCEPTANCE,
    engine.REPORTED_ACCEPTED_LENGTH,
    cluster.SCRAPE_SECONDS,
)
"""The last is of every reading, whatever the engine offers: it says when there was one."""
HISTOGRAMS = (engine.TTFT, engine.ITL, engine.TPOT, engine.E2E, engine.QUEUE_TIME)
ENGINE_COUNTERS = (
    engine.GENERATION_TOKENS,
    engine.PROMPT_TOKENS,
    engine.PROMPT_TOKENS_COMPUTED,
    engine.PROMPT_TOKENS_CACHED,
    engine.PROMPT_TOKENS_TRANSFERRED,
    engine.REQUESTS_FINISHED,
    engine.PREEMPTIONS,
    engine.HTTP_REJECTIONS,
    engine.PREFIX_CACHE_QUERIES,
    engine.PREFIX_CACHE_HITS,
    engine.DRAFTS,
    engine.DRAFT_TOKENS,
    engine.ACCEPTED_TOKENS,
    engine.ACCEPTED_BY_POSITION,
    *(part(histogram, name) for histogram in HISTOGRAMS for name in ("bucket", "sum", "count")),
)
FABRIC_TROUBLE = (
    network.FABRIC_LOSS,
    network.FABRIC_CONGESTION,
    network.FABRIC_REQUEST_ERRORS,
    network.FABRIC_ERRORS,
)
WHOLE = "sys_total"
"""The rail of a node's power and energy that is the whole machine."""
MOSTLY_STILL = (gpu.GPU_THROTTLE, *FABRIC_TROUBLE)
"""Counters of which there are a hundred on a node, and which hardly ever move."""

Place = tuple[str, str, str]
"""Target, engine and model of a series."""


@dataclass(frozen=True)
class Stretch:
    """engines: samples of `ENGINE_SAMPLES`, with those of a minute before the start. machines: what nodes' amount to.

    counts: two points each of the counters of engines and nodes; still: counters of nodes that did not move.
    Frames hold the subject's engines only. took_part: node → the evidence, in words.
    system_joules: of whole machines by node, power over time; reads its samples.
    """

    subject: Subject
    engines: Frame
    machines: Machines
    counts: Frame
    still: Collection[Series]
    took_part: Mapping[str, str]
    episodes: Sequence[Episode]
    absences: Sequence[Absence]
    events: Sequence[Event]
    system_joules: Callable[[], Mapping[str, float]]

    @property
    def start_ms(self) -> int:
        """Its start."""
        return self.subject.start_ms

    @property
    def end_ms(self) -> int:
        """Its end."""
        return self.subject.end_ms

    @property
    def nodes(self) -> list[str]:
        """Names of the nodes that took part."""
        return sorted(self.took_part)

    @cached_property
    def windows(self) -> list[Window]:
        """Stretches in which output tokens came."""
        return windows(of(self.engines, engine.GENERATION_TOKENS), self.start_ms, self.end_ms)

    @cached_property
    def decoding_s(self) -> float:
        """Seconds in which output tokens came."""
        return sum(one.end_ms - one.start_ms for one in self.windows) / 1000.0

    @cached_property
    def engine_coverage(self) -> list[Coverage]:
        """How well each engine target was watched."""
        return coverage(self.engines, self.subject.targets, self.start_ms, self.end_ms)

    @cached_property
    def silent(self) -> Bools:
        """At which ticks of the engines' samples an engine of the run is silent: what all do together is not known."""
        before = last_readings(self.counts, self.start_ms)
        return silent(self.engines, self.subject.targets, self.absences, before)

    @cached_property
    def node_coverage(self) -> list[Coverage]:
        """How well each node was watched."""
        return [self.machines.watch.coverage(node) for node in self.nodes]

    @cached_property
    def _gains(self) -> dict[str, dict[Series, float]]:
        """Increases by metric; what is not known is left out."""
        found: dict[str, dict[Series, float]] = {}
        for series in self.still:
            found.setdefault(series.metric, {})[series] = 0.0
        gained = increase(self.counts, self.start_ms, self.end_ms).tolist()
        for series, value in zip(self.counts.series, gained, strict=True):
            if value == value:
                found.setdefault(series.metric, {})[series] = value
        return found

    def gained(self, metric: Metric) -> float:
        """Increase of a counter over all engines, or nodes; NaN where none offers it."""
        found = self._gains.get(metric.name)
        return sum(found.values()) if found else float("nan")

    def offering(self, metric: Metric) -> set[Place]:
        """Engines, by target and labels, of which an increase of a counter is known."""
        return {place(series) for series in self._gains.get(metric.name, {})}

    def both(self, above: Metric, below: Metric) -> tuple[float, float]:
        """Increases of two counters over the engines that offer both, for a quotient; NaN where none does."""
        places = self.offering(above) & self.offering(below)
        sums = [sum(value for one, value in self.spent(side) if place(one) in places) for side in (above, below)]
        return (sums[0], sums[1]) if places else (float("nan"), float("nan"))

    def gained_by(self, metric: Metric, label: str) -> dict[str, float]:
        """The same by the value of a label."""
        found: dict[str, float] = {}
        for series, value in self.spent(metric):
            name = series.label(label) or ""
            found[name] = found.get(name, 0.0) + value
        return found

    def spent(self, metric: Metric) -> list[tuple[Series, float]]:
        """Increases of a counter, by series; those that are not known are left out."""
        return list(self._gains.get(metric.name, {}).items())

    @cached_property
    def output_tokens(self) -> float:
        """Output tokens of the stretch, NaN where no engine counts them."""
        return self.gained(engine.GENERATION_TOKENS)


def place(series: Series) -> Place:
    """Which engine a series is of."""
    return series.target, series.label("engine") or "", series.label("model") or ""


def of(frame: Frame, *metrics: Metric) -> Frame:
    """The rows of these metrics."""
    wanted = names(metrics)
    return frame.select(lambda series: series.metric in wanted)


def inside(frame: Frame, start_ms: float, end_ms: float) -> Floats:
    """Values of the samples of start ≤ tick ≤ end: float64[series, tick]."""
    low, high = np.searchsorted(frame.ticks, (start_ms, end_ms + 1))
    return frame.values[:, low:high]


def load(subject: Subject, reader: Reader, readings: int = READINGS) -> Stretch:
    """Read a stretch. readings: of the nodes that are in memory at once."""
    start, end, lead = subject.start_ms, subject.end_ms, subject.start_ms - LEAD_MS
    engines = reader.frame(names(ENGINE_SAMPLES), lead, end, subject.targets)
    engines = _read(_only(engines, lambda one: subject.owns(one) or one.metric == cluster.SCRAPE_SECONDS.name))
    active = windows(of(engines, engine.GENERATION_TOKENS), start, end)
    machines = read_machines(subject, reader, active or [Window(start, end, 0.0)], readings)
    took_part = _took_part(subject, machines)
    nodes = list(took_part)
    still = reader.still(names(MOSTLY_STILL), start, end, nodes)
    return Stretch(
        subject,
        engines,
        machines,
        reader.ends(_counters(subject, took_part, still), start, end, [*subject.targets, *nodes]),
        still,
        took_part,
        reader.episodes(subject.deployment, start, end),
        reader.absences(start, end),
        reader.events(start, end),
        lambda: over_time(reader, _whole_machine(host.SYSTEM_POWER), start, end, nodes, readings),
    )


def names(metrics: Sequence[Metric]) -> frozenset[str]:
    """Names to ask a reader for."""
    return frozenset(metric.name for metric in metrics)


def _counters(subject: Subject, nodes: Collection[str], still: Collection[Series]) -> Callable[[Series], bool]:
    """Everything that engines count, and of nodes energy and what may have moved."""
    counted, moving, energy = names(ENGINE_COUNTERS), names(MOSTLY_STILL), _whole_machine(host.SYSTEM_ENERGY)

    def wanted(series: Series) -> bool:
        if series.metric in counted:
            return subject.owns(series)
        if series.metric in moving:
            return series.target in nodes and series not in still
        return series.target in nodes and (series.metric == gpu.GPU_ENERGY.name or energy(series))

    return wanted


def _whole_machine(metric: Metric) -> Callable[[Series], bool]:
    return lambda series: series.metric == metric.name and series.label("rail") == WHOLE


def _took_part(subject: Subject, machines: Machines) -> dict[str, str]:
    if subject.chosen is not None:
        return dict.fromkeys(sorted(subject.chosen), "named by hand")
    return machines.evidence.told()


def _only(frame: Frame, wanted: Callable[[Series], bool]) -> Frame:
    """The wanted rows; the same frame where that is all of them, since a copy of a cluster's samples takes its time."""
    rows = [row for row, series in enumerate(frame.series) if wanted(series)]
    return frame if len(rows) == len(frame.series) else frame.take(rows)


def _read(frame: Frame) -> Frame:
    """The ticks at which any of the targets was read."""
    read = (frame.at_ms == frame.at_ms).any(axis=0)
    if read.all():
        return frame
    values, at_ms, breaks = frame.values[:, read], frame.at_ms[:, read], frame.breaks[:, read]
    return Frame(frame.ticks[read], frame.series, values, at_ms, breaks, frame.gap_ms)
