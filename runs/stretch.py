"""A stretch of a run with everything that its numbers are made of: read once, in as few questions as there can be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from runs.activity import Window
from runs.coverage import Coverage
from runs.engines import Engines
from runs.engines import load as read_engines
from runs.machines import Machines, Memory, over_time
from runs.machines import load as read_machines
from runs.reader import Absence, Episode, Event, Reader
from runs.rows import Place, names, place
from runs.silence import last_readings
from runs.slices import READINGS
from runs.subject import Subject
from telemetry.catalog import engine, gpu, host, network
from telemetry.counters import increase
from telemetry.frame import Frame
from telemetry.model import Metric, Series, part
from telemetry.wanted import Some

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


@dataclass(frozen=True)
class Stretch:
    """engines, machines: what the samples of engines and nodes amount to. took_part: node → the evidence, in words.

    counts, moved: two points each of the counters of the subject's engines, and of the nodes; still: counters of nodes
    that did not move. system_joules: of whole machines by node, power over time; reads its samples.
    tokens_of: output tokens between two instants, NaN where they are not known; reads two points.
    """

    subject: Subject
    engines: Engines
    machines: Machines
    counts: Frame
    moved: Frame
    still: Collection[Series]
    took_part: Mapping[str, str]
    episodes: Sequence[Episode]
    absences: Sequence[Absence]
    events: Sequence[Event]
    system_joules: Callable[[], Mapping[str, float]]
    tokens_of: Callable[[float, float], float]

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

    @property
    def windows(self) -> list[Window]:
        """Stretches in which output tokens came."""
        return self.engines.windows

    @property
    def decoding_s(self) -> float:
        """Seconds in which output tokens came, as far as it is known when."""
        return self.engines.decoding.seconds

    @cached_property
    def engine_coverage(self) -> list[Coverage]:
        """How well each engine target was watched."""
        return [self.engines.watch.coverage(target) for target in self.subject.targets]

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
        for frame in (self.counts, self.moved):
            gained = increase(frame, self.start_ms, self.end_ms).tolist()
            for series, value in zip(frame.series, gained, strict=True):
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


def load(subject: Subject, reader: Reader, readings: int = READINGS, memory: Memory | None = None) -> Stretch:
    """Read a stretch. readings: that are in memory at once. memory: of what was read of it before."""
    start, end = subject.start_ms, subject.end_ms
    absences = reader.absences(start, end)
    counts = reader.ends(_counted(subject), start, end, subject.targets)
    engines = read_engines(subject, reader, absences, last_readings(counts, start), readings)
    machines = read_machines(subject, reader, engines.windows or [Window(start, end, 0.0)], readings, memory)
    took_part = _took_part(subject, machines)
    nodes = list(took_part)
    still = reader.still(names(MOSTLY_STILL), start, end, nodes)
    return Stretch(
        subject,
        engines,
        machines,
        counts,
        reader.ends(_moving(nodes, still), start, end, nodes),
        still,
        took_part,
        reader.episodes(subject.deployment, start, end),
        absences,
        reader.events(start, end),
        lambda: over_time(reader, _whole_machine(host.SYSTEM_POWER), start, end, nodes, readings),
        partial(_tokens, subject, reader),
    )


def _counted(subject: Subject) -> Some:
    """Everything that the engines count."""
    return Some(names(ENGINE_COUNTERS), subject.owns)


def _moving(nodes: Collection[str], still: Collection[Series]) -> Some:
    """Of nodes energy, and what may have moved."""
    energy = _whole_machine(host.SYSTEM_ENERGY)
    tests: dict[str, Callable[[Series], bool]] = {
        **dict.fromkeys(names(MOSTLY_STILL), lambda series: series.target in nodes and series not in still),
        gpu.GPU_ENERGY.name: lambda series: series.target in nodes,
        host.SYSTEM_ENERGY.name: lambda series: series.target in nodes and energy(series),
    }
    return Some(frozenset(tests), lambda series: tests[series.metric](series))


def _tokens(subject: Subject, reader: Reader, start_ms: float, end_ms: float) -> float:
    """Output tokens of the engines between two instants, NaN where none of them counts them."""
    span = int(start_ms), int(end_ms)
    ends = reader.ends(names((engine.GENERATION_TOKENS,)), *span, subject.targets).select(subject.owns)
    known = [value for value in increase(ends, *span).tolist() if value == value]
    return sum(known) if known else float("nan")


def _whole_machine(metric: Metric) -> Some:
    return Some(names((metric,)), lambda series: series.label("rail") == WHOLE)


def _took_part(subject: Subject, machines: Machines) -> dict[str, str]:
    if subject.chosen is not None:
        return dict.fromkeys(sorted(subject.chosen), "named by hand")
    return machines.evidence.told()
