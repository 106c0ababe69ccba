"""`python -m simulator` as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from simulator.__main__ import options
from simulator.faults import Order

ROOT = Path(__file__).parent.parent.parent


def test_it_prints_its_addresses_serves_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "simulator", "--nodes", "2", "--truth", str(tmp_path), "--fault", "wedge:5+5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        addresses = json.loads(process.stdout.readline())
        with urllib.request.urlopen(addresses["nodes"]["spark-02"] + "/metrics", timeout=60) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert b"tachograph_gpu_power_watts" in answer.read()
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=60)
        assert (process.returncode, rest, errors) == (0, "", "")


def test_a_fault_that_makes_no_sense_is_an_error() -> None:
    command = [sys.executable, "-m", "simulator", "--nodes", "1", "--fault", "thermal@spark-09"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert "thermal wants a node" in done.stderr


def test_options() -> None:
    given = options(["--nodes", "4", "--seed", "9", "--speed", "2.5", "--port-base", "9000", "--fault", "wedge:1+2"])
    assert (given.nodes, given.seed, given.speed, given.port_base, given.truth) == (4, 9, 2.5, 9000, None)
    assert given.faults == (Order("wedge", None, 1.0, 2.0),)


@pytest.mark.parametrize(
    "arguments", [["--nodes", "0"], ["--nodes", "257"], ["--speed", "0"], ["--speed", "101"], ["--fault", "a@@b"]]
)
def test_options_out_of_range(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        options(arguments)
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()[-1]) > 20
