"""What stands for `inspect` while the one file starts: annotations as the real one gives them, and all else of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.node.reading import Reading
from deploy.start_agent import ANNOTATIONS_ELSEWHERE, Later, folder
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

    def __init__(self, *names: str) -> None:
        self.names = names

    def get_data(self, name: str) -> bytes:
        if name not in self.names:
            raise OSError(name)
        return b""


def test_folder() -> None:
    mine = f"py{sys.version_info[0]}{sys.version_info[1]}"
    assert folder(Archive(f"{mine}/telemetry/__init__.pyc")) == mine
    assert folder(Archive("py399/telemetry/__init__.pyc")) == "source"
