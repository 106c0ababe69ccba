"""Recorded pages, put into a store by the real collector over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.config import TargetConfig, TargetKind
from storage.store import Store, open_store
from tests.pipeline.replay import recording
from tests.pipeline.served import Bench, serving
from tests.scrape.recordings import pages

TARGET = "head"
Scrape = tuple[float, float, bytes]
"""Second of the tick, of the arrival, and the page."""


@contextmanager
def collected(path: Path, scrapes: Iterable[Scrape]) -> Iterator[Store]:
    """A store that holds these scrapes of one engine."""
    page = {"body": b""}
    with serving(lambda where: (200, page["body"]) if where == "/metrics" else (404, b"")) as url:
        asyncio.run(_collect(path, url, page, scrapes))
    store = open_store(str(path), writer=False, now_ms=0)
    try:
        yield store
    finally:
        store.close()


async def _collect(path: Path, url: str, page: dict[str, bytes], scrapes: Iterable[Scrape]) -> None:
    bench = Bench(path, [TargetConfig(TARGET, url, TargetKind.ENGINE)])
    sampler, store = bench.open()
    for tick, arrived, body in scrapes:
        bench.clock.now_s, page["body"] = arrived, body
        await sampler.tick(tick)
    await sampler.finish()
    store.close()


def benchmark() -> list[Scrape]:
    """The recorded benchmark, once a second."""
    begin = recording()[0].sent_ms / 1000
    return [(begin + number, one.arrived_ms / 1000, one.body) for number, one in enumerate(recording())]


PREFIX = "vllm-history/vllm_main-2026-08-17_dspark_single__t"
EPOCH = 1_796_000_000


def history() -> list[Scrape]:
    """One server with speculative decoding, a prefill of 60 k tokens, and a restart; rendered at a few moments."""
    names = sorted(name for name in pages() if name.startswith(PREFIX) and name.endswith(".prom"))
    seconds = [EPOCH + int(name.removeprefix(PREFIX)[:3]) for name in names]
    return [(second, second, pages()[name]) for second, name in zip(seconds, names, strict=True)]
