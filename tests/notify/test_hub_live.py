"""A whole hub whose node is gone: somebody is told, and its secrets are nowhere that anybody looks."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.notify.receivers import Hook, hook

ROOT = Path(__file__).parent.parent.parent
SECRETS = ("hunter22-s3cr3t", "uuid-heart-1")
LOOKED_AT = (
    "/",
    "/alerts",
    "/status",
    "/metrics",
    "/api/v1/channels",
    "/api/v1/status",
    "/api/v1/alerts",
    "/api/v1/rules",
    "/api/v1/events",
    "/_dash-layout",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(receiver: Hook, messages: int, path: str = "/in/", seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while sum(one.startswith(path) for one, _, _ in receiver.got) < messages:
        assert time.monotonic() < deadline, f"{len(receiver.got)} requests came"
        time.sleep(0.1)


@pytest.mark.live
def test_a_node_that_is_gone_is_told_and_no_secret_is(tmp_path: Path) -> None:
    port, dead = free_port(), free_port()
    with hook() as receiver, (tmp_path / "log").open("w") as log:
        receiver.answer = f"thanks {SECRETS[0]}".encode()
        (tmp_path / "tachograph.toml").write_text(
            f'store = "{tmp_path / "store.db"}"\nport = {port}\nlog_level = "debug"\n'
            f'[nodes]\nspark-01 = "http://127.0.0.1:{dead}"\n'
            f'[channels.ops]\nurl = "{receiver.url(path="/in/" + SECRETS[0], user=f"ann:{SECRETS[0]}@")}"\n'
            f'[channels.mail]\nurl = "mailto://ann:{SECRETS[0]}@127.0.0.1:{dead}?smtp=127.0.0.1&from=a@b.example&to=b@b.example"\n'
            f'[heartbeat]\nurl = "{receiver.url("http", f"/{SECRETS[1]}")}"\nevery = 10\n'
        )
        environ = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
        command = [sys.executable, str(ROOT / "app.py"), "run"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT, env=environ)
        try:
            until(receiver, 1, f"/{SECRETS[1]}")
            until(receiver, 1)
            base = f"http://127.0.0.1:{port}"
            pages = ""
            for path in LOOKED_AT:
                with urllib.request.urlopen(base + path, timeout=30) as answer:
                    pages += answer.read().decode()
            asked = urllib.request.Request(f"{base}/api/v1/channels/ops/test", method="POST", data=b"")
            with urllib.request.urlopen(asked, timeout=60) as answer:
                said = answer.read().decode()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert process.returncode == 0
    assert re.search(r'"text": ?"HTTP 200 OK"', said)
    first = next(one for one in receiver.got if one[0].startswith("/in/"))
    assert b'"rule": "node_silent"' in first[2]
    written = pages + said + (tmp_path / "log").read_text()
    for secret in SECRETS:
        assert secret not in written
        for file in tmp_path.glob("store.db*"):
            assert secret.encode() not in file.read_bytes()
