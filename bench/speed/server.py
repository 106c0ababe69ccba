"""A server of others, started on a port of its own for as long as it is asked, and its answers read whole."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench.speed.cost import cpu_of

READY_S = 600.0
"""How long a server may take to open what it has."""
TIMEOUT_S = 300.0
IDLE_SHARE = 0.04
"""Of a core: what a server does that has nothing left to tidy up."""
LOOK_S = 5.0
LOOKS = 3


class RefusedError(RuntimeError):
    """The server said no, in its words."""


@dataclass
class Server:
    """A running server. port: on loopback. process: its number."""

    port: int
    process: int
    _connection: http.client.HTTPConnection

    def get(self, path: str, parameters: Mapping[str, object] | Sequence[tuple[str, object]] = ()) -> bytes:
        """The body of an answer, read whole; RefusedError where the status is no success."""
        return self.send("GET", f"{path}?{urlencode(parameters)}" if parameters else path)

    def send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The same with a body."""
        self._connection.request(method, path, body)
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status >= 300:
            raise RefusedError(f"{path}: {answer.status} {found[:300].decode(errors='replace')}")
        return found

    def drain(self, path: str, parameters: Sequence[tuple[str, object]]) -> int:
        """Read an answer to its end without keeping it; its length."""
        self._connection.request("GET", f"{path}?{urlencode(parameters)}")
        answer, size = self._connection.getresponse(), 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        if answer.status >= 300:
            raise RefusedError(f"{path}: {answer.status}")
        return size

    def settle(self, longest_s: float = 900.0) -> None:
        """Wait until it has nothing left to tidy up: a few looks in a row at which it did next to nothing."""
        until, quiet, before = time.monotonic() + longest_s, 0, cpu_of(self.process)
        while quiet < LOOKS and time.monotonic() < until:
            time.sleep(LOOK_S)
            used = cpu_of(self.process)
            quiet = quiet + 1 if used - before < IDLE_SHARE * LOOK_S else 0
            before = used


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(command: Callable[[int], Sequence[str]], ready: str, log: Path) -> Iterator[Server]:
    """Start a server (its command by port), wait until `ready` answers, and end it at last."""
    port = free_port()
    with log.open("ab") as file:
        child = subprocess.Popen(command(port), stdout=file, stderr=file)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    server = Server(port, child.pid, connection)
    try:
        _wait(server, child, ready, log)
        yield server
    finally:
        connection.close()
        child.terminate()
        child.wait(timeout=120)


def _wait(server: Server, child: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if child.poll() is not None:
            raise RefusedError(f"it ended at once; see {log}: {log.read_text()[-300:]}")
        try:
            server.get(ready)
            return
        except (OSError, http.client.HTTPException, RefusedError):
            server._connection.close()
            time.sleep(0.2)
    raise RefusedError(f"it was not ready within {READY_S:.0f} s; see {log}")
