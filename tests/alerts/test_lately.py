"""What follows from an alert that ended a moment ago."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alerts.given import STATES
from alerts.places import Members
from alerts.record import Alert
from alerts.rulebook import Rulebook
from alerts.view import View
from pipeline.alarms import OFF, Alarms
from pipeline.lately import LATELY_MS, Lately
from telemetry.model import Scope
from tests.alerts.samples import NAN, START_MS, frame, of_node

MEMBERS = Members(
    {("head", "0", "K3"): "k3"}, {"a": "k3"}, {"a": Scope.NODE, "head": Scope.ENGINE}, {"head": "k3"}
)  # fmt: skip
RULES = Rulebook({}).rules
OK, GONE = float(STATES.index("ok")), float(STATES.index("unreachable"))
SILENT = Alert(
    1, "node_silent", "Node silent", "node", ("a",), "critical", "k3", START_MS - 90_000, START_MS - 60_000, "silent",
    ended_ms=START_MS, ended="it is well again",
)  # fmt: skip
ENGINE = Alert(
    2, "engine_unreachable", "Engine unreachable", "server", ("head",), "critical", "k3", START_MS, START_MS, "gone"
)  # fmt: skip
WHERE = ("engine_unreachable", ("head",))


def led(cause: Alert = SILENT, then: Alert = ENGINE, after_ms: int = 0, others: tuple[Alert, ...] = ()) -> object:
    fires = {(one.rule, one.key): one for one in (then, *others)}
    return Lately([cause]).led_to(fires, RULES, MEMBERS, {}, START_MS + after_ms)


def test_what_begins_within_a_minute_of_an_end_follows_from_it() -> None:
    assert led() == {WHERE: 1}
    assert led(then=replace(ENGINE, began_ms=START_MS + 60_000), after_ms=80_000) == {WHERE: 1}
    assert led(then=replace(ENGINE, began_ms=START_MS + 60_001), after_ms=80_000) == {}
    assert led(then=replace(ENGINE, began_ms=START_MS - 90_000 - 120_000)) == {WHERE: 1}, "not all is seen at once"
    assert led(then=replace(ENGINE, began_ms=START_MS - 90_000 - 120_001)) == {}, "it was wrong well before"


@pytest.mark.parametrize(("after_ms", "expected"), [(-1, {}), (LATELY_MS, {WHERE: 1}), (LATELY_MS + 1, {})])
def test_what_ended_long_ago_or_by_a_clock_that_had_leapt_led_to_nothing(after_ms: int, expected: object) -> None:
    assert led(after_ms=after_ms) == expected


def test_nothing_is_said_of_what_is_explained_already() -> None:
    boot = replace(SILENT, id=3, rule="unclean_boot", ended_ms=None)
    assert led(others=(boot,)) == {("unclean_boot", ("a",)): 1}, "what fires comes first"
    assert led(then=replace(ENGINE, cause=9)) == {}
    assert led(others=(replace(SILENT, ended_ms=None),)) == {}, "it fires again"
    assert led(cause=replace(SILENT, key=("x",))) == {}, "a node of nobody's"


def test_the_newest_end_of_several_counts() -> None:
    ended = [replace(SILENT, id=4, ended_ms=START_MS + 9), replace(SILENT, ended_ms=START_MS)]
    assert Lately(ended).led_to({WHERE: ENGINE}, RULES, MEMBERS, {}, START_MS + 10) == {WHERE: 4}


def story(alarms: Alarms, node: str, engine: str, booted_s: int = 10**6) -> list[Alert]:
    """All alerts as they stand at the end. A sign a second: # it answers, . it does not. booted_s: from when on the
    node is of another boot."""
    found: dict[int, Alert] = {}
    for second, signs in enumerate(zip(node, engine, strict=True)):
        states = {name: np.array([OK if one == "#" else GONE]) for name, one in zip(("a", "head"), signs, strict=True)}
        given = {"target_state": states, "unclean_boot": {"a": np.array([float(second >= booted_s)])}}
        at = frame({of_node("a", "uptime_seconds"): [NAN]})
        view = View(replace(at, ticks=at.ticks + second * 1000), 0, MEMBERS, given=given)
        found |= alarms.tick(START_MS + second * 1000, view, {}).alerts
    return list(found.values())


def causes_of(alerts: list[Alert]) -> dict[str, str | None]:
    names = {alert.id: alert.rule for alert in alerts}
    return {alert.rule: None if alert.cause is None else names[alert.cause] for alert in alerts}


def test_a_node_that_is_gone_for_a_minute_and_boots_anew_is_one_cause() -> None:
    """The engine is known to be gone only when the silence is over."""
    alerts = story(Alarms(Rulebook({})), "##" + "." * 60 + "#" * 60, "#" * 80 + "." * 42, booted_s=62)
    assert [(one.rule, (one.fired_ms - START_MS) // 1000) for one in alerts] == [
        ("node_silent", 32),
        ("unclean_boot", 62),
        ("engine_unreachable", 100),
    ]
    assert alerts[0].ended_ms == START_MS + 72_000
    assert causes_of(alerts) == {
        "node_silent": None,
        "unclean_boot": "node_silent",
        "engine_unreachable": "unclean_boot",
    }


def test_a_node_that_was_cut_off_for_a_while_is_one_cause_too() -> None:
    """It did not boot anew: what its engines do a moment later follows from the silence, which is over."""
    node, engine = "##" + "." * 40 + "#" * 60, "#" * 60 + "." * 42
    assert causes_of(story(Alarms(Rulebook({})), node, engine)) == {
        "node_silent": None,
        "engine_unreachable": "node_silent",
    }


def test_what_was_switched_off_explains_nothing() -> None:
    assert led(cause=replace(SILENT, ended=OFF)) == {}
