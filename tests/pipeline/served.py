"""A real HTTP server on loopback whose pages a test decides, and a sampler whose clock a test moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pipeline.clock import HubClock
from pipeline.collector import build
from pipeline.config import CollectorConfig, TargetConfig, TargetKind
from pipeline.sampler import Sampler
from storage.store import Store, open_store

Answer = tuple[int, bytes] | tuple[int, bytes, str]


@contextmanager
def serving(answer: Callable[[str], Answer]) -> Iterator[str]:
    """Serve `answer(path)` on a free port; the base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet per answer: two would wait for each other

        def do_GET(self) -> None:
            status, body, *content_type = answer(self.path)
            self.send_response(status)
            for name in content_type:
                self.send_header("Content-Type", name)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Clock:
    """Monotonic seconds that stand still until they are moved."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Bench:
    """A sampler over one store with a clock in the test's hand. Hub-clock milliseconds = clock seconds × 1000."""

    path: Path
    targets: list[TargetConfig]
    clock: Clock = field(default_factory=Clock)
    settings: dict[str, Any] = field(default_factory=dict)

    def open(self) -> tuple[Sampler, Store]:
        """A fresh sampler and the store that it writes."""
        store = open_store(str(self.path), writer=True, now_ms=0)
        config = CollectorConfig(
            str(self.path),
            tuple(one for one in self.targets if one.kind is TargetKind.NODE),
            tuple(one for one in self.targets if one.kind is TargetKind.ENGINE),
            **self.settings,
        )
        return build(config, store, HubClock(0.0, 0.0), self.clock), store
