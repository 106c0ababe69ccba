"""The demo's first run is the published one: simulator → collector → store → summary, and the simulator's own truth.

Everything is real but the clock: an hour of the cluster passes in as long as it takes to read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.settle import LATE_MS, Settler
from runs.entries import Section, find
from settings import TABLE
from simulator.pages import engine_page
from simulator.pages.clocks import Clocks
from simulator.world import World
from storage.store import open_store
from tests.pipeline.stage import Stage

SEED = next(row.default for row in TABLE if row.name == "demo_seed")
NODES = 2
UNTIL_S = 640
"""The run ends in the 567th second, and is over a minute later."""
WINDOW_S, PAUSE_S = 10, 10


@dataclass(frozen=True)
class Told:
    """The published numbers, and the tokens they rest on."""

    mean: float
    peak: float
    prefill: float
    tokens: float


def by_summary(sections: list[Section]) -> Told:
    """As the run's kept summary has them."""

    def value(path: str) -> float:
        entry = find(sections, path)
        assert entry is not None
        assert entry.value is not None, path
        return entry.value

    paths = ("speed.decode_mean", "speed.decode_peak", "speed.prefill_throughput", "requests.output")
    return Told(*map(value, paths))


def by_truth(seconds: list[dict[str, Any]], first_s: int, last_s: int) -> Told:
    """As the simulator knows them: tokens by second, prompts by when they came and when they were answered."""
    made = {one["t"]: one["generated"] for one in seconds}
    grew = [second for second in range(first_s, last_s) if made[second + 1] > made[second]]
    windows = [[grew[0], grew[0] + 1]]
    for second in grew[1:]:
        if second - windows[-1][1] <= PAUSE_S:
            windows[-1][1] = second + 1
        else:
            windows.append([second, second + 1])
    decoding = sum(end - start for start, end in windows)
    peak = max(made[second + WINDOW_S] - made[second] for second in range(first_s, last_s - WINDOW_S + 1)) / WINDOW_S
    prompts = [one for line in seconds for one in line["episodes"] if first_s < one["first_token"] <= last_s]
    ends = [float(first_s), *(one["first_token"] for one in prompts)]
    spent = sum(end - max(one["arrived"], before) for one, (before, end) in zip(prompts, pairwise(ends), strict=True))
    tokens = made[last_s] - made[first_s]
    return Told(tokens / decoding, peak, sum(one["computed"] for one in prompts) / spent, tokens)


@pytest.mark.live
def test_the_published_run(tmp_path: Path) -> None:
    world, seconds = World(SEED, NODES), []
    world.on_second = lambda at, line: seconds.append({"t": at, **line})
    stage = Stage(tmp_path / "store.db")

    async def story(stage: Stage) -> None:
        for second in range(1, UNTIL_S + 1):
            world.advance(second)
            stage.status, stage.body = 200, engine_page.render(world, Clocks(0.0, 1.0)).encode()
            await stage.tick(second)
            await stage.sampler.written()

    stage.play(story)
    store = open_store(str(stage.path), writer=True, now_ms=0)
    (run,) = store.runs()
    assert (run.start_ms, run.ended) == (1000, "nothing happened for 60 s")
    assert run.end_ms is not None
    assert Settler(store).run(run.end_ms + LATE_MS) == 1
    part = store.run_part(run.id, "summary")
    store.close()
    assert part is not None
    shown = by_summary([Section.from_json(one) for one in part[1]["sections"]])
    assert shown.mean == pytest.approx(20, abs=1)
    assert shown.peak == pytest.approx(38, abs=2)
    assert shown.prefill == pytest.approx(750, abs=30)
    truth = by_truth([one for one in seconds if one["t"] >= 0], 1, run.end_ms // 1000)
    assert shown.tokens == truth.tokens
    assert shown.mean == pytest.approx(truth.mean, rel=1e-6)
    assert shown.peak == pytest.approx(truth.peak, rel=1e-6)
    assert shown.prefill == pytest.approx(truth.prefill, rel=1e-3)
