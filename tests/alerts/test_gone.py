"""Alerts of what is there no more end; of what is only silent, or not heard of yet, they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from alerts.given import REBOOT_MS, STATES, Span, engines_loading, unclean_boots
from alerts.machine import Phase, Standing
from alerts.places import PLACES, Key, Members, is_gone
from alerts.record import WRITTEN, Alert, RuleState, standings_json
from alerts.rulebook import Rulebook
from alerts.view import View
from pipeline.alarms import SOON_MS, UNWATCHED, Alarms
from pipeline.lately import WELL
from telemetry.catalog import gpu
from telemetry.frame import empty
from telemetry.model import Scope
from tests.alerts.samples import START_MS, frame, of_node

KINDS = {"a": Scope.NODE, "b": Scope.NODE, "head": Scope.ENGINE, "other": Scope.ENGINE}
NOW, HOLD_MS = START_MS, 2_500
MEMBERS = Members({("head", "0", "K3"): "k3"}, {"a": "k3"}, KINDS, {"head": "k3", "other": "glm"}, frozenset({"ops"}))


@pytest.mark.parametrize(
    ("place", "key", "gone"),
    [
        ("node", ("a",), False),
        ("node", ("b",), False),
        ("node", ("c",), True),
        ("gpu", ("c", "0"), True),
        ("gpu", ("a", "7"), False),  # no data changes nothing
        ("server", ("head",), False),
        ("server", ("gone",), True),
        ("engine", ("head", "0", "K3"), False),
        ("engine", ("head", "0", "Qwen"), True),  # another model answers there
        ("engine", ("head", "1", "K3"), True),
        ("engine", ("other", "0", "GLM"), False),  # nothing answers there
        ("deployment", ("k3",), False),
        ("deployment", ("glm",), False),
        ("deployment", ("qwen",), True),
        ("cluster", (), False),
        ("channel", ("ops",), False),
        ("channel", ("off",), True),
    ],
)
def test_what_is_gone(place: str, key: Key, gone: bool) -> None:
    assert is_gone(PLACES[place], key, MEMBERS) is gone
    assert not is_gone(PLACES[place], key, Members()), "where nothing is known of anybody"


def fired(rule: str, key: Key, place: str = "gpu", number: int = 1) -> Alert:
    return Alert(number, rule, rule, place, key, "warning", "", START_MS - 9_000, START_MS - 5_000, "it is wrong")


def stands(phase: Phase, key: Key = ("a", "0")) -> RuleState:
    return RuleState("gpu_hot", standings_json({key: Standing(phase, START_MS - 5_000, START_MS - 9_000, seen_ms=1)}))


def hot(degrees: float, seconds: int = 1) -> View:
    return View(frame({of_node("a", gpu.GPU_TEMPERATURE.name, gpu="0"): [degrees] * seconds}), seconds - 1, MEMBERS)


def test_an_alert_of_a_node_that_is_no_longer_named_ends() -> None:
    alarms = Alarms(Rulebook({}))
    alarms.resume([fired("gpu_hot", ("c", "0"))], [stands(Phase.FIRING, ("c", "0"))], [])
    raised = alarms.tick(START_MS, View(empty(), members=MEMBERS), {})
    (alert,) = raised.alerts.values()
    assert (alert.ended_ms, alert.ended, alert.revision) == (START_MS, UNWATCHED, 2)
    assert (alarms.open, alarms.book.standings) == ({}, {})
    assert [one.state for one in raised.standings if one.rule != WRITTEN] == [[]]


def test_what_would_become_an_alert_of_what_is_gone_is_forgotten() -> None:
    """Else it could come to fire for ever where it is pending, and keep others waiting for it as their cause."""
    alarms = Alarms(Rulebook({}))
    state = RuleState(
        "gpu_hot", standings_json({(node, "0"): Standing(Phase.PENDING, 1, 1, seen_ms=1) for node in "ac"})
    )
    alarms.resume([], [state], [])
    raised = alarms.tick(START_MS, View(empty(), members=MEMBERS), {})
    assert list(alarms.book.standings) == [("gpu_hot", ("a", "0"))]
    assert (raised.alerts, [one.rule for one in raised.standings]) == ({}, ["gpu_hot", WRITTEN])


def test_an_alert_whose_standing_was_lost_still_ends() -> None:
    """As where rows of a tick could not be stored, or a standing is not understood after an update."""
    alarms = Alarms(Rulebook({}))
    alarms.resume([fired("gpu_hot", ("a", "0"))], [RuleState("gpu_hot", [["nonsense"]])], [])
    ends = []
    for second in range(80):
        view = replace_tick(hot(60.0), START_MS + second * 1000)
        ends += [one.ended for one in alarms.tick(START_MS + second * 1000, view, {}).alerts.values()]
    assert ends == [WELL]


def test_what_stands_as_firing_without_an_alert_fires_anew() -> None:
    alarms = Alarms(Rulebook({}))
    alarms.resume([], [stands(Phase.FIRING)], [])
    assert alarms.book.standings == {}
    found = []
    for second in range(70):
        view = replace_tick(hot(88.0), START_MS + second * 1000)
        found += list(alarms.tick(START_MS + second * 1000, view, {}).alerts.values())
    assert [(one.rule, one.fired_ms - START_MS) for one in found] == [("gpu_hot", 60_000)]


def test_what_is_pending_goes_on_after_a_restart() -> None:
    alarms = Alarms(Rulebook({}))
    alarms.resume([], [stands(Phase.PENDING)], [])
    assert [one.phase for one in alarms.book.standings.values()] == [Phase.PENDING]


def replace_tick(view: View, tick: int) -> View:
    moved = replace(view.frame, ticks=view.frame.ticks + (tick - int(view.frame.ticks[-1])))
    return View(replace(moved, at_ms=moved.at_ms + (tick - START_MS)), view.first, view.members, given=view.given)


# Causes that may fire in a moment -------------------------------------------------------------------------------------

SERVERS = {"target_state": {"head": np.array([1.0]), "a": np.array([1.0])}}


def test_an_alert_waits_for_a_cause_that_may_fire_in_a_moment() -> None:
    alarms = Alarms(Rulebook({}))
    alarms.open = {("engine_unreachable", ("head",)): fired("engine_unreachable", ("head",), "server", 7)}
    pending = Standing(Phase.PENDING, START_MS, START_MS, seen_ms=NOW)
    assert alarms.awaiting(MEMBERS, NOW) == set()
    alarms.book.by_rule = {"node_silent": {("a",): pending}}
    assert alarms.awaiting(MEMBERS, NOW) == {7}
    alarms.book.by_rule = {"node_silent": {("b",): pending}}
    assert alarms.awaiting(MEMBERS, NOW) == set(), "it serves something else"
    alarms.book.by_rule = {"node_silent": {("a",): replace(pending, phase=Phase.FIRING)}}
    assert alarms.awaiting(MEMBERS, NOW) == set(), "it fires: that is its cause, and needs no waiting"
    slow = Alarms(Rulebook({"node_silent": {"for": "121s"}}))
    slow.open, slow.book.by_rule = alarms.open, {"node_silent": {("a",): pending}}
    assert slow.awaiting(MEMBERS, NOW) == set(), "two minutes at most"


# What is given --------------------------------------------------------------------------------------------------------


def states(*names: str) -> np.ndarray:
    return np.array([float(STATES.index(name)) for name in names])


def test_engines_that_load_count_on_their_nodes_and_strangers_on_all() -> None:
    codes = {"head": states("ok", "loading", "restarting"), "other": states("loading", "refused", "stopped")}
    found = {node: values.tolist() for node, values in engines_loading(codes, MEMBERS).items()}
    assert found == {"a": [1.0, 1.0, 1.0], "b": [1.0, 0.0, 0.0]}
    both = replace(MEMBERS, nodes={"a": "k3", "b": "glm"})
    found = {node: values.tolist() for node, values in engines_loading(codes, both).items()}
    assert found == {"a": [0.0, 1.0, 1.0], "b": [1.0, 0.0, 0.0]}
    assert {node: values.tolist() for node, values in engines_loading({}, MEMBERS).items()} == {"a": [0.0], "b": [0.0]}


@pytest.mark.parametrize(("last_looked", "told"), [(939_999, False), (940_000, True), (999_000, True)])
def test_a_boot_that_nobody_watched_is_not_told_to_be_unclean(last_looked: int, told: bool) -> None:
    boots = [Span(0, 1_000_000, "one"), Span(1_000_000, None, "two")]
    ticks = np.array([last_looked, 1_000_000, 1_599_999, 1_600_000])
    unclean = 1.0 if told else None
    found = unclean_boots(boots, [], ticks)
    assert [None if np.isnan(one) else float(one) for one in found] == [0.0, unclean, unclean, 0.0]
    stops = [Span(900_000, 1_000_000, "stopped")]
    assert unclean_boots(boots, stops, ticks).tolist() == [0.0] * 4, "its goodbye was heard"


@pytest.mark.parametrize(
    ("stop_ends", "unclean"),
    [(1_000_000, 0.0), (1_000_000 - REBOOT_MS + 1, 0.0), (1_000_000 - REBOOT_MS, 1.0), (300_000, 1.0), (None, 0.0)],
)
def test_a_goodbye_of_days_ago_makes_no_boot_a_clean_one(stop_ends: int | None, unclean: float) -> None:
    """The agent was updated, and said goodbye then; later the machine crashes."""
    boots = [Span(0, 1_000_000, "one"), Span(1_000_000, None, "two")]
    stops = [Span(200_000, stop_ends, "stopped: the agent said goodbye and stopped")]
    assert unclean_boots(boots, stops, np.array([1_000_000])).tolist() == [unclean]


@pytest.mark.parametrize(
    ("changes", "later_ms", "waits"),
    [
        ({}, 0, True),
        ({"seen_ms": NOW - HOLD_MS}, 0, True),
        ({"seen_ms": NOW - HOLD_MS - 1}, 0, False),
        ({"known": False}, 0, False),
        ({"seen_ms": NOW + SOON_MS}, SOON_MS, True),
        ({"seen_ms": NOW + SOON_MS + 1}, SOON_MS + 1, False),
    ],
    ids=["seen now", "not read for a moment", "gone from the page", "not known any more", "two minutes", "longer"],
)
def test_nobody_waits_for_what_is_not_known_any_more_or_for_ever(
    changes: dict[str, Any], later_ms: int, waits: bool
) -> None:
    alarms = Alarms(Rulebook({}))
    alert = replace(fired("engine_unreachable", ("head",), "server", 7), fired_ms=NOW)
    alarms.open = {("engine_unreachable", ("head",)): alert}
    pending = replace(Standing(Phase.PENDING, START_MS, START_MS, seen_ms=NOW), **changes)
    alarms.book.by_rule = {"node_silent": {("a",): pending}}
    assert alarms.awaiting(MEMBERS, NOW + later_ms) == ({7} if waits else set())
