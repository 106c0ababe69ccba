"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import pipeline
import telemetry

MODULES = sorted(
    one.name
    for package in (telemetry, pipeline)
    for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert {test.name for test in examples} >= {
        "telemetry.counters.judge",
        "telemetry.histograms.quantile",
        "telemetry.fleet.deviation",
        "telemetry.rollup.bins_of",
        "pipeline.deployments.short_model",
    }
