"""One look at one target: its page, what wrote it, and what else it says of itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from cli.words import clean
from collectors.scrape.engines import HUB_LINE
from collectors.scrape.facts import FactReader
from collectors.scrape.http import Reply, TargetClient
from collectors.scrape.outcome import Outcome
from collectors.scrape.page import Layout
from collectors.scrape.text import PageReader

ENGINE_LABELS: Mapping[str, str] = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama.cpp": "llama.cpp",
    "trtllm": "TensorRT-LLM",
}
"""Engines as their makers write them."""
TIMEOUT_S = 5.0
LONGEST = 100


@dataclass(frozen=True, slots=True)
class Probe:
    """What one look found. layout is None without an answer.

    facts: of an engine, flat text. state: of an agent, the content of its state page; empty when it has none.
    skew_s: clock of the agent's machine less ours, None where it is not told.
    """

    reply: Reply
    layout: Layout | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    skew_s: float | None = None

    @property
    def writer(self) -> str:
        """What wrote the page: an engine, "agent", or "unknown"."""
        return "unknown" if self.layout is None else self.layout.engine

    @property
    def is_hub(self) -> bool:
        """Whether the page is that of a hub like this one, not of anything that a hub reads."""
        return HUB_LINE in self.reply.body

    @property
    def model(self) -> str | None:
        """Model an engine serves, by the labels of its page, else by its list of models."""
        return self.facts.get("model") or self.facts.get("served_models")


async def look(name: str, url: str, token: str | None, timeout_s: float = TIMEOUT_S) -> Probe:
    """Read a target's page once, and the pages beside it that describe it."""
    async with TargetClient(url, clock=time.monotonic, token=token, timeout_s=timeout_s) as client:
        reply = await client.page()
        if reply.outcome is not Outcome.OK:
            return Probe(reply)
        layout = PageReader(name).read(reply.body).layout
        if layout.engine == "agent":
            state, skew_s = await _state(client)
            return Probe(reply, layout, state=state, skew_s=skew_s)
        facts = {**layout.facts, **await _facts(client, layout.engine)}
        return Probe(reply, layout, {name: printable(value) for name, value in facts.items()})


def printable(text: object) -> str:
    """Text of strangers, fit for a terminal: no control characters, and not endless."""
    return clean(str(text)[:LONGEST])


async def _facts(client: TargetClient, engine: str) -> dict[str, str]:
    facts = FactReader()
    facts.restarted(engine)
    while (path := facts.due()) is not None:
        answer = await client.beside(path)
        facts.learn(answer.outcome, answer.body)
    return facts.facts


async def _state(client: TargetClient) -> tuple[Mapping[str, Any], float | None]:
    """The agent's state page and its clock less ours, at the middle of the request."""
    before = time.time()
    answer = await client.beside("/state")
    middle = (before + time.time()) / 2
    if answer.outcome is not Outcome.OK:
        return {}, None
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return {}, None
    if not isinstance(content, dict):
        return {}, None
    told = content.get("time_s")
    return content, told - middle if isinstance(told, (int, float)) else None
