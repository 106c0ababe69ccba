"""What the agent costs, beside prometheus-node-exporter on the same tree of a GB10 node, scraped at the same moments.

    python bench/agent.py [--seconds 60]

Only the ratio of one run means something: both share the machine's noise. NVML is the tests' stub library and the tree
is files, so the cost of a real driver and of counters read from a NIC's firmware is not in here.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.node.node_machine import build  # noqa: E402

MIB = 1024 * 1024
ARCHIVE = "tachograph-agent.pyz"
STARTS = 9
COLLECTORS = (
    *("cpu", "meminfo", "vmstat", "loadavg", "pressure", "buddyinfo", "stat", "uname"),
    *("infiniband", "netdev", "netclass", "filesystem", "diskstats", "time"),
)
"""node_exporter's collectors for what the agent reads too; hwmon fails on this tree, and logs 5 kB each time."""
BUDGET = {"agent RSS, MiB": 25.0, "agent CPU ∕ node_exporter": 0.6, "agent start CPU, ms": 150.0}


@dataclass
class Server:
    """A process that answers GET /metrics."""

    name: str
    process: subprocess.Popen[bytes]
    port: int

    def cpu_s(self) -> float:
        """Processor time so far of all its threads, those that have ended too: the clock of clock_getcpuclockid(3)."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory(self, field: str = "Rss") -> float:
        """Resident (or proportional, "Pss") bytes."""
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        match = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
        return int(match[1]) * 1024 if match else float("nan")


def free_port() -> int:
    """A port that nobody listens at just now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def scrape(connection: http.client.HTTPConnection) -> int:
    """Samples on one page."""
    connection.request("GET", "/metrics", headers={"Accept-Encoding": "identity"})
    body = connection.getresponse().read()
    return sum(1 for line in body.splitlines() if line and not line.startswith(b"#"))


def wait_for(port: int) -> None:
    """Until somebody listens."""
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def prepare(scratch: Path) -> str:
    """Build the agent, the stub of NVML and the tree; the tree's root."""
    subprocess.run([sys.executable, ROOT / "deploy/build_agent.py", "--output", scratch / ARCHIVE], check=True)
    flags = ["-shared", "-fPIC", "-O2", '-DFIXED_SCENARIO="busy"', "-o", scratch / "libnvidia-ml.so.1"]
    subprocess.run(["gcc", *flags, ROOT / "tests/node/nvml_stub.c"], check=True)
    return build(scratch / "tree").root


def costs_of_starting(scratch: Path, tree: str, python: str) -> list[float]:
    """Processor time in ms until the first page has come, of each start."""
    found = []
    for _ in range(STARTS):
        agent = start_agent(scratch, tree, python)
        wait_for(agent.port)
        connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=10)
        scrape(connection)
        found.append(agent.cpu_s() * 1000)
        connection.close()
        agent.process.kill()
        agent.process.wait()
    return found


def start_agent(scratch: Path, tree: str, python: str) -> Server:
    """The agent as one file, under -I -S, with the stub of NVML."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(scratch)}
    port = free_port()
    command = [python, "-I", "-S", str(scratch / ARCHIVE), "--root", tree, "--port", str(port)]
    return Server("agent", subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL), port)


def start_node_exporter(tree: str) -> Server | None:
    """node_exporter with the collectors that matter; None where it is not installed."""
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        return None
    port = free_port()
    paths = [f"--path.{name}fs={tree}/{name}" for name in ("proc", "sys")] + [f"--path.rootfs={tree}"]
    collectors = ["--collector.disable-defaults", *(f"--collector.{name}" for name in COLLECTORS)]
    command = [program, f"--web.listen-address=127.0.0.1:{port}", *paths, *collectors]
    return Server("node_exporter", subprocess.Popen(command, stderr=subprocess.DEVNULL), port)


def measure(servers: list[Server], seconds: int) -> dict[str, tuple[int, float, float, float]]:
    """Name → samples, CPU per scrape in ms, RSS and PSS in MiB."""
    connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=10) for server in servers]
    counts = [scrape(connection) for connection in connections]
    before = [server.cpu_s() for server in servers]
    for tick in range(seconds):
        began = time.monotonic()
        for connection in connections if tick % 2 else reversed(connections):
            scrape(connection)
        time.sleep(max(0.0, 1 - (time.monotonic() - began)))
    result = {}
    for server, count, cpu_s, connection in zip(servers, counts, before, connections, strict=True):
        per_scrape = (server.cpu_s() - cpu_s) / seconds * 1000
        result[server.name] = (count, per_scrape, server.memory() / MIB, server.memory("Pss") / MIB)
        connection.close()
    return result


def main() -> int:
    """Print the table; 1 when a budget is not kept."""
    options = argparse.ArgumentParser(description="Cost of the agent beside node_exporter.")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--python", default=sys.executable)
    given = options.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="agent-bench-"))
    servers: list[Server] = []
    try:
        tree = prepare(scratch)
        starts_ms = costs_of_starting(scratch, tree, given.python)
        servers.append(start_agent(scratch, tree, given.python))
        other = start_node_exporter(tree)
        servers += [other] if other else []
        for server in servers:
            wait_for(server.port)
        found = measure(servers, given.seconds)
    finally:
        for server in servers:
            server.process.kill()
            server.process.wait()
        shutil.rmtree(scratch)
    return report(found, starts_ms)


def report(found: dict[str, tuple[int, float, float, float]], starts_ms: list[float]) -> int:
    """Print what was found against the budgets; 1 when one is not kept.

    Of the starts the least counts: what others do on the machine can only add to it.
    """
    print("| 1 Hz | samples | CPU per second, ms | RSS, MiB | PSS, MiB |\n|---|---|---|---|---|")
    for name, (samples, cpu_ms, rss, pss) in found.items():
        print(f"| {name} | {samples} | {cpu_ms:.2f} | {rss:.1f} | {pss:.1f} |")
    values = {"agent RSS, MiB": found["agent"][2], "agent start CPU, ms": min(starts_ms)}
    if "node_exporter" in found:
        values["agent CPU ∕ node_exporter"] = found["agent"][1] / found["node_exporter"][1]
    print(f"{len(starts_ms)} starts, CPU in ms: least {min(starts_ms):.0f}, median {statistics.median(starts_ms):.0f}")
    for name, value in values.items():
        print(f"{name}: {value:.2f} (budget {BUDGET[name]:g})")
    return int(any(value > BUDGET[name] for name, value in values.items()))


if __name__ == "__main__":
    sys.exit(main())
