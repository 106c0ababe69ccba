"""Which engines serve together: as the collector has noted it of each, else by the model they serve."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.live.scene import Models
from dashboard.sources import Sources
from pipeline.deployments import DEPLOYMENT_FACT, EngineId, deployment_of
from telemetry.catalog import engine
from telemetry.model import Series

LOOK_MS = 60_000


def engine_series(sources: Sources) -> list[Series]:
    """One series per engine that answered lately."""
    recent = sources.recent
    latest = recent.latest_tick or 0
    metrics = {engine.GENERATION_TOKENS.name, engine.REQUESTS_RUNNING.name, engine.ENGINE_PHASE.name}
    frame = recent.frame(metrics, start_ms=latest - LOOK_MS, end_ms=latest)
    return list(frame.series)


def noted(sources: Sources) -> dict[tuple[str, str], str]:
    """Deployment by engine target and model label, as the collector put them together by its settings."""
    facts = sources.store.facts(at_ms=sources.now_ms())
    told = [fact for fact in facts if fact.name.startswith(DEPLOYMENT_FACT)]
    return {(fact.target, fact.name.removeprefix(DEPLOYMENT_FACT)): fact.value for fact in told}


def members(sources: Sources, models: Mapping[str, str] | None = None) -> dict[str, set[str]]:
    """Deployment → names of its engine targets. models: what each target serves, read from the store where not given.

    Of an engine of which nothing is noted: with one deployment it is of it, else of the one of its model.
    """
    names, known = sources.deployments(), noted(sources)
    served = Models().at(sources.store, sources.now_ms()) if models is None else models
    found: dict[str, set[str]] = {name: set() for name in names}
    for series in engine_series(sources):
        one = EngineId(series.target, series.label("engine") or "", series.label("model") or "")
        name = known.get((one.target, one.model))
        if name is None:
            name = names[0] if len(names) == 1 else deployment_of(one, {}, served)
        if name in found:
            found[name].add(series.target)
    return found


def engines_of(name: str, sources: Sources) -> set[str]:
    """Engine targets of a deployment."""
    return members(sources).get(name, set())


def feeding(name: str, sources: Sources) -> set[str]:
    """Engine targets that a deployment's recorded series come from; where none answered lately, those noted of it."""
    return engines_of(name, sources) or {target for (target, _), told in noted(sources).items() if told == name}
