"""kill -9 while a run goes on: it is one run, whatever dies in between."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from storage.store import open_store
from tests.pipeline.served import serving
from tests.pipeline.test_kill import collector, wait_for

PAGE = (
    'vllm:generation_tokens_total{{engine="0",model_name="org/m"}} {tokens}\n'
    'vllm:num_requests_running{{engine="0",model_name="org/m"}} {running}\nprocess_start_time_seconds 100\n'
)
SCRAPES = 3
"""How many a collector makes before it is killed."""


class Working:
    """An engine that makes ten tokens between two scrapes."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, where: str) -> tuple[int, bytes]:
        if where != "/metrics":
            return 404, b""
        self.asked += 1
        return 200, PAGE.format(tokens=self.asked * 10, running=1).encode()


@pytest.mark.live
def test_one_run_whatever_is_killed(tmp_path: Path) -> None:
    chance, working, path = random.Random(5), Working(), tmp_path / "store.db"
    with serving(working.answer) as url:
        for _ in range(6):
            process = collector(path, url, kind="ENGINE")
            wait_for(working, working.asked + SCRAPES)
            time.sleep(chance.uniform(0, 0.2))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    store = open_store(str(path), writer=False, now_ms=0)
    runs, (state,) = store.runs(), store.detectors()
    store.close()
    assert [(run.id, run.end_ms) for run in runs] == [(1, None)]
    assert state.state["detector"]["run"]["start_ms"] == runs[0].start_ms
