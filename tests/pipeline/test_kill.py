"""kill -9 in the middle of a tick: the store opens, and nothing before the last second is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.store import open_store
from telemetry.catalog import memory
from tests.pipeline.served import serving

ROOT = Path(__file__).parents[2]
INTERVAL_S = 0.1
PATIENCE_S = 120.0
"""A busy machine takes long to start a process."""
PAGE = f"tachograph_{memory.SWAP_IN.name} {{}}\n"


class Counted:
    """A node that has swapped in one more byte at every scrape."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, where: str) -> tuple[int, bytes]:
        if where != "/metrics":
            return 404, b""
        self.asked += 1
        return 200, PAGE.format(self.asked).encode()


def collector(
    path: Path, url: str, interval_s: float = INTERVAL_S, kind: str = "NODE", silence_s: float = 60.0
) -> subprocess.Popen[bytes]:
    """A collector process with one target. An engine is asked once a second at most, whatever the interval."""
    targets = f"(TargetConfig('head', {url!r}, TargetKind.{kind}),)"
    nodes, engines = (targets, "()") if kind == "NODE" else ("()", targets)
    code = (
        "from pipeline.collector import run; from pipeline.config import *;"
        f"run(CollectorConfig({str(path)!r}, {nodes}, {engines}, interval_s={interval_s}, "
        f"run_silence_s={silence_s}))"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)


def wait_for(counted: Counted, scrapes: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while counted.asked < scrapes:
        assert time.monotonic() < deadline, "the collector does not ask"
        time.sleep(0.005)


def kill_and_look(path: Path, times: int, seed: int) -> None:
    chance, counted = random.Random(seed), Counted()
    with serving(counted.answer) as url:
        for _ in range(times):
            with collector(path, url) as process:
                try:
                    wait_for(counted, counted.asked + 5)
                    time.sleep(chance.uniform(0, 2 * INTERVAL_S))
                finally:
                    os.kill(process.pid, signal.SIGKILL)
            store = open_store(str(path), writer=False, now_ms=0)
            frame = store.frame([memory.SWAP_IN.name], ["head"], 0, 2**60)
            assert store.verify().faults == []
            store.close()
            # One byte per scrape: the stored total says how many scrapes the store knows of.
            lost = counted.asked - (int(frame.values[0, -1]) + 1)
            assert lost * INTERVAL_S < 1.0, "more than the last second is lost"
            assert (frame.values[0] == sorted(frame.values[0])).all()


def test_five_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path / "store.db", 5, seed=1)


@pytest.mark.live
def test_fifty_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path / "store.db", 50, seed=2)
