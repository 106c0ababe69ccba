"""Frames that slide on say what frames that are put together anew say, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from alerts.places import Members
from alerts.rule import Rule, rule
from alerts.view import View
from pipeline.lookout import Lookout
from pipeline.strip import SPARE
from storage.records import Offset
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.states import TargetState

START_MS, TICKS = 1_796_000_000_000, SPARE + 40
DISTURBED = 40
NAMES = ("a", "b", "c")
METRICS = ("gpu_power_watts", "gpu_temperature_celsius", "oom_kills_total", "mtu_bytes")
"""The last is read by no rule."""


def read() -> list[Rule]:
    texts = {
        "gpu_power": ("gpu", "gpu_power_watts > 50 W"),
        "killed": ("node", "increase(oom_kills_total[60s]) > 0"),
        "warm": ("gpu", "mean(gpu_temperature_celsius[5min]) > 80 °C"),
    }
    return [
        rule(name, {"title": name, "place": place, "when": when, "severity": "info"})
        for name, (place, when) in texts.items()
    ]


def layout(target: str, metrics: tuple[str, ...] = METRICS) -> tuple[Series, ...]:
    return tuple(Series(target, one, (("gpu", "0"),) if one.startswith("gpu") else ()) for one in metrics)


class Watch:
    """A lookout that is fed; one that forgets its frames before each tick is what the other is held to."""

    def __init__(self, *, forgets: bool) -> None:
        state = SimpleNamespace(verdict=SimpleNamespace(state=TargetState.OK), last_ok_ms=1)
        targets: Any = [SimpleNamespace(name=name, is_node=True, health=state) for name in (*NAMES, "d")]
        self.lookout = Lookout(targets, 1000.0)
        self.lookout.read(read())
        self.forgets = forgets
        self.layouts = {name: layout(name) for name in NAMES}
        self.unread: set[str] = set()
        self.interval_ms: dict[str, int] = {}

    def add(self, name: str, tick: int, more: float = 0.0) -> None:
        number = (tick - START_MS) / 1000
        values = np.arange(len(self.layouts[name])) * 100.0 + number + more + ord(name)
        self.lookout.add(name, tick, tick + 5.0, self.layouts[name], values)

    def tick(self, tick: int) -> View:
        for name in self.layouts:
            if name not in self.unread:
                self.lookout.set_interval(name, self.interval_ms.get(name, 1000))
                self.add(name, tick)
        self.unread = set()
        return self.look(tick)

    def look(self, tick: int) -> View:
        if self.forgets:
            self.lookout.set_interval("nobody", 999 - tick // 1000 % 2)
        return self.lookout.view(tick, Members())


def frames(view: View) -> list[Frame]:
    return [view.frame, *(frame for _, frame in view.further)]


def assert_same(one: View, other: View) -> None:
    for mine, held_to in zip(frames(one), frames(other), strict=True):
        assert mine.series == held_to.series
        for name in ("ticks", "values", "at_ms", "breaks", "gap_ms"):
            found, expected = getattr(mine, name), getattr(held_to, name)
            assert found.shape == expected.shape
            assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"), (name, found, expected)


def slides(before: View, after: View) -> list[bool]:
    pairs = zip(frames(before), frames(after), strict=True)
    return [np.shares_memory(one.values, other.values) for one, other in pairs]


def missed(watch: Watch, _: int) -> None:
    watch.unread = {"b"}


def nobody_read(watch: Watch, _: int) -> None:
    watch.unread = set(NAMES)


def late(watch: Watch, tick: int) -> None:
    watch.add("a", tick - 1500)


def twice(watch: Watch, tick: int) -> None:
    watch.add("a", tick, 7.0)


def ahead(watch: Watch, tick: int) -> None:
    watch.add("a", tick + 1000, 7.0)
    watch.unread = {"a"}


def between(watch: Watch, tick: int) -> None:
    watch.add("a", tick - 500)


def turned(watch: Watch, _: int) -> None:
    watch.layouts["b"] = layout("b", METRICS[::-1])


def fewer(watch: Watch, _: int) -> None:
    watch.layouts["b"] = layout("b", METRICS[:1])


def other_object(watch: Watch, _: int) -> None:
    watch.layouts["b"] = layout("b")


def joins(watch: Watch, _: int) -> None:
    watch.layouts["d"] = layout("d")


def leaves(watch: Watch, _: int) -> None:
    watch.layouts.pop("c", None)


def says_nothing_that_is_read(watch: Watch, _: int) -> None:
    watch.layouts["c"] = layout("c", METRICS[3:])


def restarts(watch: Watch, tick: int) -> None:
    watch.lookout.add_steps([Offset("a", "oom_kills_total", (), tick, 0.0, "restart")])


def restarted(watch: Watch, tick: int) -> None:
    watch.lookout.add_steps([Offset("a", "oom_kills_total", (), tick - 3000, 0.0, "restart")])


def slower(watch: Watch, _: int) -> None:
    watch.interval_ms["b"] = 5000


def other_rules(watch: Watch, _: int) -> None:
    watch.lookout.read(read()[:2])


HAPPENS: list[Callable[[Watch, int], None]] = [
    missed,
    nobody_read,
    late,
    twice,
    ahead,
    between,
    turned,
    fewer,
    other_object,
    joins,
    leaves,
    says_nothing_that_is_read,
    restarts,
    restarted,
    slower,
    other_rules,
]


@pytest.mark.parametrize("happens", HAPPENS, ids=lambda one: one.__name__)
def test_whatever_happens_frames_are_those_put_together_anew(happens: Callable[[Watch, int], None]) -> None:
    mine, held_to = Watch(forgets=False), Watch(forgets=True)
    for at in range(TICKS):
        tick = START_MS + at * 1000
        if at in (DISTURBED, DISTURBED + 1, DISTURBED + 25):
            happens(mine, tick)
            happens(held_to, tick)
        assert_same(mine.tick(tick), held_to.tick(tick))


def test_frames_slide_on_where_every_target_is_read() -> None:
    watch = Watch(forgets=False)
    views = [watch.tick(START_MS + at * 1000) for at in range(30)]
    assert all(slides(views[at], views[at + 1]) == [True] * 3 for at in range(1, 29))
    assert [len(frame.ticks) for frame in frames(views[-1])] == [19, 30, 30], "no further back than is asked"
    kept = [frame.values.copy() for frame in frames(views[-1])]
    for at in range(30, 30 + 2 * SPARE):
        watch.tick(START_MS + at * 1000)
    for frame, before in zip(frames(views[-1]), kept, strict=True):
        np.testing.assert_array_equal(frame.values, before, "what was given away stays as it was")


def steps(metric: str, reason: str) -> list[bool]:
    """Which frames slide on over a step."""
    watch = Watch(forgets=False)
    views = [watch.tick(START_MS + at * 1000) for at in range(30)]
    watch.lookout.add_steps([Offset("a", metric, (("gpu", "0"),), START_MS + 30_000, 0.0, reason)])
    return slides(views[-1], watch.tick(START_MS + 30_000))


def test_a_step_stops_the_frames_that_it_is_in_and_no_others() -> None:
    assert steps("oom_kills_total", "restart") == [True, False, True]
    assert steps("gpu_power_watts", "first use") == [False, True, True]
    assert steps("gpu_power_watts", "first sample") == [True] * 3, "which nothing shows"
    assert steps("oom_kills_total", "wrap") == [True] * 3


def test_other_rules_may_read_what_has_begun_anew_before() -> None:
    mine, held_to = Watch(forgets=False), Watch(forgets=True)
    for at in range(60):
        tick = START_MS + at * 1000
        for watch in (mine, held_to):
            if at == 5:
                watch.lookout.add_steps([Offset("a", "oom_kills_total", (), tick, 0.0, "restart")])
            if at == 30:
                reading = {"title": "x", "place": "node", "when": "rate(oom_kills_total[5min]) > 0", "severity": "info"}
                watch.lookout.read([*read(), rule("more", reading)])
        one, other = mine.tick(tick), held_to.tick(tick)
        assert_same(one, other)
    assert one.further[1][1].breaks.any()


def test_after_a_tick_without_a_target_frames_slide_again_once_it_is_forgotten() -> None:
    watch = Watch(forgets=False)
    views = []
    for at in range(120):
        watch.unread = {"b"} if at == 20 else set()
        views.append(watch.tick(START_MS + at * 1000))
    at = [slides(views[at], views[at + 1]) for at in range(119)]
    assert at[18] == [True] * 3
    assert at[20] == [False] * 3
    assert at[45] == [True, False, False]
    assert at[-1] == [True, True, False]


def test_a_tick_at_which_nothing_came_is_the_last_of_the_frame() -> None:
    watch = Watch(forgets=False)
    for at in range(5):
        watch.tick(START_MS + at * 1000)
    view = watch.look(START_MS + 5000)
    assert view.frame.ticks[-1] == START_MS + 5000
    assert np.isnan(view.frame.values[:, -1]).all()
