"""Live, tick by tick, is the same as a replay of slices, whatever comes; so is it after a restart, in any order."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.book import Book, Turn
from alerts.bounds import Bounds, Extent, may_hold, of_hour
from alerts.evaluate import instances, truth
from alerts.expression import Reading
from alerts.language import parse
from alerts.places import PLACES, Members, Place
from alerts.record import standings_json, standings_of
from alerts.replay import Fired, replay
from alerts.rule import rule
from alerts.view import View
from telemetry.frame import Frame
from telemetry.model import Series
from tests.alerts.samples import NAN, START_MS, frame, of_node

HOT = rule(
    "hot",
    {
        "title": "Hot",
        "place": "gpu",
        "when": "gpu_temperature_celsius >= 90 °C"
        " and maybe(gpu_temperature_celsius > 0.9 * peers(gpu_temperature_celsius))",
        "clear": "gpu_temperature_celsius < 87 °C",
        "for": "3s",
        "clear_for": "2s",
        "severity": "critical",
    },
)
MOVES = rule(
    "moves",
    {
        "title": "Moves",
        "place": "node",
        "when": "increase(oom_kills_total[3s]) > 2 or rate(oom_kills_total[4s]) > 1.5 /s",
        "for": "1s",
        "severity": "info",
    },
)
MEMBERS = Members({}, {"a": "k3", "b": "k3", "c": "k3", "d": "k3"})


@dataclass
class Slices:
    """A frame in pieces."""

    frame: Frame
    bounds: Sequence[int]

    def slices(self) -> Iterator[tuple[int, int]]:
        edges = [0, *self.bounds, len(self.frame.ticks)]
        for low, high in itertools.pairwise(edges):
            if high > low:
                yield int(self.frame.ticks[low]), int(self.frame.ticks[high - 1])

    def quiet(self, _start_ms: int, _end_ms: int) -> bool:
        return False

    def view(self, start_ms: int, end_ms: int) -> View:
        part = self.frame.between(0, end_ms)
        return View(part, int(np.searchsorted(part.ticks, start_ms)), MEMBERS)


def live(frame: Frame, restarts: Sequence[int] = ()) -> list[Turn]:
    """A view of one tick after another; at restarts the book is only what the store has."""
    book, turns = Book(), []
    for at, tick in enumerate(frame.ticks.tolist()):
        if at in restarts:
            kept = {name: json.loads(json.dumps(standings_json(one))) for name, one in book.by_rule.items()}
            book = Book({name: standings_of(state) for name, state in kept.items()})
        turns += book.read([HOT, MOVES], View(frame.between(0, tick), at, MEMBERS))
    return turns


def fired(turns: Sequence[Turn], name: str) -> list[Fired]:
    going: dict[tuple[str, ...], Fired] = {}
    found: list[Fired] = []
    for turn in turns:
        if turn.rule != name:
            continue
        if turn.change.phase.value == "firing":
            going[turn.key] = Fired(turn.key, turn.change.began_ms, turn.change.at_ms, None)
        elif turn.change.phase.value == "inactive" and turn.key in going:
            one = going.pop(turn.key)
            found.append(Fired(one.key, one.began_ms, one.fired_ms, turn.change.at_ms))
    return sorted([*found, *going.values()], key=lambda one: (one.fired_ms, one.key))


temperatures = st.lists(st.sampled_from([85.0, 88.0, 91.0, 95.0, NAN]), min_size=25, max_size=25)
steps = st.lists(st.sampled_from([0.0, 0.0, 1.0, 3.0]), min_size=25, max_size=25)


def world(degrees: Sequence[Sequence[float]], kills: Sequence[float], order: Sequence[int] = (0, 1, 2, 3, 4)) -> Frame:
    rows: dict[Series, Sequence[float]] = {
        of_node(node, "gpu_temperature_celsius", gpu="0"): line for node, line in zip("abcd", degrees, strict=True)
    }
    rows[of_node("a", "oom_kills_total")] = np.cumsum(kills).tolist()
    return frame({series: rows[series] for series in [list(rows)[place] for place in order]})


@settings(max_examples=40, deadline=None)
@given(st.lists(temperatures, min_size=4, max_size=4), steps, st.sets(st.integers(1, 24)), st.sets(st.integers(1, 24)))
def test_live_and_replay_agree(
    degrees: list[list[float]], kills: list[float], cuts: set[int], restarts: set[int]
) -> None:
    made = world(degrees, kills)
    turns = live(made)
    for one in (HOT, MOVES):
        found = replay(one, Slices(made, sorted(cuts)))
        assert list(found.fired) == fired(turns, one.name)
    assert live(made, sorted(restarts)) == turns, "a restart between any two ticks changes nothing"


@settings(max_examples=25, deadline=None)
@given(st.lists(temperatures, min_size=4, max_size=4), steps, st.integers(0, 1000))
def test_the_order_of_targets_changes_nothing(degrees: list[list[float]], kills: list[float], seed: int) -> None:
    order = [0, 1, 2, 3, 4]
    random.Random(seed).shuffle(order)
    assert live(world(degrees, kills, order)) == live(world(degrees, kills))


def test_a_replay_counts_by_the_week() -> None:
    degrees = [[95.0] * 5 + [80.0] * 5 + [95.0] * 5 + [80.0] * 10, *[[80.0] * 25] * 3]
    found = replay(HOT, Slices(world(degrees, [0.0] * 25), [10]))
    assert found.fired == (
        Fired(("a", "0"), START_MS, START_MS + 3000, START_MS + 7000),
        Fired(("a", "0"), START_MS + 10_000, START_MS + 13_000, START_MS + 17_000),
    )
    assert (found.start_ms, found.end_ms, found.cut) == (START_MS, START_MS + 24_000, False)
    assert found.per_week is None, "24 s say nothing of a week"


class Longer(Slices):
    """The same, and then quiet until so long after its begin."""

    length_ms = 86_400_000

    def slices(self) -> list[tuple[int, int]]:
        first = list(super().slices())
        return [*first, (first[-1][1] + 1, first[0][0] + self.length_ms - 1)]

    def quiet(self, start_ms: int, end_ms: int, /) -> bool:
        return end_ms - start_ms > 1_000_000


@pytest.mark.parametrize(("length_ms", "per_week"), [(86_399_999, None), (86_400_000, 14.0), (604_800_000, 2.0)])
def test_of_a_day_it_counts_by_the_week(length_ms: int, per_week: float | None) -> None:
    degrees = [[95.0] * 5 + [80.0] * 5 + [95.0] * 5 + [80.0] * 10, *[[80.0] * 25] * 3]
    past = Longer(world(degrees, [0.0] * 25), [10])
    past.length_ms = length_ms
    assert replay(HOT, past).per_week == per_week


CONDITIONS = [
    "gpu_temperature_celsius >= 91 °C",
    "gpu_temperature_celsius < 86 °C",
    "gpu_temperature_celsius == 88 °C",
    "gpu_temperature_celsius != 88 °C",
    "not gpu_temperature_celsius < 95 °C",
    "gpu_temperature_celsius > 90 °C and max(gpu_temperature_celsius[3s]) > 94 °C",
    "gpu_temperature_celsius > 99 °C or min(gpu_temperature_celsius[3s]) <= 85 °C",
    "gpu_temperature_celsius > 90 °C and maybe(gpu_temperature_celsius > 94 °C)",
    "across(node, gpu_temperature_celsius) > 94 °C",
    "gpu_temperature_celsius has 0x1",
    "gpu_temperature_celsius has 0x20",
    "gpu_temperature_celsius >= 1.1 * peers(gpu_temperature_celsius)",
    "count(gpu_temperature_celsius > 94 °C) >= 2",
    "count(gpu_temperature_celsius > 94 °C) < 1",
    "2 * gpu_temperature_celsius + 10 °C > 198 °C",
    "10 °C - gpu_temperature_celsius > 0 - 76 °C",
    "gpu_temperature_celsius < 80 °C or maybe(gpu_temperature_celsius > 95 °C)",
    "gpu_temperature_celsius - 3 > 90 °C",
    "absent(gpu_temperature_celsius)",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_what_an_hour_rules_out_was_nowhere_so(text: str) -> None:
    condition = parse(text)

    @settings(max_examples=40, deadline=None)
    @given(st.lists(temperatures, min_size=4, max_size=4))
    def check(degrees: list[list[float]]) -> None:
        view = View(world(degrees, [0.0] * 25), 0, MEMBERS)
        values = np.array(degrees)
        known = values[~np.isnan(values)]
        extent = Extent(float(known.min()), float(known.max()), 0.0, many=True) if len(known) else None

        def ask(reading: Reading, _: Place) -> Bounds:
            return of_hour(reading, extent)

        keys = instances(condition, PLACES["gpu"], view)
        if (truth(condition, PLACES["gpu"], view, keys) == 1.0).any():
            assert may_hold(condition, PLACES["gpu"], ask)

    check()


def test_what_hours_rule_out() -> None:
    def ask(reading: Reading, _: Place) -> Bounds:
        return of_hour(reading, Extent(60.0, 80.0, 0.0, many=False))

    for text, may in [
        ("gpu_temperature_celsius >= 81 °C", False),
        ("gpu_temperature_celsius >= 80 °C", True),
        ("gpu_temperature_celsius <= 59 °C", False),
        ("increase(oom_kills_total[60s]) > 0", False),
        ("rate(oom_kills_total[10s]) > 0", False),
        ("increase(oom_kills_total[60s]) >= 0", True),
        ('gpu_reading_state is "ok"', False),
        ("interconnect_transmit_bytes_per_second > 1 MB/s", True),
    ]:
        assert may_hold(parse(text), PLACES["gpu"], ask) is may, text
