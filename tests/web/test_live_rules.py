"""Thresholds of the first screen, at their edges: who is named as outlier, and when a prefill's end is foretold."""

from __future__ import annotations

import pytest

from dashboard.live.points import outlier
from dashboard.live.prefill import expected_s
from storage.records import Episode


@pytest.mark.parametrize(
    ("use", "named"),
    [
        ({}, None),
        ({"a": 0.5}, None),
        ({"a": 0.0, "b": 0.2}, "a"),
        ({"a": 0.0, "b": 0.19}, None),
        ({"a": 0.96, "b": 0.96, "c": 0.96, "d": 0.4}, "d"),
        ({"a": 0.1, "b": 0.1, "c": 0.96, "d": 0.1}, "c"),
    ],
)
def test_an_outlier_of_utilisation_is_a_tenth_from_the_mean(use: dict[str, float], named: str | None) -> None:
    assert outlier(use) == named


def episodes(*seconds: float | None) -> list[Episode]:
    return [Episode("m", "head", "0", 0, 1000 * place, 100, length) for place, length in enumerate(seconds)]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((10.0, 10.0), None),
        ((8.0, 10.0, 12.5), 10.0),
        ((8.0, 10.0, 12.6), None),
        ((7.4, 10.0, 10.0), None),
        ((7.5, 10.0, 10.0), 10.0),
        ((90.0, 8.0, 10.0, 11.0), 10.0),
        ((8.0, None, 10.0, 11.0), 10.0),
        ((8.0, 10.0, 0.0), None),
    ],
    ids=["two", "alike", "one too long", "one too short", "just alike", "the last three", "unknown", "no length"],
)
def test_an_end_is_foretold_where_the_last_three_took_about_as_long(
    seconds: tuple[float | None, ...], expected: float | None
) -> None:
    assert expected_s(episodes(*seconds)) == expected
    assert expected_s(episodes(*seconds)[::-1]) == expected, "by their ends, in whatever order they come"
