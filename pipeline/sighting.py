"""Sighting: what a tick's pages and silences are to the detectors of runs: one observation per deployment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.scrape.page import Layout
from pipeline.deployments import EngineId
from pipeline.judge import Places, places
from pipeline.worker import Sample
from runs.sights import EngineState, Sight, engine_name
from telemetry.catalog import engine
from telemetry.phases import Judgement, Phase
from telemetry.states import TargetState

GONE = frozenset({TargetState.STOPPED, TargetState.LOADING, TargetState.RESTARTING})
"""States in which an engine's process is known not to be there, or to be another one."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One engine at the instant of its page. present: False where the page was read and it was not on it."""

    tick: int
    one: EngineId
    sight: Sight


@dataclass
class Eyes:
    """Reads what detectors want off samples; remembers where each layout has it."""

    _places: dict[str, tuple[Layout, Places]] = field(default_factory=dict)

    def look(
        self,
        samples: Iterable[Sample],
        judged: Mapping[EngineId, Judgement],
        facts: Mapping[str, tuple[str, str | None]],
    ) -> list[Seen]:
        """Every engine on these pages. facts: target → model and speculative settings as it tells them."""
        return [seen for sample in samples for seen in self._page(sample, judged, facts)]

    def _page(
        self, sample: Sample, judged: Mapping[EngineId, Judgement], facts: Mapping[str, tuple[str, str | None]]
    ) -> list[Seen]:
        if sample.target not in self._places or self._places[sample.target][0] is not sample.layout:
            self._places[sample.target] = (sample.layout, places(sample.layout))
        state = EngineState.RESTARTED if sample.restarted else EngineState.UP
        model, speculative = facts.get(sample.target, ("", None))
        found = []
        for one, where in self._places[sample.target][1].items():
            running, output, prompt = (_value(sample, where.get(metric.name)) for metric in READS)
            phase = judged[one].phase if one in judged else Phase.UNKNOWN
            sight = Sight(state, running, output, prompt, phase, one.model or model or None, speculative)
            found.append(Seen(sample.tick, one, sight))
        return found


READS = (engine.REQUESTS_RUNNING, engine.GENERATION_TOKENS, engine.PROMPT_TOKENS)


def _value(sample: Sample, place: int | None) -> float | None:
    value = math.nan if place is None else float(sample.values[place])
    return None if math.isnan(value) else value


def silence(state: TargetState) -> Sight:
    """What is known of an engine whose target does not answer."""
    return Sight(EngineState.STOPPED if state in GONE else EngineState.UNKNOWN)


def left(successor: EngineId | None) -> Sight:
    """What is known of an engine that its target's page no longer has: another model took its place, or nothing is."""
    return Sight(EngineState.UNKNOWN) if successor is None else Sight(EngineState.UP, model=successor.model)


def successor(gone: EngineId, present: Sequence[EngineId], known: Iterable[EngineId]) -> EngineId | None:
    """The engine that is on the page where one was that is not any more: of the same label, and new there."""
    before = set(known)
    return next((one for one in present if one.engine == gone.engine and one not in before), None)


def by_name(engines: Iterable[tuple[EngineId, Sight]]) -> dict[str, Sight]:
    """Sights by the name that the detector knows an engine by; of two models at once the second is named with it."""
    found: dict[str, Sight] = {}
    for one, sight in engines:
        name = engine_name(one.target, one.engine)
        found[name if name not in found else f"{name} {one.model}"] = sight
    return found
