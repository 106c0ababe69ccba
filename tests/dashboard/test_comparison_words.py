"""Verdicts in words."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.comparison_words import apart, body, described, head, named, percent, signed
from dashboard.components.references import band, measured, references
from dashboard.pages.compare import in_unit, page
from runs.compare.verdict import Verdict
from telemetry.model import Unit

PAIR = ("A", "B")


def verdict(word: Any, **more: Any) -> Verdict:
    """A verdict by the first measure."""
    return Verdict("per_request", word, **more)


CERTAIN = {"difference": -0.124, "low": -0.15, "high": -0.101, "smallest": 0.05}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (verdict("slower", **CERTAIN), "12.4 % slower"),
        (verdict("faster", difference=0.2, low=0.1, high=0.3), "20.0 % faster"),
        (verdict("lower", **CERTAIN), "12.4 % lower"),
        (verdict("no difference", difference=0.0, low=-0.031, high=0.02), "no difference larger than 3.1 %"),
        (verdict("no difference", difference=0.0, low=-0.01, high=0.02), "no difference larger than 2.0 %"),
        (verdict("too short"), "too short to say"),
        (verdict("not comparable", why="x"), "not comparable"),
    ],
)
def test_heads(found: Verdict, words: str) -> None:
    assert head(found) == words.replace(" %", "\u00a0%")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            verdict("slower", **CERTAIN),
            "Difference −12.4 %, 95 % sure between −15.0 % and −10.1 %. A difference of 5.0 % would have been found "
            "80 % of the time.",
        ),
        (
            verdict("too short", **CERTAIN, blocks=(40.0, 12.4), block_s=(5.0, 60.0), wait_s=456.0),
            "Too short to say: 12 independent blocks of 1m 0s where 20 are needed, about 7m 36s more at the same load. "
            "So far: −12.4 %, between −15.0 % and −10.1 %. A difference of 5.0 % would have been found 80 % of the "
            "time.",
        ),
        (  # the run that has more blocks lacks more time, as its blocks are longer: 15 × 85 s against 16 × 55 s
            verdict("too short", difference=0.5, blocks=(5.0, 4.0), block_s=(85.0, 55.0), wait_s=1275.0),
            "Too short to say: 5 independent blocks of 1m 25s where 20 are needed, about 21m 15s more at the same "
            "load. So far: +50.0 %.",
        ),
        (
            verdict("too short", difference=0.5, blocks=(1.0, 40.0), block_s=(10.0, 5.0), wait_s=190.0),
            "Too short to say: 1 independent block of 10.0 s where 20 are needed, about 3m 10s more at the same load. "
            "So far: +50.0 %.",
        ),
        (
            verdict("too short", why="they ran equally many requests for less than 25 s"),
            "Too short to say: they ran equally many requests for less than 25 s.",
        ),
        (
            verdict("not comparable", why="the second run is limited by arrivals"),
            "Not comparable, because “B” is limited by arrivals.",
        ),
    ],
)
def test_bodies(found: Verdict, words: str) -> None:
    assert body(found, PAIR).replace("\u00a0", " ") == words


def test_names_stand_in_place_of_first_and_second() -> None:
    assert named("only 4 % of the second run's time, the first run", PAIR) == "only 4 % of “B”'s time, “A”"


def test_shares() -> None:
    told = [percent(-0.5), percent(None), signed(0.0001), signed(-0.0001), signed(0.0), signed(12.5)]
    assert told == ["50.0\u00a0%", "–", "0.0\u00a0%", "0.0\u00a0%", "0.0\u00a0%", ">+999\u00a0%"]


def test_as_json_with_words() -> None:
    found = described(verdict("not comparable", why="the first run is away", notes=["the second run's note"]), PAIR)
    assert (found["why"], found["notes"]) == ("“A” is away", ["“B”'s note"])
    assert (found["label"], found["unit"], found["word"]) == (
        "Decode per request",
        "tokens_per_second",
        "not comparable",
    )
    assert found["text"] == "Not comparable, because “A” is away."


def test_values_of_fingerprints() -> None:
    assert [
        in_unit(*one) for one in (("", None), ("vLLM", None), ("1048576", Unit.TOKENS.value), ("a; b: 7", "bytes"))
    ] == [
        "not known",
        "vLLM",
        "1.0M\u00a0tokens",
        "a; b: 7",
    ]


def test_points_and_bands() -> None:
    assert [band(None), band([20.0, 20.0]), band([15.0, 25.0])] == ["–", "20.0\u00a0tok/s", "15.0–25.0\u00a0tok/s"]
    assert references([]) is None
    entries = [{"key": "decode_mean", "value": 20.5}, {"key": "decode_peak", "value": None}]
    speeds = {"decode": 20.5, "peak": None, "prefill": None}
    for deployment, where in (("Kimi-K3", "measured here"), ("foreign:Kimi-K3", "measured by another installation")):
        run = {"name": "A", "deployment": deployment}
        assert measured(run, [{"key": "speed", "entries": entries}]) == [("A", where, speeds)]
        assert measured(run, [{"key": "speed", "entries": entries[1:]}]) == measured(run, []) == []


def test_a_page_without_runs_says_how_to_choose_and_an_unknown_alignment_is_the_start() -> None:
    assert "Pick two to eight runs in" in str(page())
    assert "align=start" in str(page("1,2", "middle").to_plotly_json())


@pytest.mark.parametrize(
    ("difference", "unit", "text"),
    [
        (0.124, Unit.WATTS, "+12.4\xa0%"),
        (-9.25, Unit.CELSIUS, "−9.3\xa0K"),
        (3.0, Unit.CELSIUS, "+3.0\xa0K"),
        (0.01, Unit.CELSIUS, "0.0\xa0K"),
        (0.0, Unit.CELSIUS, "0.0\xa0K"),
        (None, Unit.CELSIUS, "–"),
    ],
)
def test_how_far_numbers_are_apart(difference: float | None, unit: Unit, text: str) -> None:
    assert apart(difference, unit) == text
