"""A collector that starts on days of rows of the first version seals them beside its ticks, and none comes late."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline import upkeep
from pipeline.config import Keep
from pipeline.upkeep import Upkeep
from telemetry.catalog import engine
from tests.pipeline.stage import Stage
from tests.storage.first_version import COUNT, assert_history, tick, unpacked


def test_days_of_rows_are_sealed_beside_the_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "PAUSE_S", 0.001)
    stage = Stage(unpacked(tmp_path / "store.db"))

    async def story(stage: Stage) -> None:
        store, first = stage.sampler.writer.store, tick(COUNT) // 1000 + 7200
        keeper = Upkeep(store, stage.sampler, Keep(raw_days=3650), lambda _error: None)
        keeper._now_ms = lambda: first * 1000  # type: ignore[method-assign]
        due = len(store.due(first * 1000))
        assert due == 51
        sealing = asyncio.create_task(keeper.seal())
        second, seen = first, []
        while not sealing.done():
            stage.says(100 + second - first)
            await stage.tick(second)
            assert stage.sampler._writing is not None
            await stage.sampler._writing
            await asyncio.sleep(0.02)
            seen.append(len(store.sealed(0, first * 1000)))
            second += 1
        await sealing
        assert stage.sampler.writer.problem is None
        frame = store.frame([engine.GENERATION_TOKENS.name], ["one"], first * 1000, second * 1000)
        assert frame.values.tolist() == [list(range(second - first))]
        assert len(seen) >= 20, "ticks were committed all the while"
        assert max(later - earlier for earlier, later in pairwise(seen)) <= 20
        assert store.due(first * 1000) == []
        await keeper.prune()
        assert_history(store)
        assert store.verify().faults == []

    stage.play(story)
