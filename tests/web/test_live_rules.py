"""Thresholds of the first screen, at their edges."""

from __future__ import annotations

import pytest

from dashboard.live.factors import Effect, Factor
from dashboard.live.points import outlier
from dashboard.live.prefill import expected_s
from dashboard.live.why import Compared, find_straggler
from storage.records import Episode
from telemetry.catalog import engine
from telemetry.model import Unit


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


@pytest.mark.parametrize(
    ("effect", "now", "baseline", "notable", "slows"),
    [
        (Effect.FOLLOWS, 110.1, 100.0, True, False),
        (Effect.FOLLOWS, 109.9, 100.0, False, False),
        (Effect.FOLLOWS, 100.0, 110.1, True, True),
        (Effect.FOLLOWS, 100.0, 109.9, False, True),
        (Effect.AGAINST, 110.1, 100.0, True, True),
        (Effect.AGAINST, 100.0, 110.1, True, False),
        (Effect.TAKES, 0.40, 0.30, True, True),
        (Effect.TAKES, 0.36, 0.30, False, True),
        (Effect.NONE, 5.0, 1.0, False, False),
        (Effect.FOLLOWS, float("nan"), 1.0, False, False),
    ],
)
def test_a_factor_is_named_from_a_tenth_of_the_speed_on(
    effect: Effect, now: float, baseline: float, notable: bool, slows: bool
) -> None:
    factor = Factor("key", "Label", Unit.COUNT, engine.REQUESTS_RUNNING, effect=effect)
    compared = Compared(factor, now, baseline)
    assert (compared.notable, compared.slows) == (notable, slows)


@pytest.mark.parametrize(
    ("use", "power", "clock", "named"),
    [
        (0.80, 40.0, 2.4, ("d", -0.2, "power")),
        (0.79, 40.0, 2.4, None),
        (0.96, 42.5, 2.4, ("d", -0.15, "power")),
        (0.96, 43.0, 2.4, None),
        (0.96, 42.0, 1.8, ("d", -0.25, "clock")),
        (0.96, 60.0, 2.9, None),
    ],
    ids=["busy", "not busy", "by as much", "by less", "most by its clock", "ahead of all"],
)
def test_the_straggler_is_a_busy_node_far_below_its_busy_peers(
    use: float, power: float, clock: float, named: tuple[str, float, str] | None
) -> None:
    others = ("a", "b", "c")
    columns = {
        "utilization": dict.fromkeys(others, 0.96) | {"d": use, "idle": 0.0},
        "power": dict.fromkeys(others, 50.0) | {"d": power, "idle": 5.0},
        "clock": dict.fromkeys(others, 2.4) | {"d": clock, "idle": 0.2},
    }
    found = find_straggler(columns)
    assert (found and (found[0], pytest.approx(found[1]), found[2])) == named
