"""What a piece of work costs: time on the clock and of the processor, and bytes handed to the file system."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    """Summed over several pieces. written: bytes, by what the process handed to the file system."""

    clock_s: float = 0.0
    cpu_s: float = 0.0
    written: int = 0
    worst_s: float = 0.0
    times: int = 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Add a piece of this thread's work."""
        before, cpu, clock = written_by(os.getpid()), time.thread_time(), time.perf_counter()
        yield
        took = time.perf_counter() - clock
        self.cpu_s += time.thread_time() - cpu
        self.written += written_by(os.getpid()) - before
        self.clock_s, self.worst_s, self.times = self.clock_s + took, max(self.worst_s, took), self.times + 1


def written_by(process: int) -> int:
    """Bytes that a process has handed to the file system."""
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def cpu_of(process: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


@dataclass(frozen=True)
class Best:
    """The best of several on the clock, and what the processor needed on average: milliseconds."""

    clock_ms: float
    cpu_ms: float


def best(question: Callable[[], object], times: int, cpu_s: Callable[[], float], patience_s: float = 20.0) -> Best:
    """The best of so many, once warm; of fewer where they take long. cpu_s: processor used so far by who answers."""
    question()
    clock: list[float] = []
    used, until = cpu_s(), time.perf_counter() + patience_s
    while len(clock) < times and (not clock or time.perf_counter() < until):
        began = time.perf_counter()
        question()
        clock.append(time.perf_counter() - began)
    return Best(min(clock) * 1e3, (cpu_s() - used) / len(clock) * 1e3)


def folder_bytes(folder: Path) -> int:
    """Size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
