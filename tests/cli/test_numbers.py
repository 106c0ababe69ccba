"""Numbers on the command line: what a store can hold, and a sentence for all else."""

from __future__ import annotations

import pytest

from cli import alerts, benchmarks, report, runs
from cli.numbers import number
from tests.web.conftest import MakeWeb, MakeWorld, make_web, make_world

__all__ = ["make_web", "make_world"]


def test_a_number() -> None:
    assert number("7", "x") == 7
    assert number("9" * 18, "x") == 10**18 - 1


@pytest.mark.parametrize(("word", "sentence"), [("", "name it"), ("-1", "name it"), ("٣", "name it"), ("²", "name it")])
def test_no_number(word: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        number(word, "name it")


@pytest.mark.parametrize("word", [str(2**63), "9" * 19, "9" * 5000])
def test_larger_than_any(word: str, make_world: MakeWorld, make_web: MakeWeb) -> None:
    sources = make_web(make_world()).process.sources
    for ask in (
        lambda: number(word, "x"),
        lambda: runs._id([word]),
        lambda: alerts._id([word]),
        lambda: benchmarks._wish({"run": word}),
        lambda: report._run(sources, [word]),
    ):
        with pytest.raises(ValueError, match=f"there is none with the number {word[:40]}$"):
            ask()
