"""kill -9 while a run goes on, and around its begin and its end: it begins and ends once, whatever dies in between."""

from __future__ import annotations

import random
import subprocess
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.digest import SUMMARY
from pipeline.settle import LATE_MS, Settler
from runs.model import Run
from storage.store import open_store
from tests.pipeline.killed import Asked, collector, kill, lives, wait_for
from tests.pipeline.served import serving

PAGE = (
    'vllm:generation_tokens_total{{engine="0",model_name="org/m"}} {tokens}\n'
    'vllm:num_requests_running{{engine="0",model_name="org/m"}} {running}\nprocess_start_time_seconds 100\n'
)
SCRAPES = 3
"""How many a collector makes before it is killed."""
SILENCE_S = 2.0
SEEN = 2
"""Scrapes after which a collector has seen what the engine does now."""


class Working(Asked):
    """An engine that makes ten tokens between two scrapes, while it is busy."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.busy = 0, True

    def page(self) -> str:
        self.tokens += 10 * self.busy
        return PAGE.format(tokens=self.tokens, running=int(self.busy))


@pytest.mark.live
def test_one_run_whatever_is_killed(tmp_path: Path) -> None:
    chance, working, path = random.Random(5), Working(), tmp_path / "store.db"
    with serving(working.answer) as url:
        for _ in range(6):
            lives(partial(collector, path, url, kind="ENGINE"), working, SCRAPES, chance.uniform(0, 0.2))
    store = open_store(str(path), writer=False, now_ms=0)
    runs, (state,) = store.runs(), store.detectors()
    store.close()
    assert [(run.id, run.end_ms) for run in runs] == [(1, None)]
    assert state.state["detector"]["run"]["start_ms"] == runs[0].start_ms


def kill_at_edges(path: Path, kills: int, seed: int) -> list[Run]:
    """The runs of an engine that works and rests in turn, with a kill soon after each change.

    After a kill at a begin the next collector sees the engine work, after one at an end it sees the silence pass.
    """
    chance, working = random.Random(seed), Working()
    working.busy = False
    with serving(working.answer) as url:
        process = started(path, url, working, SEEN)
        for number in range(kills):
            working.busy = number % 2 == 0
            time.sleep(chance.uniform(0, 2) if working.busy else chance.uniform(SILENCE_S - 1, SILENCE_S + 1.5))
            kill(process)
            process = started(path, url, working, SEEN if working.busy else SEEN + round(SILENCE_S))
        working.busy = False
        wait_for(working, working.asked + SEEN + round(SILENCE_S))
        kill(process)
    return settled(path)


def started(path: Path, url: str, working: Working, scrapes: int) -> subprocess.Popen[bytes]:
    """A collector that has read the engine so many times."""
    process = collector(path, url, kind="ENGINE", silence_s=SILENCE_S)
    wait_for(working, working.asked + scrapes + 1)
    return process


def settled(path: Path) -> list[Run]:
    """Runs, the oldest first, once their parts are worked out: each exactly once."""
    store = open_store(str(path), writer=True, now_ms=0)
    found = store.runs()[::-1]
    settler, later = Settler(store), max((run.end_ms or 0) for run in found) + LATE_MS
    missing = len(store.unsettled_runs(SUMMARY))
    assert (settler.run(later), settler.run(later)) == (missing, 0)
    for run in found:
        part = store.run_part(run.id, SUMMARY)
        assert part is not None
        assert part[0] == run.revision == 0
        assert (part[1]["start"], part[1]["end"]) == (run.start_ms, run.end_ms)
    store.close()
    return found


def once(found: list[Run], bursts: int) -> None:
    """One run for each burst of work, one after the other."""
    assert [run.id for run in found] == list(range(1, bursts + 1))
    assert {run.ended for run in found} == {"nothing happened for 2 s"}
    spans = [(run.start_ms, run.end_ms or 0) for run in found]
    assert all(start < end for start, end in spans)
    assert all(end < later for (_, end), (later, _) in pairwise(spans))


@pytest.mark.live
def test_twenty_kills_around_begin_and_end(tmp_path: Path) -> None:
    once(kill_at_edges(tmp_path / "store.db", 20, seed=8), bursts=10)
