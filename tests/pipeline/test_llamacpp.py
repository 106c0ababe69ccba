"""A live llama.cpp server behind the real collector: the client's tokens are the store's, to the last one."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from storage.errors import StoreNotReady
from storage.store import Store, open_store
from telemetry.catalog import cluster, engine
from telemetry.counters import increase
from telemetry.model import Metric
from telemetry.near import answer
from telemetry.query import Query
from tests.scrape import test_scrape_llamacpp as live

ROOT = Path(__file__).parents[2]
WISHES = [("once upon a time", 40), ("another story, longer", 24), ("last", 7)]
PATIENCE_S = 60.0
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(live.MISSING), reason=f"packages not installed: {live.MISSING}"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    yield from live.serving(tmp_path)


@pytest.fixture
def store(server: str, tmp_path: Path) -> Iterator[Store]:
    """The store of a collector that reads the server; open for reading."""
    path = tmp_path / "t.db"
    command = [sys.executable, "app.py", "collect", "--config", "", "--store", str(path), "--engine", f"llama={server}"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        opened = wait(lambda: ready(path), "the collector makes a store")
        yield opened
        opened.close()
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, told) == (0, ""), "it ends in order, and had nothing to complain of"


def ready(path: Path) -> Store | None:
    try:
        return open_store(str(path), writer=False, now_ms=0)
    except StoreNotReady:
        return None


Found = TypeVar("Found")


def wait(found: Callable[[], Found | None], what: str) -> Found:
    deadline = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return value


def ticks(store: Store) -> list[int]:
    return [row.tick for row in store.rows(targets=["llama"])]


def gained(store: Store, metric: Metric, since: int, until: int) -> float:
    """What a counter grew by between two ticks, as a question to the history tells it."""
    query = Query(metric, since, until, total=True)
    frame = store.frame(query.stored(), None, since - query.lead_ms, until)
    (line,) = answer(query, frame)
    assert line.values is not None
    ours = float(line.values[-1] - line.values[0])
    assert ours == increase(frame, since, until).sum(), "and as the samples themselves do"
    return ours


def test_the_clients_tokens_are_those_of_the_store(store: Store, server: str) -> None:
    before = wait(lambda: ticks(store)[1:], "two readings before the first request")[-1]

    async def ask() -> list[dict[str, int]]:
        return [await live.complete(server, prompt, tokens) for prompt, tokens in WISHES]

    counted = asyncio.run(ask())
    made = sum(usage["completion_tokens"] for usage in counted)
    asked = sum(usage["prompt_tokens"] for usage in counted)
    seen = ticks(store)[-1]
    after = wait(lambda: [tick for tick in ticks(store) if tick > seen][2:], "three readings after the last answer")[-1]
    assert gained(store, engine.GENERATION_TOKENS, before, after) == made == sum(tokens for _, tokens in WISHES)
    assert gained(store, engine.PREFIX_CACHE_QUERIES, before, after) == asked
    assert [(one.state, one.detail["engine"], one.detail["missed"]) for one in store.targets()] == [
        ("ok", "llama.cpp", 0)
    ]


def test_its_speed_is_recorded_and_its_tokens_are_those_of_its_deployment(store: Store, server: str) -> None:
    """Over any window the recorded series and the quotient of the engine's own counter tell the same tokens."""
    wait(lambda: ticks(store)[1:], "two readings before the first request")
    usage = asyncio.run(live.complete(server, "a long story", 400))
    end = ticks(store)[-1] + 12_000
    wait(lambda: ticks(store)[-1] >= end, "ten seconds after the last token have been read")
    frame = store.frame([cluster.RECORDED_DECODE.name], None, 0, 2**60)
    assert [series.target for series in frame.series] == ["deployment/tiny.gguf"]
    ((line),) = (row for row in frame.values)
    assert max(line[line == line]) * 10 == pytest.approx(usage["completion_tokens"], rel=0.02)
