"""Command lines of the documentation, understood as they stand there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import joined, parser

ROOT = Path(__file__).resolve().parents[2]


def documented() -> Iterator[list[str]]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for line in page.read_text().splitlines():
            words = line.removeprefix(".venv/bin/python ")
            if words.startswith("app.py "):
                yield shlex.split(words, comments=True)[1:]


def test_app_py_is_a_program_by_itself() -> None:
    program = ROOT / "app.py"
    assert program.read_text().splitlines()[0] == "#!/usr/bin/env python3"
    assert program.stat().st_mode & 0o111 == 0o111
    assert "`.venv/bin/python app.py …` is meant" in (ROOT / "README.md").read_text()


def test_there_are_some() -> None:
    assert ["export", "--metric", "gpu_power_watts", "--start", "-2h", "--step", "10s"] in list(documented())


@pytest.mark.parametrize("arguments", list(documented()), ids=" ".join)
def test_each_is_understood(arguments: list[str]) -> None:
    assert vars(parser().parse_args(joined(arguments)))["command"] == arguments[0]


def test_silences_have_an_end() -> None:
    silences = [found for found in documented() if found[:2] == ["alerts", "silence"]]
    assert [vars(parser().parse_args(joined(one)))["end"] for one in silences] == ["+2h", "+180d"]


def test_a_length_before_now_is_a_value() -> None:
    given = vars(parser().parse_args(joined(["export", "--metric", "x", "--start", "-2h", "--end", "-90s", "-o", "-"])))
    assert (given["start"], given["end"], given["output"]) == ("-2h", "-90s", "-")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["runs", "trim", "3", "--start", "-15m"], ["runs", "trim", "3", "--start=-15m"]),
        (["export", "--raw", "-o", "-"], ["export", "--raw", "-o", "-"]),
        (["export", "--start=-1h", "-5m"], ["export", "--start=-1h", "-5m"]),
        (["-2h"], ["-2h"]),
    ],
)
def test_only_what_follows_a_flag_is_tied_to_it(given: list[str], expected: list[str]) -> None:
    assert joined(given) == expected
