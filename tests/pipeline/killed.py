"""Collectors that are killed with kill -9, and what they read: frames of the tests that look at what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
INTERVAL_S = 0.1
PATIENCE_S = 120.0
"""A busy machine takes long to start a process."""


class Asked(ABC):
    """A target that counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, where: str) -> tuple[int, bytes]:
        """Its page; there are no others."""
        if where != "/metrics":
            return 404, b""
        self.asked += 1
        return 200, self.page().encode()

    @abstractmethod
    def page(self) -> str:
        """What it says at this scrape."""


def collector(
    path: Path,
    url: str,
    interval_s: float = INTERVAL_S,
    kind: str = "NODE",
    silence_s: float = 60.0,
    rules: Mapping[str, Any] | None = None,
) -> subprocess.Popen[bytes]:
    """A collector process with one target. An engine is asked once a second at most, whatever the interval."""
    targets = f"(TargetConfig('head', {url!r}, TargetKind.{kind}),)"
    nodes, engines = (targets, "()") if kind == "NODE" else ("()", targets)
    code = (
        "from pipeline.collector import run; from pipeline.config import *;"
        f"run(CollectorConfig({str(path)!r}, {nodes}, {engines}, interval_s={interval_s}, "
        f"run_silence_s={silence_s}, alerts={dict(rules or {})!r}))"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)


def wait_for(target: Asked, scrapes: int) -> None:
    """Until it was asked so often."""
    deadline = time.monotonic() + PATIENCE_S
    while target.asked < scrapes:
        assert time.monotonic() < deadline, "the collector does not ask"
        time.sleep(0.005)


def kill(process: subprocess.Popen[bytes]) -> None:
    """kill -9."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def lives(start: Callable[[], subprocess.Popen[bytes]], target: Asked, scrapes: int, more_s: float) -> None:
    """A collector from its start to its death, some time after so many scrapes."""
    with start() as process:
        try:
            wait_for(target, target.asked + scrapes)
            time.sleep(more_s)
        finally:
            kill(process)
