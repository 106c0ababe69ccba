"""Real servers with known samples: Prometheus (its blocks made by promtool) and VictoriaMetrics, on free ports."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

WAIT_S = 30.0


@dataclass(frozen=True)
class Known:
    """One series as the source holds it: labels with `__name__`, and (milliseconds, value), rising."""

    labels: Mapping[str, str]
    samples: Sequence[tuple[int, float]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def serving(kind: str, directory: Path, series: Sequence[Known]) -> Iterator[str]:
    """A server of this kind ("prometheus", "victoria-metrics") that holds the series; its address."""
    start = {"prometheus": prometheus, "victoria-metrics": victoria_metrics}[kind]
    with start(directory, series) as url:
        yield url


@contextmanager
def prometheus(directory: Path, series: Sequence[Known]) -> Iterator[str]:
    server, tool, port = program("prometheus"), program("promtool"), free_port()
    (directory / "known.txt").write_text(open_metrics(series))
    (directory / "none.yml").write_text("")
    blocks = [tool, "tsdb", "create-blocks-from", "openmetrics", str(directory / "known.txt"), str(directory / "data")]
    subprocess.run(blocks, check=True, capture_output=True, timeout=120)
    command = [
        server,
        f"--config.file={directory / 'none.yml'}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(command, f"http://127.0.0.1:{port}", "/-/ready") as url:
        yield url


@contextmanager
def victoria_metrics(directory: Path, series: Sequence[Known]) -> Iterator[str]:
    port = free_port()
    command = [
        program("victoria-metrics"),
        f"-storageDataPath={directory / 'data'}",
        "-retentionPeriod=100y",
        f"-httpListenAddr=127.0.0.1:{port}",
    ]
    with running(command, f"http://127.0.0.1:{port}", "/health") as url:
        body = "\n".join(json.dumps(as_line(one)) for one in series).encode()
        with urllib.request.urlopen(f"{url}/api/v1/import", body, timeout=30) as answer:
            answer.read()
        with urllib.request.urlopen(f"{url}/internal/force_flush", timeout=30) as answer:
            answer.read()
        yield url


@contextmanager
def running(command: Sequence[str], url: str, ready: str) -> Iterator[str]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + WAIT_S
        while not answers(url + ready):
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
            assert time.monotonic() < until, f"{command[0]} does not get ready"
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(WAIT_S)


def answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(url, timeout=1) as answer:
        return bool(answer.status == 200)
    return False


def open_metrics(series: Sequence[Known]) -> str:
    lines = []
    for one in sorted(series, key=lambda known: known.labels["__name__"]):
        labels = ",".join(f"{name}={json.dumps(text)}" for name, text in one.labels.items() if name != "__name__")
        lines += [f"{one.labels['__name__']}{{{labels}}} {value!r} {at / 1000:.3f}" for at, value in one.samples]
    return "\n".join([*lines, "# EOF", ""])


def as_line(one: Known) -> dict[str, object]:
    times, values = zip(*one.samples, strict=True)
    return {"metric": dict(one.labels), "timestamps": times, "values": values}
