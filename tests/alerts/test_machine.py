"""The life of an alert, as stories in words, and as properties of any sequence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.machine import NEW, Change, Phase, Standing, Timing, advance

KNOWN = {"#": 1.0, ".": 0.0, "?": np.nan, "~": 0.0, "c": 0.0}
CLEAR = {"#": 0.0, ".": 1.0, "?": np.nan, "~": 0.0, "c": 1.0}
WORD = {Phase.INACTIVE: "over", Phase.PENDING: "pending", Phase.FIRING: "firing"}


def strip(text: str, step_ms: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A character per tick: # wrong, . well, ~ between the thresholds, ? not known, space no tick at all."""
    places = [place for place, sign in enumerate(text) if sign != " "]
    signs = [text[place] for place in places]
    ticks = np.array(places, dtype=np.int64) * step_ms
    return ticks, np.array([KNOWN[sign] for sign in signs]), np.array([CLEAR[sign] for sign in signs])


def told(changes: list[Change]) -> list[str]:
    return [f"{change.at_ms // 1000} {WORD[change.phase]}" for change in changes]


STORIES = [
    ("a spike shorter than what is needed", "..##....", 3, 0, ["2 pending", "4 over"]),
    ("long enough", "..#####..", 3, 0, ["2 pending", "5 firing", "7 over"]),
    ("at once", "..#..", 0, 0, ["2 pending", "2 firing", "3 over"]),
    ("it must be well for a while", "#####.#....", 3, 3, ["0 pending", "3 firing", "10 over"]),
    ("between the thresholds nothing changes", "#####~~~~~~~~~", 3, 1, ["0 pending", "3 firing"]),
    (
        "what is between the thresholds does not hold",
        "##~##~##~##~",
        3,
        1,
        ["0 pending", "2 over", "3 pending", "5 over", "6 pending", "8 over", "9 pending", "11 over"],
    ),
    ("no data does not end it", "#####????????????", 3, 1, ["0 pending", "3 firing"]),
    ("no data does not start it", "??????????????", 3, 1, []),
    ("no data does not count, and does not begin anew", "##????##", 3, 1, ["0 pending", "7 firing"]),
    ("no data does not fire", "###??????", 3, 1, ["0 pending"]),
    ("well, then silent: it goes on", "####..????", 2, 4, ["0 pending", "2 firing"]),
    (
        "well, silent, then well again: together long enough",
        "####..????...",
        2,
        4,
        ["0 pending", "2 firing", "12 over"],
    ),
    ("silent, then wrong again: one alert", "####????####", 2, 4, ["0 pending", "2 firing"]),
    (
        "a monitor that was away for long counts five seconds",
        "##                          ###",
        8,
        0,
        ["0 pending", "30 firing"],
    ),
    ("twice", "###..###..", 2, 1, ["0 pending", "2 firing", "4 over", "5 pending", "7 firing", "9 over"]),
]


@pytest.mark.parametrize(("story", "text", "for_s", "clear_s", "expected"), STORIES, ids=[one[0] for one in STORIES])
def test_stories(story: str, text: str, for_s: int, clear_s: int, expected: list[str]) -> None:
    _, changes = advance(NEW, *strip(text), Timing(for_s * 1000, clear_s * 1000))
    assert told(changes) == expected


def test_a_firing_alert_knows_since_when_it_is_wrong() -> None:
    standing, changes = advance(NEW, *strip("..#####"), Timing(3000, 0))
    assert changes[-1] == Change(5000, Phase.FIRING, 2000)
    assert standing == Standing(Phase.FIRING, 5000, 2000, False, 0, 6000, holds=True, clears=False)


@pytest.mark.parametrize(
    ("text", "condition", "lasted_to_s"),
    [
        ("#####", "holds", 4),
        ("####...", "ending", 4),
        ("####~~~", "between", 6),
        ("####???", "unknown", 6),
        ("####..?", "unknown", 4),
        ("####..#", "holds", 6),
    ],
)
def test_what_is_known_of_an_alert_that_fires(text: str, condition: str, lasted_to_s: int) -> None:
    """Well again is not unknown; it lasted until its clear condition began to be counted."""
    standing, _ = advance(NEW, *strip(text), Timing(2000, 60_000))
    assert standing.phase is Phase.FIRING
    assert (standing.condition, standing.lasted_to_ms) == (condition, lasted_to_s * 1000)


YEAR_MS = 365 * 86_400_000


@pytest.mark.parametrize(
    ("text", "later", "expected"),
    [
        ("..###", "#####...", ["102 firing", "107 over"]),
        ("..###", "??#..", ["103 over"]),
        ("#######", "....", ["102 over"]),
        ("#####..", "....", ["101 over"]),
    ],
)
def test_a_clock_that_had_leapt_ahead_and_is_right_again(text: str, later: str, expected: list[str]) -> None:
    """What was counted by it stays, nothing is counted for the way back, and nothing lies ahead any more."""
    timing = Timing(4000, 2000)
    ticks, truth, clear = strip(text)
    standing, _ = advance(NEW, ticks + YEAR_MS, truth, clear, timing)
    ticks, truth, clear = strip(later)
    after, changes = advance(standing, ticks + 100_000, truth, clear, timing)
    assert told(changes) == expected
    assert all(change.began_ms <= change.at_ms for change in changes)
    assert max(after.since_ms, after.began_ms) <= after.seen_ms == 100_000 + (len(later) - 1) * 1000
    if changes[0].phase is Phase.FIRING:
        assert changes[0].began_ms == 98_000, "two seconds by the clock that had leapt"


def test_flapping_around_the_threshold_never_fires() -> None:
    """79 and 81 in turn every 10 s, threshold 80 for 60 s, clear 2 below."""
    temperature = np.array([79.0, 81.0] * 60)
    ticks = np.arange(120, dtype=np.int64) * 10_000
    truth, clear = (temperature >= 80).astype(float), (temperature < 78).astype(float)
    _, changes = advance(NEW, ticks, truth, clear, Timing(60_000, 60_000, hold_ms=25_000))
    assert {change.phase for change in changes} == {Phase.PENDING, Phase.INACTIVE}


signs = st.lists(st.sampled_from("##.~? "), min_size=1, max_size=60).map("".join).filter(str.strip)
timings = st.builds(Timing, st.integers(0, 6).map(lambda s: s * 1000), st.integers(0, 6).map(lambda s: s * 1000))


@given(signs, timings)
def test_tick_by_tick_is_the_same_as_all_at_once(text: str, timing: Timing) -> None:
    ticks, truth, clear = strip(text)
    at_once = advance(NEW, ticks, truth, clear, timing)
    standing, changes = NEW, []
    for at in range(len(ticks)):
        one = slice(at, at + 1)
        standing, more = advance(standing, ticks[one], truth[one], clear[one], timing)
        changes += more
    assert (standing, changes) == at_once


@given(signs, timings)
def test_never_before_its_time_and_never_on_what_is_not_known(text: str, timing: Timing) -> None:
    ticks, truth, clear = strip(text)
    _, changes = advance(NEW, ticks, truth, clear, timing)
    for change in changes:
        at = int(np.searchsorted(ticks, change.at_ms))
        if change.phase is Phase.FIRING:
            assert truth[at] == 1.0
            assert change.at_ms - change.began_ms >= timing.for_ms
            assert not (truth[np.searchsorted(ticks, change.began_ms) : at] == 0.0).any()
    fired = [change for change in changes if change.phase is not Phase.PENDING]
    for before, after in itertools.pairwise(fired):
        if before.phase is Phase.FIRING:
            assert after.phase is Phase.INACTIVE, "an alert that fires ends before it fires again"
            assert clear[int(np.searchsorted(ticks, after.at_ms))] == 1.0


@given(signs, timings)
def test_inside_the_band_nothing_changes(text: str, timing: Timing) -> None:
    ticks, truth, clear = strip(text)
    standing, _ = advance(NEW, ticks, truth, clear, timing)
    band = np.arange(1, 100, dtype=np.int64) * 1000 + int(ticks[-1])
    after, changes = advance(standing, band, np.zeros(99), np.zeros(99), timing)
    if standing.phase is Phase.FIRING:
        assert (after.phase, changes) == (Phase.FIRING, [])
    else:
        assert after.phase is Phase.INACTIVE
