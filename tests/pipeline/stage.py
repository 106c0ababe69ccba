"""One target whose page a story sets between ticks, and the sampler that reads it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pipeline.config import TargetConfig, TargetKind
from pipeline.sampler import Sampler
from storage.store import Store
from telemetry.model import Metric
from tests.pipeline.served import Answer, Bench, serving

TOKENS = 'vllm:generation_tokens_total{{engine="0",model_name="org/m"}} {tokens}\n'
PAGE = (
    TOKENS
    + 'vllm:num_requests_running{{engine="0",model_name="org/m"}} {running}\nprocess_start_time_seconds {start}\n'
)
Story = Callable[["Stage"], Awaitable[None]]


class Stage:
    """One engine (or node) whose page a story sets between ticks."""

    def __init__(self, path: Path, kind: TargetKind = TargetKind.ENGINE) -> None:
        self.path, self.kind = path, kind
        self.status, self.body = 200, b""
        self.content_type: str | None = None
        self.asked: list[str] = []
        self.hold: threading.Event | None = None
        self.slow_s = 0.0
        self.settings: dict[str, Any] = {}
        self.sampler: Sampler
        self.bench: Bench

    def answer(self, where: str) -> Answer:
        self.asked.append(where)
        if where != "/metrics":
            return 404, b""
        if self.hold is not None:
            self.hold.wait(60)
        self.bench.clock.now_s += self.slow_s
        return (self.status, self.body) if self.content_type is None else (self.status, self.body, self.content_type)

    def says(self, tokens: float, running: float = 1, start: float = 100) -> None:
        self.status, self.body = 200, PAGE.format(tokens=tokens, running=running, start=start).encode()

    async def tick(self, second: float) -> None:
        self.bench.clock.now_s = second
        await self.sampler.tick(second)

    def play(self, story: Story) -> None:
        """Open a sampler on the store, play the story, close it."""

        async def run() -> None:
            with serving(self.answer) as url:
                self.bench = Bench(self.path, [TargetConfig("one", url, self.kind)], settings=self.settings)
                self.sampler, store = self.bench.open()
                await story(self)
                await self.sampler.finish()
                store.close()

        asyncio.run(run())


def values(store: Store, metric: Metric) -> list[float]:
    frame = store.frame([metric.name], ["one"], 0, 10**12)
    return [] if not len(frame.series) else frame.values[0].tolist()
