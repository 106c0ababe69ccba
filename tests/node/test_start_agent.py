"""What stands for `inspect` while the one file starts: annotations as the real one gives them, and all else of it."""

from __future__ import annotations

import importlib
import inspect
import marshal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from collectors.node.reading import Reading
from deploy.start_agent import ANNOTATIONS_ELSEWHERE, Later, prepare
from telemetry.model import Metric

ROOT = Path(__file__).parents[2]


class Plain:
    """Without annotations of its own."""


class Derived(Metric):
    """Without annotations of its own, of a class that has some."""


@pytest.mark.parametrize("of", [Metric, Reading, Plain, Derived])
def test_annotations_are_those_of_the_real_one(of: type) -> None:
    if sys.version_info < ANNOTATIONS_ELSEWHERE:
        assert Later("inspect").get_annotations(of) == inspect.get_annotations(of)


STORY = """
import sys
sys.path.append({root!r})
from deploy.start_agent import Later
later = sys.modules["inspect"] = Later("inspect")
import dataclasses

@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    'Two numbers.'
    left: int
    right: int = 2

assert [field.name for field in dataclasses.fields(Described)] == ["left", "right"]
assert Described(1) == Described(1, 2)
assert sys.modules["inspect"] is later, "more was needed"

@dataclasses.dataclass
class Undescribed:
    left: int

assert Undescribed.__doc__ == "Undescribed(left: int)"
real = sys.modules["inspect"]
assert real is not later and later.Parameter is real.Parameter
try:
    later.nothing_of_this_name
except AttributeError:
    print("told")
"""


def test_dataclasses_need_no_more_and_whoever_does_gets_the_real_one() -> None:
    """In a process of its own, since this one has long loaded the real one."""
    command = [sys.executable, "-I", "-S", "-c", STORY.format(root=str(ROOT))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("told\n", "")


class Archive:
    """A loader of an archive that holds these files."""

    archive = "/agent.pyz"

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def get_data(self, name: str) -> bytes:
        if name not in self.files:
            raise OSError(name)
        return self.files[name]


MINE = f"py{sys.version_info[0]}{sys.version_info[1]}"


def content(**sources: str) -> bytes:
    """A bundle of modules; one whose source begins with "package" is a package."""
    codes = {
        name.replace("__", "."): (text.startswith("package"), compile(text, f"{name}.py", "exec"))
        for name, text in sources.items()
    }
    return MAGIC_NUMBER + marshal.dumps(codes)


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What importing changes is put back."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", ["/agent.pyz", *sys.path])
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "bundled_part"]:
        del sys.modules[name]


def test_modules_come_out_of_the_bundle(clean: None) -> None:
    parts = {
        "bundled_part": "package = 1",
        "bundled_part__inner": "from bundled_part import package\nvalue = package + 1",
    }
    prepare(Archive({MINE: content(**parts)}))
    assert "/agent.pyz" not in sys.path
    inner = importlib.import_module("bundled_part.inner")
    assert inner.value == 2
    assert sys.modules["bundled_part"].__path__ == []
    assert not hasattr(inner, "__path__")
    with pytest.raises(ModuleNotFoundError, match=r"bundled_part\.other"):
        importlib.import_module("bundled_part.other")


def test_a_module_that_could_not_run_is_there_for_another_try(clean: None) -> None:
    source = "import sys\nif not hasattr(sys, 'bundled_flag'): raise ImportError('not yet')"
    prepare(Archive({MINE: content(bundled_part=source)}))
    with pytest.raises(ImportError, match="not yet"):
        importlib.import_module("bundled_part")
    sys.bundled_flag = True  # type: ignore[attr-defined]
    try:
        importlib.import_module("bundled_part")
    finally:
        del sys.bundled_flag  # type: ignore[attr-defined]


@pytest.mark.parametrize("files", [{}, {"py399": content()}, {MINE: b"xxxx" + content()[4:]}, {MINE: b""}])
def test_sources_where_no_bundle_fits(clean: None, files: dict[str, bytes]) -> None:
    before = list(sys.meta_path)
    prepare(Archive(files))
    assert sys.path[0] == "/agent.pyz/source"
    assert sys.meta_path == before
