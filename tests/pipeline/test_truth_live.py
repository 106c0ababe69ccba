"""A simulated cluster, a real collector, and a checker that knows neither: the store holds what really happened."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 150
NOTHING_WRONG = (0, 3)
"""The checker's exit codes without a difference; 3 when one quantity had no quiet moment to be judged by."""


@pytest.mark.live
def test_store_equals_truth(tmp_path: Path) -> None:
    truth, store = tmp_path / "truth", tmp_path / "store.db"
    incidents = ["--fault", "engine-restart@head:60+10", "--fault", "thermal@spark-02:20+60"]
    simulator = subprocess.Popen(
        [sys.executable, "-m", "simulator", "--nodes", "4", "--seed", "5", "--truth", str(truth), *incidents],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert simulator.stdout is not None
        told = json.loads(simulator.stdout.readline())
        flags = [f"--node={name}={url}" for name, url in told["nodes"].items()]
        collector = subprocess.Popen(
            [sys.executable, "app.py", "collect", f"--store={store}", f"--engine=head={told['engine']}", *flags],
            cwd=ROOT,
        )
        time.sleep(SECONDS)
        collector.send_signal(signal.SIGTERM)
        assert collector.wait(20) == 0
    finally:
        simulator.terminate()
        simulator.wait(20)
        if simulator.stdout:
            simulator.stdout.close()
    check = [sys.executable, str(ROOT / "tests" / "check_truth.py"), str(store), str(truth)]
    checked = subprocess.run(check, capture_output=True, text=True, timeout=120, check=False)
    assert checked.returncode in NOTHING_WRONG, checked.stdout + checked.stderr
