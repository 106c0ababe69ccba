"""What processes that go on say when they begin, and that children of a supervisor leave that to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from alerts.notices import Channel
from cli import collect, lifeline
from cli.beginning import counted, tell
from cli.notify import line_of
from cli.supervisor import ROOT
from pipeline.config import CollectorConfig, TargetConfig, TargetKind
from pipeline.notify.destination import Destination, Heartbeat, NotifyConfig


def test_one_line_and_how_to_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    tell("It runs.")
    assert capsys.readouterr().out == "It runs. Ctrl-C stops.\n"


def test_a_child_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lifeline.TIED_TO, str(os.getppid()))
    tell("It runs.")
    assert capsys.readouterr().out == ""
    monkeypatch.setenv(lifeline.TIED_TO, str(os.getppid() + 1))
    assert not lifeline.is_tied(), "what a child starts by hand is no child of its supervisor"


def test_a_child_knows_it() -> None:
    asked = [sys.executable, "-c", "from cli import lifeline; print(lifeline.is_tied())"]
    done = subprocess.run(lifeline.command(asked), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n"


def test_how_many() -> None:
    assert [counted(["a"] * count, "node") for count in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_who_collects_says_what_and_where_without_a_password() -> None:
    node = TargetConfig("a", "http://a", TargetKind.NODE)
    config = CollectorConfig(store_url="postgresql+psycopg://ann:s3cr3t@db/t", nodes=(node, node), engines=())
    assert collect.line_of(config) == "Reading 2 nodes and 0 engines every 1 s into postgresql+psycopg://ann:…@db/t."


def test_who_delivers_says_to_how_many() -> None:
    on, off = (Destination(Channel(name, enabled=name == "on"), "json://h/s3cr3t") for name in ("on", "off"))
    heart = Heartbeat("https://h/s3cr3t", every_s=60.0)
    assert line_of(NotifyConfig("s", (on, off), heart)) == "Telling 1 channel (1 more off) and a heartbeat every 60 s."
    assert line_of(NotifyConfig("s", (on, on), None)) == "Telling 2 channels."


@contextmanager
def first_line(where: Path, *words: str) -> Iterator[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
    command = [sys.executable, str(ROOT / "app.py"), *words, "--config", str(where / "tachograph.toml")]
    with subprocess.Popen(command, cwd=where, env=clean, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.mark.live
def test_each_of_the_three_says_what_it_does(tmp_path: Path) -> None:
    """The page's address above all, where nobody chose its port."""
    (tmp_path / "tachograph.toml").write_text(
        f'store = "{tmp_path}/s.db"\nport = 0\n[nodes]\na = "http://127.0.0.1:9"\n'
        '[channels.ops]\nurl = "json://127.0.0.1:9/s3cr3t"\n'
    )
    with first_line(tmp_path, "collect") as line:
        assert line == f"Reading 1 node and 0 engines every 1 s into sqlite:///{tmp_path}/s.db. Ctrl-C stops.\n"
    with first_line(tmp_path, "web") as line:
        assert re.fullmatch(r"The page is at http://127\.0\.0\.1:[1-9]\d+/\. Ctrl-C stops\.\n", line)
    with first_line(tmp_path, "notify") as line:
        assert line == "Telling 1 channel. Ctrl-C stops.\n"
