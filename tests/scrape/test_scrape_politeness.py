"""How often a target is asked, told as stories of outcomes and instants."""

from __future__ import annotations

import pytest

from collectors.scrape.outcome import Outcome
from collectors.scrape.politeness import Politeness, interval_ticks, pause_s


@pytest.mark.parametrize(
    ("median_s", "tick_s", "ticks"),
    [
        (None, 1.0, 1),
        (0.0, 1.0, 1),
        (0.010, 1.0, 1),
        (0.0101, 1.0, 2),
        (0.030, 1.0, 3),
        (0.004, 0.5, 2),
        (0.012, 0.5, 3),
        (0.004, 2.0, 1),
        (0.021, 2.0, 2),
        (0.004, 5.0, 1),
        (0.099, 1.0, 10),
        (0.5, 1.0, 10),
        (0.5, 4.0, 3),
    ],
)
def test_interval_is_a_hundred_idle_scrapes_in_whole_ticks(median_s: float | None, tick_s: float, ticks: int) -> None:
    assert interval_ticks(median_s, tick_s) == ticks


def test_engine_is_asked_each_second_until_its_cost_is_known() -> None:
    polite = Politeness(tick_s=1.0)
    assert polite.due(0.0)
    for _ in range(10):
        polite.answered(0.0, 0.025, idle=False)
    assert polite.interval_s == 1.0, "a busy engine answers late without working on our page"
    assert not polite.due(0.5)
    assert polite.due(1.0)
    for _ in range(4):
        polite.answered(1.0, 0.025, idle=True)
    assert polite.interval_s == 1.0, "the first answers pay for connecting"
    polite.answered(1.0, 0.025, idle=True)
    assert polite.interval_s == 3.0
    assert not polite.due(3.0)
    assert polite.due(4.0)


def test_the_fastest_of_the_last_idle_scrapes_decides() -> None:
    polite = Politeness(tick_s=1.0)
    for second in range(15):
        polite.answered(second, 0.050, idle=True)
    assert polite.interval_s == 5.0
    polite.answered(20, 0.021, idle=True)
    assert polite.interval_s == 3.0
    for second in range(14):
        polite.answered(21 + second, 0.090, idle=True)
    assert polite.interval_s == 3.0
    polite.answered(40, 0.090, idle=True)
    assert polite.interval_s == 9.0, "the fast one is no longer among the last fifteen"


def test_an_agent_is_asked_at_every_tick_whatever_it_costs() -> None:
    polite = Politeness(tick_s=0.5, by_cost=False)
    polite.answered(0.0, 0.2, idle=True)
    assert polite.interval_s == 0.5
    assert polite.due(0.5)


def test_a_tick_a_little_early_counts() -> None:
    polite = Politeness(tick_s=1.0)
    polite.answered(10.0, 0.001, idle=True)
    assert polite.due(10.9)
    assert polite.due(10.75)
    assert not polite.due(10.74)


def pauses(polite: Politeness, outcome: Outcome, times: int) -> list[float]:
    found, now = [], 0.0
    for _ in range(times):
        polite.failed(now, outcome)
        wait = 0.0
        while not polite.due(now + wait):
            wait += 0.5
        found.append(wait)
        now += wait
    return found


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.TIMED_OUT, Outcome.UNREACHABLE, Outcome.BAD_ANSWER])
def test_a_target_that_is_away_is_asked_every_ten_seconds_in_the_end(outcome: Outcome) -> None:
    assert pauses(Politeness(tick_s=1.0), outcome, 6) == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


@pytest.mark.parametrize("outcome", [Outcome.NOT_FOUND, Outcome.UNAUTHORISED])
def test_what_is_not_there_is_asked_for_every_five_minutes_in_the_end(outcome: Outcome) -> None:
    assert pauses(Politeness(tick_s=1.0), outcome, 7) == [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]


def test_pause_stays_bounded_for_ever() -> None:
    assert pause_s(Outcome.REFUSED, 10_000) == 10.0
    assert pause_s(Outcome.NOT_FOUND, 10_000) == 300.0


def test_pause_is_at_least_a_tick() -> None:
    polite = Politeness(tick_s=5.0)
    polite.failed(0.0, Outcome.REFUSED)
    assert not polite.due(3.0)
    assert polite.due(5.0)


def test_success_forgets_failures() -> None:
    polite = Politeness(tick_s=1.0)
    pauses(polite, Outcome.REFUSED, 5)
    polite.answered(100.0, 0.001, idle=True)
    assert polite.due(101.0)
    assert pauses(polite, Outcome.REFUSED, 2) == [1.0, 2.0]


def test_how_often_a_silent_target_is_asked_is_told() -> None:
    polite = Politeness(tick_s=1.0)
    assert polite.silent_s is None
    pauses(polite, Outcome.REFUSED, 3)
    assert polite.silent_s == 4.0
    polite.answered(100.0, 0.001, idle=True)
    assert polite.silent_s is None
    slow = Politeness(tick_s=5.0)
    slow.failed(0.0, Outcome.REFUSED)
    assert slow.silent_s == 5.0


def test_another_kind_of_failure_starts_anew() -> None:
    polite = Politeness(tick_s=1.0)
    pauses(polite, Outcome.NOT_FOUND, 3)
    polite.failed(500.0, Outcome.TIMED_OUT)
    assert polite.due(501.0)
    polite.failed(501.0, Outcome.REFUSED)
    assert not polite.due(502.0)
    assert polite.due(503.0)
