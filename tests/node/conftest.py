"""Nodes made of files, and NVML made of a stub library that pynvml loads as it loads the real one."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pynvml
import pytest

from collectors.node.nvml_library import unload
from tests.node.node_machine import Node, build

STUB = Path(__file__).with_name("nvml_stub.c")


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., Node]:
    """node(scenario, t): a node's tree, each in a directory of its own."""

    def make(scenario: str = "idle", t: float = 0.0) -> Node:
        return build(tmp_path / f"{scenario}-{t:g}", scenario, t)

    return make


@pytest.fixture(scope="session")
def stub_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled stub."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the NVML stub cannot be built")
    library = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", f"-Wl,-soname,{library.name}"]
    subprocess.run([compiler, *flags, "-o", library, STUB], check=True)
    return library


class Stub:
    """The stub library; `play` says how it answers from now on."""

    def __init__(self, library: Path, script: Path) -> None:
        self.library, self.script = library, script
        self.play("idle")

    def play(self, scenario: str) -> None:
        self.script.write_text(scenario)

    @property
    def environment(self) -> dict[str, str]:
        """What another process needs to find the stub."""
        return {"LD_LIBRARY_PATH": str(self.library.parent), "TACHOGRAPH_STUB": str(self.script)}


@pytest.fixture
def nvml(stub_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """NVML in this process is the stub.

    The dynamic linker reads LD_LIBRARY_PATH only at start; but a library loaded by path answers to its soname.
    """
    stub = Stub(stub_library, tmp_path / "stub.scenario")
    monkeypatch.setenv("TACHOGRAPH_STUB", str(stub.script))
    ctypes.CDLL(None).setenv(b"TACHOGRAPH_STUB", os.fsencode(stub.script), 1)
    loaded = ctypes.CDLL(str(stub_library))
    yield stub
    stub.play("idle")
    try:
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        pass
    unload()
    import _ctypes

    _ctypes.dlclose(loaded._handle)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--remake-golden", action="store_true", help="write the golden pages of tests/data/gb10 anew")


@pytest.fixture
def remake_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden pages are to be written instead of compared."""
    return bool(request.config.getoption("--remake-golden", default=False))
