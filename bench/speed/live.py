"""What it costs the others to keep up: pages of the same series, scraped once a second for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.speed import prometheus, texts, victoria
from bench.speed.cost import cpu_of, written_by
from bench.speed.server import running
from bench.speed.workload import OPEN_HOUR_MS, Size, Target, targets
from telemetry.summary import HOUR_MS

WARM_S = 20
WATCHED_S = 120


@dataclass(frozen=True)
class Live:
    """Share of a core, and bytes a day, as the process handed them to the file system."""

    cpu: float
    written_per_day: float


class Pages:
    """The page of each target at each second, made beforehand."""

    def __init__(self, size: Size) -> None:
        self._began = time.monotonic()
        self._pages = {one.name: _pages(one, WARM_S + WATCHED_S + 60) for one in targets(size)}

    def page(self, name: str) -> bytes:
        """As it stands now."""
        mine = self._pages[name]
        return mine[int(time.monotonic() - self._began) % len(mine)]

    def names(self) -> list[str]:
        """Of the targets."""
        return list(self._pages)


def _pages(one: Target, seconds: int) -> list[bytes]:
    hour = next(one.hours(OPEN_HOUR_MS, OPEN_HOUR_MS + HOUR_MS))
    heads = []
    for series in one.series:
        labels = ",".join(f'{name}="{value}"' for name, value in texts.labels_of(series).items())
        heads.append(f"{series.metric}{{{labels}}} ")
    return [_page(heads, hour.values[:, tick].tolist()) for tick in range(seconds)]


def _page(heads: Sequence[str], values: Sequence[float]) -> bytes:
    return "".join([f"{head}{value!r}\n" for head, value in zip(heads, values, strict=True)]).encode()


@contextmanager
def serving(pages: Pages) -> Iterator[int]:
    """Serve the pages under /NAME; the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = pages.page(self.path[1:])
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _scraping(folder: Path, names: Sequence[str], port: int) -> Path:
    lines = ["global: {scrape_interval: 1s, scrape_timeout: 1s}", "scrape_configs:"]
    for name in names:
        lines += [
            f"- job_name: {name}",
            f"  metrics_path: /{name}",
            "  honor_labels: true",
            f"  static_configs: [{{targets: ['127.0.0.1:{port}']}}]",
        ]
    path = folder / "scraping.yml"
    path.write_text("\n".join(lines) + "\n")
    return path


def watch(name: str, folder: Path, size: Size, say: Callable[[str], None]) -> Live:
    """Let one of the others scrape everything, and look at what its process used."""
    folder.mkdir(parents=True, exist_ok=True)
    with serving(pages := Pages(size)) as pages_port:
        config = _scraping(folder, pages.names(), pages_port)
        data = folder / "scraped"
        say(f"{name}: scraping for {WARM_S + WATCHED_S} s")
        if name == prometheus.Prometheus.name:
            started = running(lambda port: prometheus.command(port, data, config), "/-/ready", folder / "scraping.log")
        else:
            scrape = f"-promscrape.config={config}"
            started = running(lambda port: victoria.command(port, data, scrape), "/health", folder / "scraping.log")
        with started as server:
            time.sleep(WARM_S)
            cpu, written, began = cpu_of(server.process), written_by(server.process), time.monotonic()
            time.sleep(WATCHED_S)
            took = time.monotonic() - began
            used, more = cpu_of(server.process) - cpu, written_by(server.process) - written
    return Live(used / took, more / took * 86_400)
