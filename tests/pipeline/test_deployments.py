"""Which engines serve one model together."""

from __future__ import annotations

import pytest

from pipeline.deployments import EngineId, deployment_of, group, names_of, short_model
from tests.pipeline.stage import Stage

SETTINGS = {"prod": ("head", "second")}


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("moonshotai/Kimi-K3", "Kimi-K3"),
        ("/models/kimi/", "kimi"),
        ("tiny-llama", "tiny-llama"),
        ("/", "/"),
        ("C:/a/b.gguf", "b.gguf"),
    ],
)
def test_short_model(model: str, short: str) -> None:
    assert short_model(model) == short


@pytest.mark.parametrize(
    ("engine", "models", "name"),
    [
        (EngineId("head", "0", "moonshotai/Kimi-K3"), {}, "prod"),
        (EngineId("third", "0", "moonshotai/Kimi-K3"), {}, "Kimi-K3"),
        (EngineId("third", "0", "moonshotai/Kimi-K3"), {"third": "other"}, "Kimi-K3"),
        (EngineId("llama", "0", ""), {"llama": "models/tiny.gguf"}, "tiny.gguf"),
        (EngineId("llama", "0", ""), {"llama": ""}, "llama"),
        (EngineId("llama", "0", ""), {}, "llama"),
    ],
)
def test_by_the_settings_else_by_model_else_alone(engine: EngineId, models: dict[str, str], name: str) -> None:
    assert deployment_of(engine, SETTINGS, models) == name


def test_group_is_in_order_of_name() -> None:
    engines = [EngineId("z", "1", "b/M"), EngineId("z", "0", "b/M"), EngineId("a", "0", "M"), EngineId("q", "0", "A")]
    found = group(engines, {}, {})
    assert list(found) == ["A", "M"]
    assert found["M"] == [EngineId("a", "0", "M"), EngineId("z", "0", "b/M"), EngineId("z", "1", "b/M")]
    assert group([], SETTINGS, {}) == {}


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["org/M", "M"], ["M", "M"]),
        (["a/M", "b/M"], ["a/M", "b/M"]),
        (["a/M", "b/M", "M"], ["a/M", "b/M", "M"]),
        (["/models/kimi/fp8", "/models/llama/fp8", "x/y"], ["kimi/fp8", "llama/fp8", "y"]),
        (["/a/x/fp8/", "/b/x/fp8"], ["a/x/fp8", "b/x/fp8"]),
        (["x/fp8", "/b/x/fp8", "y/fp8"], ["x/fp8", "x/fp8", "y/fp8"]),
        (["/", "M"], ["/", "M"]),
    ],
)
def test_different_models_are_no_one_deployment(models: list[str], names: list[str]) -> None:
    """Their speeds would be added."""
    found = names_of(models)
    assert [found[model] for model in models] == names
    engines = [EngineId(f"e{number}", "0", model) for number, model in enumerate(models)]
    assert {engine.target: name for name, mine in group(engines, {}, {}).items() for engine in mine} == {
        engine.target: name for engine, name in zip(engines, names, strict=True)
    }
    assert set(group(engines, {"all": tuple(one.target for one in engines)}, {})) == {"all"}
    told = {one.target: one.model for one in engines}
    nameless = [EngineId(one.target, "0", "") for one in engines]
    assert set(group(nameless, {}, told)) == set(names), "models that facts name"


@pytest.mark.parametrize("order", [("model_alias", "served_models"), ("served_models", "model_alias")])
def test_a_served_model_counts_before_an_alias_whichever_was_told_last(stage: Stage, order: tuple[str, str]) -> None:
    values = {"model_alias": "alias", "served_models": "org/Served-7B, other"}

    async def story(stage: Stage) -> None:
        stage.status, stage.body = 200, b"llamacpp:tokens_predicted_total 5\n"
        await stage.tick(1)
        for second, name in enumerate(order, start=2):
            stage.sampler.hub.learn_facts("one", {name: values[name]}, second * 1000)
        assert list(stage.sampler.hub.deployments()) == ["Served-7B"]

    stage.play(story)


def test_a_name_stays_when_the_model_that_it_is_told_apart_from_goes_silent(stage: Stage) -> None:
    async def story(stage: Stage) -> None:
        stage.status, stage.body = 200, b'vllm:generation_tokens_total{model_name="a/M",engine="0"} 5\n'
        await stage.tick(1)
        assert list(stage.sampler.hub.deployments()) == ["M"]
        stage.sampler.hub.remember_fact("other", "deployment.b/M", "b/M", 0)
        assert list(stage.sampler.hub.deployments()) == ["a/M"]
        stage.sampler.hub.remember_fact("other", "served_models", "c/M", 0)
        assert list(stage.sampler.hub.deployments()) == ["a/M"]

    stage.play(story)
