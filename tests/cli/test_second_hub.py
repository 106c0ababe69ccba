"""A second hub on the same store: one sentence, nothing started, status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.supervisor import ROOT
from storage.store import open_store


@pytest.mark.parametrize("command", ["run", "collect", "demo"])
def test_one_sentence_and_nothing_else(tmp_path: Path, command: str) -> None:
    path = tmp_path / "t.db"
    first = open_store(str(path), writer=True, now_ms=0)
    first.claim()
    given = [sys.executable, str(ROOT / "app.py"), command, "--config", "", "--store", str(path)]
    done = subprocess.run(given, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    first.close()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"another collector writes to the store {path}: stop it first\n"
