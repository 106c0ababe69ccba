"""Facts beside the metrics: what of each page is kept, and that a page is asked for once per restart."""

from __future__ import annotations

import json

import pytest

from collectors.scrape.facts import MAX_BODY, SOURCES, FactReader, parse
from collectors.scrape.outcome import Outcome

VLLM_MODELS = {
    "object": "list",
    "data": [
        {"id": "kimi-k3", "root": "moonshotai/Kimi-K3", "parent": None, "max_model_len": 131072, "permission": []},
        {"id": "sql-adapter", "root": "/adapters/sql", "parent": "kimi-k3", "max_model_len": None},
    ],
}
LLAMACPP_MODELS = {"object": "list", "data": [{"id": "tiny", "meta": {"n_ctx": 2048, "n_params": 1}}]}
LLAMACPP_PROPS = {
    "default_generation_settings": {"n_ctx": 2048, "params": {}},
    "total_slots": 4,
    "model_alias": "tiny",
    "model_path": "/models/tiny.gguf",
    "chat_template": "x" * 5000,
    "build_info": "b11549-abc",
}
SGLANG_INFO = {
    "version": "0.5.9",
    "model_path": "deepseek-ai/DeepSeek-V4-Flash",
    "tp_size": 2,
    "kv_cache_dtype": "fp8_e4m3",
    "context_length": None,
    "max_total_num_tokens": 524288,
    "speculative_algorithm": "DSPARK",
    "speculative_num_draft_tokens": 8,
    "api_key": "secret",
    "internal_states": [{}],
}


def facts(engine: str, path: str, page: object) -> dict[str, str]:
    source = next(source for source in SOURCES[engine] if path in source.paths)
    return parse(source, json.dumps(page).encode())


def test_vllm() -> None:
    assert facts("vllm", "/version", {"version": "0.32.0"}) == {"version": "0.32.0"}
    assert facts("vllm", "/v1/models", VLLM_MODELS) == {
        "served_models": "kimi-k3",
        "context_tokens": "131072",
        "model_path": "moonshotai/Kimi-K3",
        "lora_adapters": "1",
    }


def test_llamacpp() -> None:
    assert facts("llama.cpp", "/v1/models", LLAMACPP_MODELS) == {"served_models": "tiny", "context_tokens": "2048"}
    assert facts("llama.cpp", "/props", LLAMACPP_PROPS) == {
        "version": "b11549-abc",
        "model_alias": "tiny",
        "model_path": "/models/tiny.gguf",
        "slots": "4",
        "context_tokens": "2048",
    }


def test_sglang_keeps_what_is_named_and_nothing_else() -> None:
    assert facts("sglang", "/server_info", SGLANG_INFO) == {
        "version": "0.5.9",
        "model_path": "deepseek-ai/DeepSeek-V4-Flash",
        "tensor_parallel": "2",
        "kv_cache_dtype": "fp8_e4m3",
        "kv_cache_size_tokens": "524288",
        "speculative_method": "DSPARK",
        "speculative_tokens": "8",
    }


@pytest.mark.parametrize(
    "page",
    [
        None,
        [],
        "text",
        {"data": None},
        {"data": [None, 3, {"id": {}}]},
        {"version": {"a": 1}},
        {"version": True},
        {"default_generation_settings": []},
        {"version": ""},
    ],
)
def test_pages_of_another_shape_say_nothing(page: object) -> None:
    for sources in SOURCES.values():
        for source in sources:
            assert parse(source, json.dumps(page).encode()) == {}


def test_text_is_capped_and_printable() -> None:
    assert facts("vllm", "/version", {"version": "0.3\n2\x1b[31m" + "x" * 500})["version"] == "0.32[31m" + "x" * 190
    source = SOURCES["vllm"][0]
    assert parse(source, b"<html>") == {}
    page = b'{"version": "1"}'
    assert parse(source, page.ljust(MAX_BODY)) == {"version": "1"}
    assert parse(source, page.ljust(MAX_BODY + 1)) == {}


def test_many_models_stay_short() -> None:
    listed = {"data": [{"id": f"model-{number:03}"} for number in range(100)]}
    named = facts("vllm", "/v1/models", listed)["served_models"]
    assert named.startswith("model-000, model-001")
    assert len(named) <= 200
    assert "model-020" not in named


def test_each_page_is_read_once_per_restart() -> None:
    reader = FactReader()
    assert reader.due() is None, "an unknown engine is not asked"
    reader.restarted("vllm")
    assert reader.due() == "/version"
    assert reader.learn(Outcome.OK, b'{"version": "0.32.0"}')
    assert reader.due() == "/v1/models"
    assert reader.learn(Outcome.OK, json.dumps(VLLM_MODELS).encode())
    assert reader.due() is None
    assert reader.facts["version"] == "0.32.0"
    assert reader.facts["context_tokens"] == "131072"
    reader.restarted("vllm")
    assert reader.facts == {}
    assert reader.due() == "/version"


def test_a_page_that_is_not_there_is_not_asked_for_again() -> None:
    reader = FactReader()
    reader.restarted("vllm")
    assert reader.due() == "/version"
    assert not reader.learn(Outcome.NOT_FOUND, b"")
    assert reader.due() == "/v1/models"
    assert not reader.learn(Outcome.UNAUTHORISED, b"")
    assert reader.due() is None


def test_the_older_name_of_a_page_is_tried_after_the_newer() -> None:
    reader = FactReader()
    reader.restarted("sglang")
    assert reader.due() == "/server_info"
    reader.learn(Outcome.NOT_FOUND, b"")
    assert reader.due() == "/get_server_info"
    reader.learn(Outcome.OK, b'{"version": "0.5.0"}')
    assert reader.facts == {"version": "0.5.0"}
    assert reader.due() == "/v1/models"


def test_an_outage_rests_longer_and_longer_and_holds_nothing_up() -> None:
    reader = FactReader()
    reader.restarted("trtllm")
    assert reader.due() == "/version"
    assert not reader.learn(Outcome.TIMED_OUT, b"")
    assert reader.due() == "/v1/models"
    assert reader.learn(Outcome.OK, b'{"data": [{"id": "m"}]}')
    rests = []
    for _ in range(8):
        rest = 0
        while (path := reader.due()) is None:
            rest += 1
        assert path == "/version"
        rests.append(rest)
        reader.learn(Outcome.REFUSED, b"")
    assert rests == [8, 19, 39, 79, 159, 319, 639, 639]
    while reader.due() is None:
        pass
    assert reader.learn(Outcome.OK, b'{"version": "1.3"}')
    assert reader.facts == {"served_models": "m", "version": "1.3"}
    assert reader.due() is None


def test_an_answer_without_facts_counts_as_read() -> None:
    reader = FactReader()
    reader.restarted("vllm")
    reader.due()
    assert not reader.learn(Outcome.OK, b"<html>")
    assert reader.due() == "/v1/models"


def test_what_was_learned_first_stays() -> None:
    reader = FactReader()
    reader.restarted("llama.cpp")
    reader.due()
    reader.learn(Outcome.OK, json.dumps(LLAMACPP_PROPS).encode())
    reader.due()
    reader.learn(Outcome.OK, b'{"data": [{"id": "tiny", "meta": {"n_ctx": 999}}]}')
    assert reader.facts["context_tokens"] == "2048"
    assert not reader.facts.get("chat_template")
