"""Twenty readers and an export beside a collector of sixteen nodes: no tick is missed, and nothing grows.

Two minutes of the demo's own processes. The readers ask what charts ask, one question after the other; the export takes
every sample of a metric again and again.
"""

from __future__ import annotations

import random
import signal
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from storage.sqlite import JOURNAL_BYTES
from storage.store import Store, open_store
from telemetry.catalog import gpu
from tests.cli.test_end_to_end import children, started

pytestmark = pytest.mark.live

NODES, READERS, SECONDS = 16, 20, 120.0
PATIENCE_S, WHOLE_S = 120.0, 600.0
METRICS = (
    "gpu_power_watts",
    "decode_tokens_per_second",
    "interconnect_transmit_bytes_per_second",
    "gpu_temperature_celsius",
)
WEB_MIB = 250.0
WAL_BYTES = JOURNAL_BYTES
"""Beyond this the log would be cut back, so it must never have been reached: no reader holds it open for long."""


@dataclass
class Crowd:
    """Threads that ask until they are told to stop, and what they got."""

    url: str
    over: threading.Event = field(default_factory=threading.Event)
    answers: list[int] = field(default_factory=list)
    exported: list[int] = field(default_factory=list)
    wrong: list[object] = field(default_factory=list)

    def reader(self, seed: int) -> None:
        dice = random.Random(seed)
        while not self.over.is_set():
            asked = {"metric": dice.choice(METRICS), "start": dice.choice(("-5m", "-1h", "-1d")), "points": 600}
            try:
                with urllib.request.urlopen(
                    f"{self.url}api/v1/series?{urlencode(asked)}", timeout=PATIENCE_S
                ) as answer:
                    self.answers.append(len(answer.read()))
            except OSError as error:
                self.wrong.append((asked, error))
            self.over.wait(dice.uniform(0.2, 1.0))  # what a person who zooms needs to look

    def export(self) -> None:
        while not self.over.is_set():
            with urllib.request.urlopen(f"{self.url}api/v1/export.csv?metric=all&raw=1&start=-1h", timeout=120) as file:
                self.exported.append(sum(len(piece) for piece in iter(lambda: file.read(65_536), b"")))

    def threads(self) -> list[threading.Thread]:
        work: list[Callable[[], None]] = [self.export]
        work += [lambda seed=seed: self.reader(seed) for seed in range(READERS)]  # type: ignore[misc]
        return [threading.Thread(target=one) for one in work]


def peak_mib(pid: int) -> float:
    """The most memory that a process ever had."""
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def ask_for(seconds: float, crowd: Crowd, wal: Path) -> int:
    """Let them ask; the most bytes that the log had."""
    threads, most, over = crowd.threads(), 0, time.monotonic() + seconds
    for one in threads:
        one.start()
    while time.monotonic() < over:
        most = max(most, wal.stat().st_size)
        time.sleep(0.1)
    crowd.over.set()
    for one in threads:
        one.join()
    return most


def ticks(store: Store, first: int, last: int) -> dict[str, list[int]]:
    """Ticks at which each node was read."""
    frame = store.frame([gpu.GPU_POWER.name], None, first, last)
    read = {series.target: frame.ticks[~np.isnan(frame.values[row])] for row, series in enumerate(frame.series)}
    return {target: found.tolist() for target, found in read.items()}


def newest(store: Store) -> int:
    commit = store.latest_commit()
    return 0 if commit is None else commit.last_tick


def test_a_crowd_costs_no_tick(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    flags = ["--nodes", str(NODES), "--port", "0", "--seed", "5", "--store", str(path)]
    environment = {"TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "TACHOGRAPH_CONFIG": ""}
    with started(["demo", *flags], environment, WHOLE_S) as process:
        url = process.until(r"Open (http://\S+) in a browser").group(1)
        with closing(open_store(str(path), writer=False, now_ms=0)) as store:
            deadline = time.monotonic() + PATIENCE_S
            while len(ticks(store, newest(store) - 5000, newest(store))) < NODES:
                assert time.monotonic() < deadline
                time.sleep(0.5)
            first, crowd = newest(store), Crowd(url)
            most = ask_for(SECONDS, crowd, path.with_name(path.name + "-wal"))
            last = newest(store)
            found = ticks(store, first, last)
            memory = peak_mib(children(process.process.pid)["web"])
        assert process.stop(signal.SIGTERM) == 0
    print(f"{len(crowd.answers)} answers, {len(crowd.exported)} exports of up to {max(crowd.exported) / 1e6:.1f} MB; ")
    print(f"write-ahead log at most {most / 1e6:.1f} MB, web {memory:.0f} MiB, {len(found)} nodes")
    assert crowd.wrong == []
    assert len(crowd.answers) > READERS
    assert len(found) == NODES
    for target, at in found.items():
        assert np.diff(at).max() < 1500, (target, "missed a tick", np.diff(at).max())
        assert last - first - 1500 <= at[-1] - at[0] <= last - first
    assert most < WAL_BYTES
    assert memory <= WEB_MIB
