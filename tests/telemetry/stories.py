"""Engines as stories: readings told second by second."""

from __future__ import annotations

from dataclasses import replace

from telemetry.phases import EngineJudge, EngineReading, Judgement, Surroundings

COLD, STILL = Surroundings(gpus_cold=True), Surroundings(fabric_still=True)
BOTH_NO = Surroundings(gpus_cold=False, fabric_still=False)


class Story:
    """An engine that is told what happens, second by second."""

    def __init__(self, **first: float) -> None:
        given = {"generation": 0.0, "prompt": 0.0, "computed": 0.0, "cached": 0.0, "ttft_sum": 0.0, "running": 0.0}
        self.now = EngineReading(0.0, **{**given, **first})  # type: ignore[arg-type]
        self.judge = EngineJudge()

    def at(self, second: float, around: Surroundings = BOTH_NO, **changes: float | bool | None) -> Judgement:
        self.now = replace(self.now, restarted=False)
        self.now = replace(self.now, at_ms=second * 1000, **changes)  # type: ignore[arg-type]
        return self.judge.read(self.now, around)
