"""What a tick costs the web process: making the message, and sending it to each client.

    python bench/stream.py [--nodes 16] [--clients 24] [--seconds 20]

A store is written once a second, gunicorn serves it as in production, and the clients are bare sockets. The cost of a
client is what the same seconds cost more with the clients than without. Exit status 1 when a budget is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.web.world import World  # noqa: E402

PROGRAM = """
import sys
from dashboard.config import WebConfig
from dashboard.server import run
sys.exit(run(WebConfig(store_url=sys.argv[1], port=int(sys.argv[2]))))
"""
MIB = 1024 * 1024
HISTORY = 900
BUDGET = {
    "CPU per tick and client, ms": 2.0,
    "CPU per message at 16 nodes, ms": 15.0,
    "bytes per tick and client": 4000.0,
    "RSS of the worker, MiB": 250.0,
}


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """gunicorn over a store: a master and its worker."""

    process: subprocess.Popen[bytes]
    port: int

    def pids(self) -> list[int]:
        """The master, then its worker."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def cpu_s(self) -> float:
        """Processor time of all threads so far."""
        tasks = [task for pid in self.pids() for task in Path(f"/proc/{pid}/task").iterdir()]
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def rss(self) -> float:
        """Resident bytes of the worker."""
        text = Path(f"/proc/{self.pids()[-1]}/status").read_text()
        match = re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)
        return int(match[1]) * 1024 if match else float("nan")

    def metric(self, name: str) -> float:
        """A number of the hub's own metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=20) as reply:
            lines = reply.read().decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def start(store_url: str) -> Server:
    """Start the server and wait until it is healthy or says why not."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, store_url, str(port)], env=environment, cwd=ROOT)
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            time.sleep(0.1)
            continue
        return Server(process, port)
    raise SystemExit("the server did not start")


@dataclass
class Client:
    """A bare socket that reads a stream and counts."""

    port: int
    ticks: int = 0
    size: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Read until told to stop."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
            line.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            while not self._stop.is_set():
                data = line.recv(1 << 16)
                self.ticks += data.count(b"event: tick")
                self.size += len(data)

    def stop(self) -> None:
        """End with the next piece that arrives."""
        self._stop.set()


def drive(world: World, first: int, seconds: int) -> None:
    """Write a tick a second."""
    began = time.monotonic()
    for number in range(seconds):
        time.sleep(max(0.0, began + number - time.monotonic()))
        world.run(first + number, first + number)


def measure(nodes: int, clients: int, seconds: int) -> dict[str, float]:
    """All numbers of one run."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "store.db", nodes=nodes)
        world.run(0, HISTORY)
        server = start(world.url)
        try:
            return _measure(world, server, clients, seconds)
        finally:
            server.process.terminate()
            server.process.wait()
            world.close()


def _measure(world: World, server: Server, count: int, seconds: int) -> dict[str, float]:
    drive(world, HISTORY + 1, 3)
    made = [server.metric(f"tachograph_web_{name}_total") for name in ("messages", "message_cpu_seconds")]
    alone = server.cpu_s()
    drive(world, HISTORY + 4, seconds)
    alone = server.cpu_s() - alone
    done = [server.metric(f"tachograph_web_{name}_total") for name in ("messages", "message_cpu_seconds")]
    clients = [Client(server.port) for _ in range(count)]
    threads = [threading.Thread(target=client.run, daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    drive(world, HISTORY + 4 + seconds, 2)
    before, sizes = server.cpu_s(), sum(client.size for client in clients)
    drive(world, HISTORY + 6 + seconds, seconds)
    crowd, size = server.cpu_s() - before, sum(client.size for client in clients) - sizes
    rss = server.rss()
    for client in clients:
        client.stop()
    drive(world, HISTORY + 6 + 2 * seconds, 2)
    return {
        "ticks seen by a client": float(min(client.ticks for client in clients)),
        "CPU per tick without clients, ms": alone / seconds * 1000,
        "CPU per message at 16 nodes, ms": (done[1] - made[1]) / max(done[0] - made[0], 1) * 1000,
        "CPU per tick and client, ms": (crowd - alone) / seconds / count * 1000,
        "bytes per tick and client": size / seconds / count,
        "RSS of the worker, MiB": rss / MIB,
    }


def main() -> int:
    """Measure and print; 1 when a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seconds", type=int, default=20)
    asked = parser.parse_args()
    found = measure(asked.nodes, asked.clients, asked.seconds)
    missed = 0
    for name, value in found.items():
        most = BUDGET.get(name)
        verdict = "" if most is None else f"   at most {most:g}: {'kept' if value <= most else 'MISSED'}"
        missed += most is not None and value > most
        print(f"{name:36}{value:10.2f}{verdict}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
