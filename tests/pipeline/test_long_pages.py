"""Pages that take long to read the first time: no other target's tick waits for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collectors.scrape.page import Page
from collectors.scrape.text import PageReader
from pipeline.clock import HubClock
from pipeline.collector import build
from pipeline.config import CollectorConfig, TargetConfig, TargetKind
from pipeline.desk import LONG_BYTES, Desk
from storage.store import open_store
from telemetry.catalog import memory
from tests.pipeline.served import serving

LINES = 50_000
HOSTILE = "".join(  # two seconds of reading, and more on a slow machine
    f'vllm:generation_tokens_total{{engine="{number}",model_name="m"}} {number} 1700000000000\n'
    for number in range(LINES)
).encode()
HARMLESS = b'vllm:generation_tokens_total{engine="0",model_name="m"} 5\n'
NODES = ("a", "b", "c")
INTERVAL_S = 1.0
PATIENCE_S = 60.0


class Cluster:
    """Three nodes, and an engine that sends a hostile page from some time on."""

    def __init__(self) -> None:
        self.asked, self.hostile_asked = 0, 0
        self.hostile = False

    def answer(self, where: str) -> tuple[int, bytes]:
        if where.endswith("/node"):
            self.asked += 1
            return 200, f"tachograph_{memory.SWAP_IN.name} {self.asked}\n".encode()
        if not where.endswith("/engine"):
            return 404, b""
        self.hostile_asked += self.hostile
        return 200, HOSTILE if self.hostile else HARMLESS


async def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


@pytest.mark.live
def test_every_tick_of_the_others_is_whole(tmp_path: Path) -> None:
    cluster = Cluster()

    async def run(url: str) -> int:
        nodes = tuple(TargetConfig(name, f"{url}/{name}/node", TargetKind.NODE) for name in NODES)
        engine = TargetConfig("bad", f"{url}/engine", TargetKind.ENGINE)
        store = open_store(str(tmp_path / "s.db"), writer=True, now_ms=0)
        config = CollectorConfig(str(tmp_path / "s.db"), nodes, (engine,), interval_s=INTERVAL_S)
        clock = HubClock(time.time() * 1000, time.monotonic() * 1000)
        sampler, stop = build(config, store, clock, time.monotonic), asyncio.Event()
        running = asyncio.ensure_future(sampler.run(stop))
        await until(lambda: len(store.rows(targets=["bad"])) >= 2)
        cluster.hostile = True
        await until(lambda: cluster.hostile_asked)
        began = sampler.last_tick
        await until(lambda: len(store.rows(start=began, targets=["bad"])) >= 2)
        stop.set()
        await running
        store.close()
        return began

    with serving(cluster.answer) as url:
        began = asyncio.run(run(url))
    store = open_store(str(tmp_path / "s.db"), writer=False, now_ms=0)
    frame = store.frame([memory.SWAP_IN.name], list(NODES), began, began + 3000)
    store.close()
    assert len(frame.ticks) >= 3
    assert set(np.diff(frame.ticks).tolist()) <= {999, 1000, 1001}
    assert not np.isnan(frame.values).any(), "each node is in each tick"
    assert np.max(frame.at_ms - frame.ticks) < 1000 * INTERVAL_S, "and was read in its own"


@pytest.mark.parametrize(
    ("size", "known", "thread"),
    [
        (LONG_BYTES, False, "short-pages_0"),
        (LONG_BYTES + 1, False, "long-pages_0"),
        (LONG_BYTES + 1, True, "long-pages_0"),
    ],
)
def test_what_needs_reading_is_read_elsewhere(size: int, known: bool, thread: str) -> None:
    page = PageReader("one").read(HARMLESS)

    async def run() -> tuple[Page | None, str]:
        desk = Desk()
        found = await desk.read(
            b"x" * size, lambda _body: page if known else None, lambda page: (page, threading.current_thread().name)
        )
        desk.close()
        return found

    assert asyncio.run(run()) == (None, thread)


def test_what_is_like_the_last_page_is_read_at_once() -> None:
    reader = PageReader("one")
    page = reader.read(HARMLESS)

    async def run() -> tuple[Page | None, int]:
        desk = Desk()
        found = await desk.read(HARMLESS, reader.again, lambda page: (page, threading.get_ident()))
        desk.close()
        return found

    found, thread = asyncio.run(run())
    assert thread == threading.get_ident()
    assert found is not None
    assert found.layout is page.layout


def test_a_long_page_holds_up_neither_short_ones_nor_the_loop() -> None:
    let_go = threading.Event()

    async def run() -> list[str]:
        desk, done = Desk(), list[str]()

        async def read(name: str, size: int, wait: bool) -> None:
            await desk.read(b"x" * size, lambda _body: None, lambda _page: let_go.wait(PATIENCE_S) if wait else True)
            done.append(name)

        long = asyncio.ensure_future(read("long", LONG_BYTES + 1, wait=True))
        await asyncio.gather(*(read("short", 10, wait=False) for _ in range(5)))
        let_go.set()
        await long
        desk.close()
        return done

    assert asyncio.run(run()) == ["short"] * 5 + ["long"]


def test_only_a_page_with_other_numbers_is_taken_again() -> None:
    reader = PageReader("one")
    assert reader.again(HARMLESS) is None, "nothing was read before"
    first = reader.read(HARMLESS)
    again = reader.again(HARMLESS.replace(b" 5", b" 7"))
    assert again is not None
    assert again.layout is first.layout
    assert again.raw.tolist() == [7.0]
    assert reader.again(HARMLESS + b'vllm:num_requests_running{engine="0"} 1\n') is None
    assert reader.read(HARMLESS.replace(b" 5", b" 9")).raw.tolist() == [9.0]
