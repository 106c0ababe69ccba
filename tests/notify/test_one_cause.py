"""A machine that goes with its engine is one message: what follows from it waits until it is known, and is not told."""

from __future__ import annotations

import asyncio
from pathlib import Path

from alerts.notices import Channel
from pipeline.config import TargetConfig, TargetKind
from storage.store import open_store
from tests.pipeline.served import Answer, Bench, serving
from tests.pipeline.stage import PAGE
from tests.pipeline.test_before_left import NODE, nobody

ENGINE = PAGE.format(tokens=5, running=2, start=100)


def test_the_node_is_told_and_its_engine_is_not(tmp_path: Path) -> None:
    path, gone = tmp_path / "store.db", nobody()

    def answer(where: str) -> Answer:
        pages = {"/engine": ENGINE, "/node": NODE.format(0)}
        return (200, pages[where].encode()) if where in pages else (404, b"")

    async def story(url: str) -> None:
        targets = [
            TargetConfig("head", f"{url}/engine", TargetKind.ENGINE),
            TargetConfig("n1", f"{url}/node", TargetKind.NODE),
        ]
        bench = Bench(path, targets, settings={"channels": (Channel("ops"),)})
        sampler, store = bench.open()
        for second in range(1, 80):
            bench.clock.now_s = float(second)
            if second == 10:
                for target in sampler.targets:
                    await target._client.close()
                    target._client.url = gone
            await sampler.tick(bench.clock.now_s)
        await sampler.finish()
        store.close()

    with serving(answer) as url:
        asyncio.run(story(url))
    store = open_store(str(path), writer=False, now_ms=0)
    rules = {alert.id: (alert.rule, alert.cause) for alert in store.alerts()}
    told = [rules[number][0] for one in store.outgoing() for number, _ in one.words or ()]
    store.close()
    number = next(number for number, (rule, _) in rules.items() if rule == "node_silent")
    assert sorted(rules.values(), key=str) == [("engine_unreachable", number), ("node_silent", None)]
    assert told == ["node_silent"]
