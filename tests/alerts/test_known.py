"""Rules that ask for what is absent: whose absence they tell, live tick by tick and afterwards at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.book import Book
from alerts.given import STATES
from alerts.machine import Phase
from alerts.places import Key, Members
from alerts.rule import Rule, rule
from alerts.view import View
from telemetry.frame import Frame
from telemetry.model import Scope
from tests.alerts.samples import NAN, START_MS, frame, of_node

MEMBERS = Members({}, {"a": "k3", "b": "k3"})
DEGREES, WATTS = "gpu_temperature_celsius", "gpu_power_watts"
Told = list[tuple[Key, str, int]]


def absent_rule(when: str, for_s: int = 30, place: str = "gpu", **more: str) -> Rule:
    table = {"title": "x", "place": place, "when": when, "severity": "warning", "for": f"{for_s}s", **more}
    return rule("x", table)


def whole(rule: Rule, made: Frame, book: Book | None = None) -> Told:
    """What a replay says, at once."""
    return told((book or Book()).read([rule], View(made, 0, MEMBERS)))


def live(rule: Rule, made: Frame, back_s: int = 16) -> Told:
    """What is found tick by tick, of what a collector remembers: series that were read within so long."""
    book, found = Book(), []
    for at in range(len(made.ticks)):
        until = made.between(int(made.ticks[at]) - back_s * 1000, int(made.ticks[at]))
        seen = np.flatnonzero(~np.isnan(until.values).all(axis=1))
        found += book.read([rule], View(until.take(seen.tolist()), len(until.ticks) - 1, MEMBERS))
    return told(found)


def told(turns: object) -> Told:
    found = [(one.key, one.change.phase.value, (one.change.at_ms - START_MS) // 1000) for one in turns]  # type: ignore[attr-defined]
    return sorted(found, key=lambda one: (one[2], one[0]))


def on_page(degrees: list[float], node: str = "a", gpu: str = "0") -> dict:  # type: ignore[type-arg]
    return {of_node(node, DEGREES, gpu=gpu): degrees}


def made(rows: dict) -> Frame:  # type: ignore[type-arg]
    """Pages were read at every tick, also those that do not say it."""
    found = frame(rows)
    at_ms = np.broadcast_to(found.ticks.astype(np.float64), found.values.shape).copy()
    return Frame(found.ticks, found.series, found.values, at_ms, found.breaks, found.gap_ms)


@pytest.mark.parametrize("for_s", [10, 30, 60])
def test_what_goes_away_fires_however_long_it_must_be_away(for_s: int) -> None:
    story = made(on_page([50.0] * 40 + [NAN] * 80 + [50.0] * 10))
    expected = [(("a", "0"), "pending", 40), (("a", "0"), "firing", 40 + for_s), (("a", "0"), "inactive", 120)]
    assert live(absent_rule(f"absent({DEGREES})", for_s), story) == expected
    assert whole(absent_rule(f"absent({DEGREES})", for_s), story) == expected


def test_what_was_never_there_is_not_missed() -> None:
    story = made({**on_page([NAN] * 60 + [50.0] * 20), **on_page([50.0] * 80, "b")})
    for found in (live, whole):
        assert found(absent_rule(f"absent({DEGREES})", 10), story) == []


def test_an_instance_is_known_for_16_seconds_where_nothing_is_under_way() -> None:
    """Away from 20 on; at 30 or 40 the other one is hot, too, and the rule would begin."""
    for begins, expected in ((30, [(("a", "0"), "pending", 30), (("a", "0"), "firing", 50)]), (40, [])):
        hot = [50.0] * begins + [95.0] * (70 - begins)
        story = made({**on_page([50.0] * 20 + [NAN] * 50), **on_page(hot, gpu="1")})
        one = absent_rule(f"absent({DEGREES}) and across(node, {DEGREES}) > 90 °C", 20)
        assert live(one, story) == expected
        assert whole(one, story) == expected


def test_what_ended_when_it_was_known_no_more_does_not_begin_again() -> None:
    """Away from 20 on, known to 36, pending while another is hot: from 30 to 44; that is hot again at 46."""
    hot = [50.0] * 30 + [95.0] * 15 + [50.0] + [95.0] * 54
    story = made({**on_page([50.0] * 20 + [NAN] * 80), **on_page(hot, gpu="1")})
    one = absent_rule(f"absent({DEGREES}) and across(node, {DEGREES}) > 90 °C", 20)
    expected = [(("a", "0"), "pending", 30), (("a", "0"), "inactive", 45)]
    assert live(one, story) == expected
    assert whole(one, story) == expected


@pytest.mark.parametrize("there", ["0", "1"])
def test_an_instance_of_several_series_is_known_by_any_of_them(there: str) -> None:
    """One GPU of two tells its watts until 60: the node is known until 76, and too hot only from 70 on."""
    watts = {of_node("a", WATTS, gpu=gpu): [9.0] * 60 + [NAN] * 40 if gpu == there else [NAN] * 100 for gpu in "01"}
    story = made({**watts, of_node("b", DEGREES, gpu="0"): [50.0] * 70 + [95.0] * 30})
    one = absent_rule(f"absent({WATTS}) and across(cluster, {DEGREES}) > 90 °C", 10, "node")
    expected = [(("a",), "pending", 70), (("a",), "firing", 80)]
    assert [one for one in whole(one, story) if one[0] == ("a",)] == expected


def test_of_what_is_read_rarely_three_gaps_are_a_moment() -> None:
    rows = on_page([50.0] * 4 + [NAN] * 12)
    rarely = frame(rows, step_s=20.0)
    rarely = Frame(
        rarely.ticks, rarely.series, rarely.values, rarely.ticks[None, :] * 1.0, rarely.breaks, rarely.gap_ms
    )
    expected = [(("a", "0"), "pending", 80), (("a", "0"), "firing", 200)]
    one = absent_rule(f"absent({DEGREES})", 120)
    assert [told(Book(hold_ms=50_000).read([one], View(rarely, 0, MEMBERS)))] == [expected]


def test_an_end_by_absence_is_found_when_the_series_has_gone() -> None:
    story = made(on_page([50.0] * 10 + [95.0] * 30 + [NAN] * 80))
    one = absent_rule(f"{DEGREES} > 90 °C", 5, clear=f"absent({DEGREES})", clear_for="40s")
    expected = [(("a", "0"), "pending", 10), (("a", "0"), "firing", 15), (("a", "0"), "inactive", 80)]
    assert live(one, story) == expected
    assert whole(one, story) == expected


def test_what_is_under_way_goes_on_in_the_next_slice() -> None:
    story, book = made(on_page([50.0] * 40 + [NAN] * 200)), Book()
    one = absent_rule(f"absent({DEGREES})", 120)
    first, second = story.between(START_MS, START_MS + 59_999), story.between(START_MS + 60_000, START_MS + 240_000)
    assert whole(one, first, book) == [(("a", "0"), "pending", 40)]
    assert whole(one, second.take([]), book) == [(("a", "0"), "firing", 160)]
    assert book.by_rule["x"]["a", "0"].phase is Phase.FIRING


def test_deployments_are_always_known() -> None:
    story = made(on_page([50.0] * 20 + [NAN] * 60))
    expected = [(("k3",), "pending", 20), (("k3",), "firing", 60)]
    assert whole(absent_rule(f"absent({DEGREES})", 40, "deployment"), story) == expected


away = st.lists(st.sampled_from([50.0, 50.0, 95.0, NAN, NAN]), min_size=8, max_size=8).map(
    lambda some: [one for one in some for _ in range(9)]
)


@pytest.mark.parametrize(
    "text",
    [
        f"absent({DEGREES})",
        f"absent({DEGREES}) and across(node, {DEGREES}) > 90 °C",
        f"not absent({DEGREES}) and {DEGREES} > 90 °C",
        f"absent({DEGREES}) or {WATTS} > 90 W",
        f"absent({DEGREES}) and maybe({WATTS} > 60 W)",
    ],
)
def test_live_and_replay_agree_on_whose_absence_it_is(text: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(st.lists(away, min_size=3, max_size=3), st.sampled_from([0, 12, 25]))
    def check(values: list[list[float]], for_s: int) -> None:
        series = (of_node("a", DEGREES, gpu="0"), of_node("a", DEGREES, gpu="1"), of_node("a", WATTS, gpu="0"))
        story = made(dict(zip(series, values, strict=True)))
        one = absent_rule(text, for_s)
        assert live(one, story) == whole(one, story)

    check()


def test_what_is_known_by_how_it_answers_stays_known() -> None:
    """A node has its state at every tick: it is there however long ago it told a sample."""
    story = made({of_node("a", "memory_available_bytes"): [5.0] * 10 + [NAN] * 80})
    ok, refused = float(STATES.index("ok")), float(STATES.index("refused"))
    given = {"target_state": {"a": np.array([refused] * 60 + [ok] * 30), "b": np.array([ok] * 90)}}
    one = absent_rule('absent(memory_available_bytes) and target_state is "ok"', 10, "node")
    members = Members(targets={"a": Scope.NODE, "b": Scope.NODE})
    turns = told(Book().read([one], View(story, 0, members, {}, given)))
    b_never_told_any = [(("b",), "pending", 0), (("b",), "firing", 10)]
    assert turns == [*b_never_told_any, (("a",), "pending", 60), (("a",), "firing", 70)]
