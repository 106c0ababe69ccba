"""Judge: what the engines of a page are doing, from one reading to the next."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from collectors.scrape.page import Layout
from pipeline.deployments import EngineId
from pipeline.recorded import engine_of
from pipeline.window import Window
from telemetry import ratios
from telemetry.catalog import engine, gpu
from telemetry.catalog.ratios import INTERCONNECT_RECEIVE, INTERCONNECT_TRANSMIT
from telemetry.frame import Floats, Frame
from telemetry.model import Metric, Series, part
from telemetry.phases import EngineJudge, EngineReading, Judgement, Surroundings

COLD_WATTS = 30.0
STILL_BYTES_PER_SECOND = 1e6
"""Below these a GPU counts as cold, and a node's share of the fabric as still."""

READS: dict[str, Metric] = {
    "generation": engine.GENERATION_TOKENS,
    "prompt": engine.PROMPT_TOKENS,
    "computed": engine.PROMPT_TOKENS_COMPUTED,
    "cached": engine.PROMPT_TOKENS_CACHED,
    "ttft_sum": part(engine.TTFT, "sum"),
    "ttft_count": part(engine.TTFT, "count"),
    "prompt_seconds": engine.PREFILL_SECONDS_BUSY,
    "running": engine.REQUESTS_RUNNING,
}
WANTED = frozenset({metric.name for metric in READS.values()} | {engine.SLEEP_STATE.name})
MOST_MODELS = 32
"""Models of one page that are followed; real servers name one, gateways in front of several a handful."""

Places = dict[EngineId, dict[str, int]]


def places(layout: Layout) -> Places:
    """Where a layout holds what the judge reads: {engine: {metric name: position}}.

    Of a page that names more models than `MOST_MODELS`, those that come first: each is a deployment with runs, and a
    page that makes names up would cost every tick of all others.
    """
    found: Places = {}
    models: set[str] = set()
    for position, series in enumerate(layout.series):
        one = engine_of(series)
        if series.metric in WANTED and (one.model in models or len(models) < MOST_MODELS):
            models.add(one.model)
            found.setdefault(one, {})[series.metric] = position
    return found


def unwatched(layout: Layout) -> int:
    """How many models of a page are not followed."""
    named = {series.label("model") or "" for series in layout.series if series.metric in WANTED}
    return max(len(named) - MOST_MODELS, 0)


def engine_reading(
    where: Mapping[str, int], values: Floats, at_ms: float, *, restarted: bool, leapt: bool = False
) -> EngineReading:
    """One engine's part of a page's values; what is not offered or not a number is None."""

    def value(metric: Metric) -> float | None:
        position = where.get(metric.name)
        return None if position is None or np.isnan(values[position]) else float(values[position])

    read = {name: value(metric) for name, metric in READS.items()}
    asleep = (value(engine.SLEEP_STATE) or 0) > 0
    return EngineReading(at_ms, **read, asleep=asleep, restarted=restarted, leapt=leapt)


@dataclass
class Judge:
    """Follows every engine of every target."""

    _judges: dict[EngineId, EngineJudge] = field(default_factory=dict)
    _places: dict[str, tuple[Layout, Places]] = field(default_factory=dict)
    latest: dict[EngineId, Judgement] = field(default_factory=dict)

    def page(
        self,
        target: str,
        layout: Layout,
        values: Floats,
        at_ms: float,
        *,
        restarted: bool,
        around: Surroundings,
        leapt: bool = False,
    ) -> dict[EngineId, Judgement]:
        """Judge the engines of one page."""
        if target not in self._places or self._places[target][0] is not layout:
            self._places[target] = (layout, places(layout))
        found: dict[EngineId, Judgement] = {}
        readings = {
            one: engine_reading(where, values, at_ms, restarted=restarted, leapt=leapt)
            for one, where in self._places[target][1].items()
        }
        for one, reading in readings.items():
            found[one] = self._judges.setdefault(one, EngineJudge()).read(reading, around)
        self.silent(target)  # an engine that left the page, or a model that was replaced, is no longer there
        self.latest.update(found)
        return found

    def silent(self, target: str) -> None:
        """A target stopped answering: nothing is known of what its engines do."""
        for one in [one for one in self.latest if one.target == target]:
            del self.latest[one]


def phase_series(one: EngineId) -> Series:
    """The series that an engine's phase is stored as."""
    return Series(one.target, engine.ENGINE_PHASE.name, (("engine", one.engine), ("model", one.model)))


def surroundings(window: Window, tick: int, nodes: Collection[str]) -> Surroundings:
    """Whether all GPUs of these nodes are known to be cold, and the fabric to be still on every one of two or more."""
    names = (
        {gpu.GPU_POWER.name} | ratios.stored_names(INTERCONNECT_TRANSMIT) | ratios.stored_names(INTERCONNECT_RECEIVE)
    )
    frame = window.frame(names, start_ms=tick - 30_000, end_ms=tick, targets=nodes)
    power = frame.select(lambda series: series.metric == gpu.GPU_POWER.name)
    cold = _all_below(_latest(power), {series.target for series in power.series}, len(nodes), COLD_WATTS)
    still = None
    if len(nodes) >= 2:
        flows = [ratios.evaluate(ratio, frame, lambda series: series.target) for ratio in _FABRIC]
        rates = np.array([line[-1] for flow in flows for line in flow.values()])
        named = {str(target) for flow in flows for target in flow}
        still = _all_below(rates, named, len(nodes), STILL_BYTES_PER_SECOND)
    return Surroundings(cold, still)


_FABRIC = (INTERCONNECT_TRANSMIT, INTERCONNECT_RECEIVE)


def _latest(frame: Frame) -> Floats:
    if not len(frame.ticks):
        return np.zeros(0)
    return ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(np.float64))[:, -1]


def _all_below(values: Floats, named: set[str], nodes: int, limit: float) -> bool | None:
    """Whether every node is known and below the limit; None as soon as one is not known."""
    if not nodes or len(named) < nodes or np.isnan(values).any():
        return None
    return bool((values < limit).all())
