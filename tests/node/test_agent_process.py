"""The agent as people run it: a process on this very machine, from the checkout and as one file."""

from __future__ import annotations

import ast
import http.client
import json
import marshal
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from collectors.node.command import LOOPBACK, main, parser, read_token
from tests.node.conftest import Stub
from tests.node.node_machine import Node, values

ROOT = Path(__file__).parents[2]
LISTENING = re.compile(r"listening at \S+ port (\d+)")
Launch = Callable[..., "Agent"]


class Agent:
    """A running agent."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [*command, "--port", "0"], stderr=subprocess.PIPE, text=True, env=os.environ | environment
        )
        assert self.process.stderr is not None
        self.lines: list[str] = []
        for line in self.process.stderr:
            self.lines.append(line)
            if match := LISTENING.search(line):
                self.port = int(match[1])
                return
        self.end()
        raise AssertionError("".join(self.lines))

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        return values(self.get("/metrics")[1])

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return self.process.returncode


@pytest.fixture
def launch() -> Iterator[Launch]:
    agents: list[Agent] = []

    def begin(*options: str, command: list[str] | None = None, environment: dict[str, str] | None = None) -> Agent:
        whole = [*(command or [sys.executable, str(ROOT / "agent.py")]), *options]
        agents.append(Agent(whole, environment or {}))
        return agents[-1]

    yield begin
    for agent in agents:
        agent.end()


def test_this_very_machine(launch: Launch) -> None:
    agent = launch()
    found = agent.metrics()
    assert found["cpu_cores"] == os.cpu_count()
    assert found["memory_total_bytes"] == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert abs(found["agent_time_seconds"] - time.time()) < 60
    assert found["agent_monotonic_seconds"] <= time.monotonic()
    assert found['disk_size_bytes{mount="/"}'] > 1e9 if 'disk_size_bytes{mount="/"}' in found else True
    content = json.loads(agent.get("/state")[1])
    assert content["facts"]["kernel"] == os.uname().release
    failed = {name: one["reason"] for name, one in content["readings"].items() if one["outcome"] == "failed"}
    assert failed.keys() <= {"kernel", "nvml", "processes"}, failed
    assert found["agent_resident_memory_bytes"] < 40e6


def test_memory_is_sampled_between_scrapes(launch: Launch) -> None:
    agent = launch()
    first = agent.metrics()
    assert first["memory_available_min_bytes"] <= first["memory_available_bytes"]


def test_another_tree(launch: Launch, node: Callable[..., Node], nvml: Stub) -> None:
    nvml.play("busy")
    agent = launch("--root", node("serving").root, environment=nvml.environment)
    found = agent.metrics()
    assert found["memory_available_bytes"] == 34800000 * 1024
    assert found["memory_available_min_bytes"] == 34800000 * 1024
    assert found['gpu_power_watts{gpu="0"}'] == 89.26
    assert found['rdma_transmit_bytes_total{cage="p1",function="rocep1s0f1"}'] == 71497257284
    assert json.loads(agent.get("/state")[1])["facts"]["hostname"] == "spark-dcce"


def test_a_hang_of_the_driver_does_not_hold_the_page(launch: Launch, node: Callable[..., Node], nvml: Stub) -> None:
    agent = launch("--root", node().root, environment=nvml.environment)
    agent.metrics()
    nvml.play("hang")
    began = time.monotonic()
    while 'gpu_power_watts{gpu="0"}' in (found := agent.metrics()):
        assert time.monotonic() - began < 60
    assert found["memory_total_bytes"] > 0
    nvml.play("idle")


def test_goodbye_lasts_until_the_scraper_has_seen_it(launch: Launch) -> None:
    agent = launch()
    assert agent.metrics()["agent_goodbye"] == 0
    agent.process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 60
    while agent.metrics()["agent_goodbye"] == 0:
        assert time.monotonic() < deadline
    assert agent.process.wait(60) == 0


def test_goodbye_ends_when_nobody_comes(launch: Launch) -> None:
    agent = launch()
    agent.metrics()
    began = time.monotonic()
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(60) == 0
    assert 2.5 < time.monotonic() - began < 30


def test_nobody_to_tell(launch: Launch) -> None:
    def seconds_to_end() -> float:
        agent = launch()
        began = time.monotonic()
        agent.process.send_signal(signal.SIGINT)
        assert agent.process.wait(60) == 0
        return time.monotonic() - began

    # It waits three seconds for who is to be told; a busy machine may take as long once, but not each time.
    assert any(seconds_to_end() < 2.5 for _ in range(4))


@pytest.mark.parametrize("text", ["99999", "65536", "-1", "http", 5000 * "9", ""])
def test_a_port_that_cannot_be_is_refused_in_a_sentence(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main([f"--port={text}"])
    assert refused.value.code == 2
    sentence = f"argument --port: a port is a whole number from 0 to 65535, which {text[:20]!r} is not\n"
    assert capsys.readouterr().err.endswith(sentence)


def test_ports() -> None:
    assert [parser().parse_args(words).port for words in ([], ["--port=0"], ["--port=65535"])] == [9810, 0, 65535]


def test_a_token_file_that_is_no_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    with pytest.raises(SystemExit, match="the file is not UTF-8 text"):
        read_token(str(tmp_path / "token"))


def test_a_token_file(launch: Launch, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("abc\n")
    agent = launch("--token-file", str(token), "--host", "0.0.0.0")
    assert agent.get("/metrics")[0] == 401
    assert agent.get("/metrics", Authorization="Bearer abc")[0] == 200
    assert not any("everybody" in line for line in agent.lines)


def test_a_warning_where_everybody_can_read(launch: Launch) -> None:
    agent = launch("--host", "0.0.0.0")
    assert any("without --token-file" in line for line in agent.lines)
    assert "127.0.0.1".startswith(LOOPBACK)
    assert not "0.0.0.0".startswith(LOOPBACK)


def test_memory_can_be_locked(launch: Launch) -> None:
    agent = launch("--lock-memory")
    locked = re.search(r"VmLck:\s+(\d+) kB", Path(f"/proc/{agent.process.pid}/status").read_text())
    assert (locked and int(locked[1]) > 0) or any("mlockall" in line for line in agent.lines)
    assert agent.metrics()["cpu_cores"] == os.cpu_count()


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(SystemExit, match="the file is empty"):
        read_token(str(empty))
    with pytest.raises(SystemExit, match="No such file"):
        read_token(str(tmp_path / "none"))
    with pytest.raises(SystemExit, match=r"--root .*/none: there is no such directory"):
        main(["--root", str(tmp_path / "none")])
    with pytest.raises(SystemExit) as version:
        main(["--version"])
    assert version.value.code == 0
    assert capsys.readouterr().out == "tachograph-agent 0.1.0\n"


def test_a_port_that_is_taken(launch: Launch) -> None:
    agent = launch()
    done = subprocess.run(
        [sys.executable, str(ROOT / "agent.py"), "--port", str(agent.port)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f"cannot listen at 127.0.0.1 port {agent.port}: Address already in use"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The agent as one file, and what the build said."""
    output = tmp_path_factory.mktemp("agent") / "tachograph-agent.pyz"
    done = subprocess.run(
        [sys.executable, str(ROOT / "deploy" / "build_agent.py"), "--output", str(output)],
        capture_output=True,
        text=True,
        check=True,
    )
    return output, done.stdout


def pythons() -> dict[str, str]:
    """Version → interpreter, of all of 3.11 and newer on this machine that start."""
    found = [sys.executable, *(shutil.which(f"python3.{minor}") or "" for minor in range(11, 16))]
    found += [str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))]
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    versions: dict[str, str] = {}
    for path in filter(None, found):
        done = subprocess.run([path, "-I", "-S", "-c", ask], capture_output=True, text=True, check=False)
        if done.stdout.strip() in ("3.11", "3.12", "3.13", "3.14"):
            versions.setdefault(done.stdout.strip(), path)
    return versions


@pytest.mark.parametrize("python", pythons().values(), ids=pythons().keys())
def test_one_file_with_nothing_installed(
    launch: Launch, archive: tuple[Path, str], node: Callable[..., Node], nvml: Stub, python: str
) -> None:
    command = [python, "-I", "-S", str(archive[0])]
    agent = launch("--root", node().root, command=command, environment=nvml.environment)
    found = agent.metrics()
    assert found['gpu_power_watts{gpu="0"}'] == 4.31
    assert found["cpu_cores"] == 20


def test_a_python_that_is_too_old_is_told_so(archive: tuple[Path, str]) -> None:
    """Its start can be read by Python 3.6; the old ones of this machine, if any, say the sentence."""
    ast.parse((ROOT / "deploy" / "start_agent.py").read_text(), feature_version=(3, 6))
    for python in Path.home().glob(".pyenv/versions/3.[6-9].*/bin/python3"):
        done = subprocess.run([python, "-I", "-S", str(archive[0])], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "tachograph-agent needs Python 3.11 or newer\n")


def test_the_archive_carries_bytecode_for_this_python(archive: tuple[Path, str]) -> None:
    output, said = archive
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    assert version in said
    with zipfile.ZipFile(output) as files:
        names, bundle = files.namelist(), files.read(version)
    assert {"source/collectors/node/nvml.py", "source/pynvml.py"} <= set(names)
    assert bundle[:4] == MAGIC_NUMBER
    modules = marshal.loads(bundle[4:])
    assert {name: package for name, (package, _) in modules.items() if not name.startswith("collectors.node.")} == {
        **dict.fromkeys(("collectors", "collectors.node", "telemetry", "telemetry.catalog"), True),
        **{f"telemetry.catalog.{path.stem}": False for path in (ROOT / "telemetry/catalog").glob("[!_]*.py")},
        **dict.fromkeys(("telemetry.model", "pynvml"), False),
    } | {"collectors.node": True}
    assert "collectors.node.nvml" in modules
    assert modules["telemetry.model"][1].co_filename == "telemetry/model.py"
    assert os.access(output, os.X_OK)


def test_bytecode_of_another_python_is_left_alone(archive: tuple[Path, str], tmp_path: Path) -> None:
    """Two Pythons of one number may differ, before its first release."""
    other, version = tmp_path / "other.pyz", f"py{sys.version_info[0]}{sys.version_info[1]}"
    with zipfile.ZipFile(archive[0]) as whole, zipfile.ZipFile(other, "w") as changed:
        for name in whole.namelist():
            content = whole.read(name)
            changed.writestr(name, b"xxxx" + content[4:] if name == version else content)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(other), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "tachograph-agent 0.1.0\n"


def test_without_bytecode_the_sources_serve(archive: tuple[Path, str], tmp_path: Path) -> None:
    stripped = tmp_path / "sources.pyz"
    with zipfile.ZipFile(archive[0]) as whole, zipfile.ZipFile(stripped, "w") as part:
        for name in whole.namelist():
            if not name.startswith("py3"):
                part.writestr(name, whole.read(name))
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(stripped), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "tachograph-agent 0.1.0\n"


def test_the_same_sources_give_the_same_bytes(archive: tuple[Path, str], tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    subprocess.run([sys.executable, str(ROOT / "deploy" / "build_agent.py"), "--output", str(again)], check=True)
    assert again.read_bytes() == archive[0].read_bytes()


DEAR = ("inspect", "shutil", "http", "email", "ssl", "logging", "asyncio", "urllib", "unittest", "ctypes.util")
"""Modules that a start must not load: each would cost milliseconds and megabytes of every node."""


@pytest.mark.parametrize("python", pythons().values(), ids=pythons().keys())
def test_what_a_start_does_not_load(
    archive: tuple[Path, str], node: Callable[..., Node], nvml: Stub, tmp_path: Path, python: str
) -> None:
    told = tmp_path / "imports"
    command = [python, "-X", "importtime", "-I", "-S", str(archive[0]), "--root", node().root, "--port", "0"]
    with told.open("w") as file:
        process = subprocess.Popen(command, stderr=file, env=os.environ | nvml.environment)
        try:
            began = time.monotonic()
            while not (match := LISTENING.search(told.read_text())) and time.monotonic() - began < 60:
                time.sleep(0.02)
            assert match
            with urllib.request.urlopen(f"http://127.0.0.1:{match[1]}/metrics", timeout=20) as answer:
                assert b'gpu_power_watts{gpu="0"} 4.31' in answer.read()
        finally:
            process.kill()
            process.wait(20)
    loaded = {line.rpartition("|")[2].strip() for line in told.read_text().splitlines() if line.startswith("import")}
    assert {"pynvml", "telemetry.model", "collectors.node.command"} <= loaded
    assert loaded & set(DEAR) == set()
