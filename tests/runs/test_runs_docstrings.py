"""The examples in docstrings of `runs` are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import runs

MODULES = sorted(one.name for one in pkgutil.walk_packages(runs.__path__, "runs."))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert {test.name for test in examples} >= {
        "runs.detect._span",
        "runs.sights.engine_name",
        "runs.sights.speculative_text",
    }
