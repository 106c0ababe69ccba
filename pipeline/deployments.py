"""Deployments: the engines that serve one model together, by the settings, else by the model they serve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

DEPLOYMENT_FACT = "deployment."
"""Beginning of the facts that say which deployment an engine belongs to, by the model that it names."""
MODEL_FACTS = ("model_alias", "served_models")
"""Facts that name the model of an engine; the last one that is known counts."""


@dataclass(frozen=True, slots=True, order=True)
class EngineId:
    """One engine: a target, an `engine` label value, and the model it names."""

    target: str
    engine: str
    model: str


def short_model(model: str) -> str:
    """The last part of a model's path, which is what people call it.

    >>> short_model("moonshotai/Kimi-K3")
    'Kimi-K3'
    """
    return model.rstrip("/").rsplit("/", 1)[-1] or model


def model_in(fact: str) -> str:
    """The model that a fact names: the first of several names.

    >>> model_in("org/Model-7B, alias")
    'org/Model-7B'
    """
    return fact.split(",")[0].strip()


def deployment_of(engine: EngineId, settings: Mapping[str, tuple[str, ...]], models: Mapping[str, str]) -> str:
    """Name of the deployment an engine belongs to.

    settings: deployment name → names of engine targets. models: target → model as its facts say, for engines whose
    page names none. An engine of unknown model is a deployment of its own, called after its target.
    """
    for name, targets in settings.items():
        if engine.target in targets:
            return name
    model = engine.model or models.get(engine.target, "")
    return short_model(model) if model else engine.target


def group(
    engines: Iterable[EngineId], settings: Mapping[str, tuple[str, ...]], models: Mapping[str, str]
) -> dict[str, list[EngineId]]:
    """Engines by deployment, both in order of name."""
    found: dict[str, list[EngineId]] = {}
    for engine in sorted(engines):
        found.setdefault(deployment_of(engine, settings, models), []).append(engine)
    return dict(sorted(found.items()))
