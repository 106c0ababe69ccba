"""What rules ask that jobs work out: who serves on which nodes, and how fast a run is against its baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerts.given import BASELINE_SPEED
from pipeline import baseline
from pipeline.config import Keep
from pipeline.upkeep import Upkeep
from tests.pipeline.stage import Stage


def upkeep_of(stage: Stage) -> Upkeep:
    return Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)


def given(stage: Stage) -> dict[str, float]:
    found = stage.sampler.hub.lookout.givens.at(stage.sampler.last_tick, [])[BASELINE_SPEED.name]
    return {owner: float(value[0]) for owner, value in found.items()}


def test_a_run_that_goes_on_is_compared_with_its_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, told = Stage(tmp_path / "store.db"), list[dict[str, float]]()
    found: list[float | None] = [0.9, None]
    asked: list[int] = []

    def speed(_store: object, run: int, _now_ms: int) -> float | None:
        asked.append(run)
        return found.pop(0)

    async def story(stage: Stage) -> None:
        upkeep = upkeep_of(stage)
        for second in range(1, 20):
            stage.says(tokens=10.0 * second, running=1)
            await stage.tick(second)
        for _ in range(2):
            await upkeep.compare()
            told.append(given(stage))
        found.append(0.7)
        await upkeep.compare()
        stage.sampler.hub.chronicle._watches.clear()
        await upkeep.compare()
        told.append(given(stage))

    monkeypatch.setattr(baseline, "speed", speed)
    stage.play(story)
    assert told == [{"deployment/m": 0.9}, {}, {}]
    assert asked == [1, 1, 1]


def test_members_by_evidence_are_what_rules_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path / "store.db")

    async def story(stage: Stage) -> None:
        upkeep, lookout = upkeep_of(stage), stage.sampler.hub.lookout
        monkeypatch.setattr(upkeep._membership, "look", lambda *_: {"m": frozenset({"a"})})
        await upkeep.look_far()
        assert lookout.evidence == {"m": {"a"}}

    stage.play(story)
