"""What an engine says of itself beside its metrics: read once per restart, since asking costs the engine.

Which pages an engine may have, and what of them becomes a fact (flat, text to text). Reading is the caller's:
`due` names the pages to fetch, `learn` takes an answer. A page that is not there is not asked for again until the
engine restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from collectors.scrape.outcome import Outcome

MAX_TEXT = 200
MAX_BODY = 1_000_000
FIRST_REST, LAST_REST = 10, 640
"""Readings of the metrics page for which a page of facts rests after an outage: first and longest, doubling."""

Parser = Callable[[Any], dict[str, str]]


def _text(value: object) -> str:
    """A fact's text: short, printable, empty for what is no plain value."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return "".join(letter for letter in str(value)[:MAX_TEXT] if letter.isprintable()).strip()


def _pick(page: object, names: Mapping[str, str]) -> dict[str, str]:
    """Facts by the JSON names they stand under; a dot goes one level down."""
    found = {}
    for path, fact in names.items():
        value = page
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if text := _text(value):
            found[fact] = text
    return found


def version(page: object) -> dict[str, str]:
    """`/version` of vLLM and TensorRT-LLM: {"version": "0.32.0"}."""
    return _pick(page, {"version": "version"})


def models(page: object) -> dict[str, str]:
    """`/v1/models`: ids and the context length; adapters (entries with a parent) are counted apart."""
    entries = page.get("data") if isinstance(page, dict) else None
    listed = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    served = [entry for entry in listed if not entry.get("parent")]
    facts = {}
    if names := ", ".join(filter(None, (_text(entry.get("id")) for entry in served[:20]))):
        facts["served_models"] = names[:MAX_TEXT]
    if served:
        facts |= _pick(
            served[0], {"max_model_len": "context_tokens", "meta.n_ctx": "context_tokens", "root": "model_path"}
        )
    if adapters := len(listed) - len(served):
        facts["lora_adapters"] = str(adapters)
    return facts


def llamacpp_props(page: object) -> dict[str, str]:
    """`/props` of llama.cpp."""
    return _pick(
        page,
        {
            "build_info": "version",
            "model_alias": "model_alias",
            "model_path": "model_path",
            "total_slots": "slots",
            "default_generation_settings.n_ctx": "context_tokens",
        },
    )


def sglang_info(page: object) -> dict[str, str]:
    """`/server_info` (formerly `/get_server_info`) of SGLang."""
    return _pick(
        page,
        {
            "version": "version",
            "model_path": "model_path",
            "served_model_name": "served_models",
            "context_length": "context_tokens",
            "max_total_num_tokens": "kv_cache_size_tokens",
            "kv_cache_dtype": "kv_cache_dtype",
            "page_size": "kv_block_size",
            "quantization": "quantization",
            "tp_size": "tensor_parallel",
            "pp_size": "pipeline_parallel",
            "dp_size": "data_parallel",
            "speculative_algorithm": "speculative_method",
            "speculative_num_draft_tokens": "speculative_tokens",
        },
    )


@dataclass(frozen=True, slots=True)
class Source:
    """One page of facts; of several paths the first that answers counts."""

    paths: tuple[str, ...]
    parse: Parser


MODELS = Source(("/v1/models",), models)
SOURCES: dict[str, tuple[Source, ...]] = {
    "vllm": (Source(("/version",), version), MODELS),
    "sglang": (Source(("/server_info", "/get_server_info"), sglang_info), MODELS),
    "llama.cpp": (Source(("/props",), llamacpp_props), MODELS),
    "trtllm": (Source(("/version",), version), MODELS),
}
"""engine → its pages of facts. An agent tells its facts on its state page, an unknown engine is not asked."""


def parse(source: Source, body: bytes) -> dict[str, str]:
    """Facts of one answer; none when it is too large or no JSON."""
    if len(body) > MAX_BODY:
        return {}
    try:
        return source.parse(orjson.loads(body))
    except orjson.JSONDecodeError:
        return {}


@dataclass
class _Question:
    """A source that is still open: which of its paths comes next, and from which call of `due` on."""

    source: Source
    place: int = 0
    outages: int = 0
    not_before: int = 0


@dataclass
class FactReader:
    """What is known of one engine since its last start, and which page to ask next.

    `due` is called once per reading of the metrics page; after an outage a page rests for a growing number of calls.
    """

    engine: str = "unknown"
    facts: dict[str, str] = field(default_factory=dict)
    _open: list[_Question] = field(default_factory=list)
    _asked: _Question | None = None
    _calls: int = 0

    @property
    def complete(self) -> bool:
        """Whether each page of facts that the engine has was read since its start."""
        return not self._open

    def restarted(self, engine: str) -> None:
        """The engine (of this kind) was seen for the first time, or started anew: everything is asked again."""
        self.engine, self.facts, self._calls, self._asked = engine, {}, 0, None
        self._open = [_Question(source) for source in SOURCES.get(engine, ())]

    def due(self) -> str | None:
        """Path of the page to read now, None when there is none."""
        self._calls += 1
        self._asked = next((question for question in self._open if question.not_before <= self._calls), None)
        return self._asked.source.paths[self._asked.place] if self._asked else None

    def learn(self, outcome: Outcome, body: bytes) -> bool:
        """Take the answer for the page that was due; whether it held facts."""
        asked = self._asked
        assert asked is not None, "learn follows due"
        if outcome in (Outcome.NOT_FOUND, Outcome.UNAUTHORISED):
            asked.place += 1
            if asked.place == len(asked.source.paths):
                self._open.remove(asked)
        elif outcome is not Outcome.OK:
            asked.outages += 1
            asked.not_before = self._calls + min(FIRST_REST * 2 ** (asked.outages - 1), LAST_REST)
        else:
            self._open.remove(asked)
            found = parse(asked.source, body)
            self.facts = {**found, **self.facts}
            return bool(found)
        return False
