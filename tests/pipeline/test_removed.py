"""A target that is taken out of the settings: its history stays, and it is missed no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pipeline.config import TargetConfig, TargetKind
from pipeline.removed import WHY
from storage.records import Absence
from storage.store import Store, open_store
from telemetry.catalog import engine
from telemetry.states import REMOVED
from tests.pipeline.served import Bench, serving

PAGE = b'vllm:generation_tokens_total{engine="0",model_name="m"} 5\n'


def collected(path: Path, names: dict[str, str], seconds: range) -> None:
    """A collector's life with these engines."""

    async def life() -> None:
        bench = Bench(path, [TargetConfig(name, url, TargetKind.ENGINE) for name, url in names.items()])
        bench.clock.now_s = float(seconds[0])
        sampler, store = bench.open()
        for second in seconds:
            bench.clock.now_s = float(second)
            await sampler.tick(float(second))
        await sampler.finish()
        store.close()

    asyncio.run(life())


def states(store: Store) -> dict[str, tuple[str, str]]:
    return {row.name: (row.state, row.reason) for row in store.targets()}


def test_a_target_that_is_named_no_more_and_one_that_is_named_again(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(lambda _: (200, PAGE)) as url, serving(lambda _: (500, b"")) as broken:
        collected(path, {"one": url, "two": url, "bad": broken}, range(1, 4))
        collected(path, {"one": url}, range(20, 23))
        store = open_store(str(path), writer=False, now_ms=0)
        assert states(store) == {"one": ("ok", ""), "two": (REMOVED, WHY), "bad": (REMOVED, WHY)}
        assert [row.since_ms for row in store.targets() if row.name == "two"] == [20_000]
        (absence,) = store.absences(0, 10**9, "bad")
        assert absence == Absence("bad", None, 1000, 20_000, "bad answer: HTTP status 500")
        frame = store.frame([engine.GENERATION_TOKENS.name], ["two"], 0, 10**9)
        assert frame.ticks.tolist() == [1000, 2000, 3000], "what was recorded stays"
        store.close()
        collected(path, {"one": url, "two": url}, range(30, 33))
        store = open_store(str(path), writer=False, now_ms=0)
        assert states(store) == {"one": ("ok", ""), "two": ("ok", ""), "bad": (REMOVED, WHY)}
        assert [row.since_ms for row in store.targets() if row.name == "bad"] == [20_000], "said once"
        store.close()
