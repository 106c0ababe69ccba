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


def names_of(models: Iterable[str]) -> dict[str, str]:
    """What models are called beside each other: by the last part of their path, with as much of the path before it as
    tells them apart. A name without the path that another has before it may mean the same model, and counts as such.

    >>> names_of(["moonshotai/Kimi-K3", "Kimi-K3"])
    {'Kimi-K3': 'Kimi-K3', 'moonshotai/Kimi-K3': 'Kimi-K3'}
    >>> names_of(["/models/kimi/fp8", "/models/llama/fp8"])
    {'/models/kimi/fp8': 'kimi/fp8', '/models/llama/fp8': 'llama/fp8'}
    """
    paths = {model: [part for part in model.split("/") if part] for model in models}
    return {model: _told_apart(model, paths) for model in sorted(paths, key=lambda one: (len(paths[one]), one))}


def _told_apart(model: str, paths: Mapping[str, list[str]]) -> str:
    mine = paths[model]
    others = [path for path in paths.values() if not _may_be_same(path, mine)]
    for count in range(1, len(mine)):
        if all(path[-count:] != mine[-count:] for path in others):
            return "/".join(mine[-count:])
    return "/".join(mine) or model


def _may_be_same(one: list[str], other: list[str]) -> bool:
    """Whether one path is the end of the other."""
    shorter = min(len(one), len(other))
    return one[-shorter:] == other[-shorter:] if shorter else one == other


def deployment_of(
    engine: EngineId,
    settings: Mapping[str, tuple[str, ...]],
    models: Mapping[str, str],
    names: Mapping[str, str] | None = None,
) -> str:
    """Name of the deployment an engine belongs to.

    settings: deployment name → names of engine targets. models: target → model as its facts say, for engines whose
    page names none. names: see `names_of`. An engine of unknown model is a deployment of its own, called after its
    target.
    """
    for name, targets in settings.items():
        if engine.target in targets:
            return name
    model = _model_of(engine, models)
    return (names or {}).get(model, short_model(model)) if model else engine.target


def _model_of(engine: EngineId, models: Mapping[str, str]) -> str:
    return engine.model or models.get(engine.target, "")


def group(
    engines: Iterable[EngineId],
    settings: Mapping[str, tuple[str, ...]],
    models: Mapping[str, str],
    before: Iterable[str] = (),
) -> dict[str, list[EngineId]]:
    """Engines by deployment, both in order of name. before: models that served earlier, and keep names apart."""
    found: dict[str, list[EngineId]] = {}
    present = sorted(engines)
    told = (model for engine in present if (model := _model_of(engine, models)))
    names = names_of({*before, *told})
    for engine in present:
        found.setdefault(deployment_of(engine, settings, models, names), []).append(engine)
    return dict(sorted(found.items()))
