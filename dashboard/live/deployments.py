"""Which engines serve together, as far as the store tells: by prefill episodes, else by the model they serve."""

from __future__ import annotations

from dashboard.sources import Sources
from pipeline.deployments import EngineId, deployment_of
from telemetry.catalog import engine
from telemetry.model import Series

LOOK_MS = 60_000


def engine_series(sources: Sources) -> list[Series]:
    """One series per engine that answered lately."""
    latest = sources.tail.latest_tick or 0
    metrics = {engine.GENERATION_TOKENS.name, engine.REQUESTS_RUNNING.name, engine.ENGINE_PHASE.name}
    frame = sources.tail.frame(metrics, start_ms=latest - LOOK_MS, end_ms=latest)
    return list(frame.series)


def members(sources: Sources, models: dict[str, str] | None = None) -> dict[str, set[str]]:
    """Deployment → names of its engine targets. With one deployment, every engine is of it."""
    names = sources.deployments()
    found: dict[str, set[str]] = {name: set() for name in names}
    for series in engine_series(sources):
        one = EngineId(series.target, series.label("engine") or "", series.label("model") or "")
        name = names[0] if len(names) == 1 else deployment_of(one, {}, models or {})
        if name in found:
            found[name].add(series.target)
    return found


def engines_of(name: str, sources: Sources) -> set[str]:
    """Engine targets of a deployment."""
    return members(sources).get(name, set())
