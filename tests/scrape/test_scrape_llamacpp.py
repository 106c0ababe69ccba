"""A live llama.cpp server: recognised, its counters equal what the client counted, kept alive past its limit."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from collectors.scrape.facts import FactReader
from collectors.scrape.http import Reply, TargetClient
from collectors.scrape.outcome import Outcome
from collectors.scrape.page import Page
from collectors.scrape.text import PageReader
from tests.scrape.recordings import total

MISSING = [name for name in ("xllamacpp", "gguf") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"packages not installed: {', '.join(MISSING)}")
CLOSES_AFTER = 100
"""Requests after which this server closes a kept connection."""


def serving(folder: Path, *options: str) -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).with_name("llamacpp_server.py")), str(folder), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening "), "the server did not start"
        yield line.split()[1]
        process.communicate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serving(tmp_path_factory.mktemp("model"))


async def complete(url: str, prompt: str, tokens: int) -> dict[str, int]:
    """One request; {"prompt_tokens": …, "completion_tokens": …} as the server tells its client."""
    wish = {"prompt": prompt, "max_tokens": tokens, "ignore_eos": True, "temperature": 0.0, "seed": 1}
    async with aiohttp.ClientSession() as session, session.post(f"{url}/v1/completions", json=wish) as answer:
        body = await answer.json()
        assert answer.status == 200, body
        return dict(body["usage"])


def test_counts_equal_the_clients(server: str) -> None:
    reader = PageReader("llama")

    async def run() -> tuple[Page, list[dict[str, int]], Page]:
        async with TargetClient(server, clock=time.monotonic) as client:
            before = reader.read((await client.page()).body)
            wishes = [("once upon a time", 40), ("another story, longer", 24), ("last", 7)]
            counted = [await complete(server, prompt, tokens) for prompt, tokens in wishes]
            return before, counted, reader.read((await client.page()).body)

    before, counted, after = asyncio.run(run())
    assert before.layout is after.layout
    assert after.layout.engine == "llama.cpp"
    gained = {
        name: (total(after, name) or 0.0) - (total(before, name) or 0.0)
        for name in ("generation_tokens_total", "prefix_cache_queries_total", "prompt_processing_seconds_total")
    }
    assert gained["generation_tokens_total"] == sum(usage["completion_tokens"] for usage in counted) == 71
    assert gained["prefix_cache_queries_total"] == sum(usage["prompt_tokens"] for usage in counted)
    assert gained["prompt_processing_seconds_total"] > 0
    assert (total(after, "requests_running"), total(after, "requests_waiting")) == (0, 0)
    assert total(after, "time_to_first_token_seconds_count") is None, "not offered"
    assert after.bad_lines == 0


def test_connection_outlives_the_servers_limit(server: str) -> None:
    async def run() -> list[Reply]:
        async with TargetClient(server, clock=time.monotonic) as client:
            return [await client.page() for _ in range(2 * CLOSES_AFTER + 10)]

    replies = asyncio.run(run())
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    reader = PageReader("llama")
    layouts = {id(reader.read(reply.body).layout) for reply in replies}
    assert len(layouts) == 1


def test_facts(server: str) -> None:
    async def run() -> tuple[dict[str, str], list[str]]:
        facts, asked = FactReader(), []
        facts.restarted("llama.cpp")
        async with TargetClient(server, clock=time.monotonic) as client:
            while (path := facts.due()) is not None:
                asked.append(path)
                reply = await client.beside(path)
                facts.learn(reply.outcome, reply.body)
        return facts.facts, asked

    facts, asked = asyncio.run(run())
    assert asked == ["/props", "/v1/models"]
    assert facts["slots"] == "2"
    assert facts["context_tokens"] == "1024", "of one slot"
    assert facts["model_path"].endswith("tiny.gguf")
    assert facts["version"]
    assert "chat_template" not in facts


def test_server_without_metrics_says_so(tmp_path: Path) -> None:
    async def run(url: str) -> Reply:
        async with TargetClient(url, clock=time.monotonic) as client:
            return await client.page()

    for url in serving(tmp_path, "--no-metrics"):
        reply = asyncio.run(run(url))
    assert (reply.outcome, reply.status) == (Outcome.NOT_FOUND, 501)
