"""What a tick costs: our collector and Debian's Prometheus reading the same simulated cluster in the same minute.

    python -m bench.tick [--nodes 16] [--seconds 60]

Both scrape every node and the engine once a second and store what they read; CPU and memory are the processes' own,
from /proc, after a warm-up. Prints ours, theirs and the ratio, and what DESIGN asks of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
WARM_UP_S = 15
MUST = {16: (30.0, 130.0), 64: (100.0, 400.0)}
"""Nodes → (CPU milliseconds per second, resident MiB) that the collector must stay below."""


@dataclass(frozen=True)
class Cost:
    """CPU milliseconds per second of wall time, and resident memory at the end."""

    cpu_ms: float
    resident_mib: float


@contextmanager
def running(*command: str, **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    process = subprocess.Popen(command, cwd=ROOT, text=True, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(processes: list[subprocess.Popen[str]], seconds: float) -> list[Cost]:
    """What each process costs over the same stretch of time."""
    time.sleep(WARM_UP_S)
    before, began = [cpu_s(one.pid) for one in processes], time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    return [
        Cost((cpu_s(one.pid) - used) / elapsed * 1000, resident_mib(one.pid))
        for one, used in zip(processes, before, strict=True)
    ]


def prometheus_config(urls: list[str]) -> str:
    """A scrape of every address once a second."""
    hosts = ", ".join(f"'{url.removeprefix('http://')}'" for url in urls)
    return f"""global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: all
    static_configs: [{{targets: [{hosts}]}}]
"""


def run(nodes: int, seconds: float) -> None:
    """Measure and print."""
    peer = shutil.which("prometheus")
    if peer is None:
        sys.exit("prometheus is not installed")
    with tempfile.TemporaryDirectory() as folder:
        simulator = (sys.executable, "-m", "simulator", "--nodes", str(nodes))
        with running(*simulator, stdout=subprocess.PIPE) as simulated:
            told = json.loads(simulated.stdout.readline())  # type: ignore[union-attr]
            flags = [f"--node={name}={url}" for name, url in told["nodes"].items()]
            config = Path(folder, "prometheus.yml")
            config.write_text(prometheus_config([*told["nodes"].values(), told["engine"]]))
            ours = (sys.executable, "app.py", "collect", f"--store={folder}/store.db", f"--engine={told['engine']}")
            theirs = (peer, f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb")
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            listen = "--web.listen-address=127.0.0.1:0"
            with running(*ours, *flags, **quiet) as mine, running(*theirs, listen, **quiet) as other:
                report(nodes, *measure([mine, other], seconds))


def report(nodes: int, ours: Cost, theirs: Cost) -> None:
    """Print the comparison as a table."""
    must = MUST.get(nodes, (float("nan"), float("nan")))
    print(f"{nodes} nodes and one engine, once a second")
    print(f"{'':24}{'ours':>10}{'Prometheus':>12}{'ratio':>8}{'must':>8}")
    for label, mine, other, limit in (
        ("CPU, ms per second", ours.cpu_ms, theirs.cpu_ms, must[0]),
        ("resident memory, MiB", ours.resident_mib, theirs.resident_mib, must[1]),
    ):
        print(f"{label:24}{mine:10.1f}{other:12.1f}{mine / other:8.2f}{limit:8.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    run(given.nodes, given.seconds)
