"""What rules ask beside samples: states, boots, ticks missed, how full the store is; and the frames they look at."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from alerts.given import FRESH_BOOT_MS, STATES, STORE_FILL, Span
from pipeline.clock import HubClock
from pipeline.config import Keep, TargetConfig, TargetKind
from pipeline.deployments import EngineId
from pipeline.desk import Desk
from pipeline.fill import of
from pipeline.givens import Givens
from pipeline.lookout import Lookout, ending_at
from pipeline.pulse import Pulse
from pipeline.resume import Left
from pipeline.targets import Target
from storage.records import Room
from telemetry.frame import empty
from telemetry.states import TargetState, Verdict
from tests.alerts.samples import START_MS, frame, of_node

GIB = 1 << 30


def target(name: str, kind: TargetKind = TargetKind.NODE) -> Target:
    clock = HubClock(0.0, 0.0)
    one = TargetConfig(name, "http://127.0.0.1:1", kind)
    return Target(one, clock, time.monotonic, 1.0, Left(), Desk(), Pulse(time.monotonic))


def value(given: Givens, metric: str, owner: str, tick: int, *targets: Target) -> float:
    return float(given.at(tick, targets)[metric][owner][0])


def test_a_target_that_was_never_asked_has_no_state() -> None:
    given, node = Givens(1000), target("a")
    assert math.isnan(value(given, "target_state", "a", 0, node))
    node.health.failed(Verdict(TargetState.REFUSED, "nobody"), 5)
    assert STATES[int(value(given, "target_state", "a", 5, node))] == "refused"
    node.health.ok(Verdict(TargetState.OK, ""), 9)
    assert value(given, "target_state", "a", 9, node) == 0.0


def test_a_boot_without_goodbye_is_told_for_ten_minutes() -> None:
    given, node = Givens(1000), target("a")
    given.boot("a", "one", 0)
    node.health.ok(Verdict(TargetState.OK, ""), 5)
    assert value(given, "unclean_boot", "a", 10, node) == 0.0, "the first is no boot that was seen"
    given.boot("a", "one", 20)
    given.boot("a", "two", 1000)
    assert value(given, "unclean_boot", "a", 1000, node) == 1.0
    assert value(given, "unclean_boot", "a", 999 + FRESH_BOOT_MS, node) == 1.0
    assert value(given, "unclean_boot", "a", 1000 + FRESH_BOOT_MS, node) == 0.0


def test_of_a_boot_that_no_collector_watched_nothing_is_known() -> None:
    """The hub was off, or away, together with its nodes."""
    given, node = Givens(1000), target("a")
    given.boot("a", "one", 0)  # as an earlier collector left it
    node.health.failed(Verdict(TargetState.REFUSED, "nobody"), 900)
    given.at(900, [node])
    node.health.ok(Verdict(TargetState.OK, ""), 990)
    given.boot("a", "two", 1000)
    assert math.isnan(value(given, "unclean_boot", "a", 1000, node))
    assert value(given, "unclean_boot", "a", 1000 + FRESH_BOOT_MS, node) == 0.0
    given.boot("a", "three", 9000)
    assert value(given, "unclean_boot", "a", 9000, node) == 1.0, "from then on it is watched"
    again = Givens(1000)
    for boot_id, at_ms in (("one", 0), ("two", 1000)):
        again.boot("a", boot_id, at_ms)
    assert math.isnan(value(again, "unclean_boot", "a", 2000, target("a")))
    again.saw("a")
    assert value(again, "unclean_boot", "a", 2000, target("a")) == 1.0, "an earlier collector had told of it"


def test_a_boot_after_a_goodbye_is_a_planned_one() -> None:
    given, node = Givens(1000), target("a")
    given.boot("a", "one", 0)
    node.health.failed(Verdict(TargetState.STOPPED, "goodbye"), 500)
    given.at(500, [node])
    node.health.ok(Verdict(TargetState.OK, ""), 900)
    given.boot("a", "two", 950)
    assert value(given, "unclean_boot", "a", 1000, node) == 0.0
    again = Givens(1000)
    again.boot("a", "one", 0)
    again.stopped("a", Span(500, 900, "stopped"))
    again.boot("a", "two", 950)
    assert value(again, "unclean_boot", "a", 1000, target("a")) == 0.0, "so it is after a restart"


def test_ticks_that_were_left_out() -> None:
    given = Givens(30_000)  # ten ticks in five minutes, two in the fewest of which a share is told
    assert math.isnan(value(given, "ticks_missed_ratio", "cluster", 0))
    assert value(given, "ticks_missed_ratio", "cluster", 0) == 0.0
    given.skipped(0)
    for _ in range(2):
        given.at(0, [])
    given.skipped(1)
    assert value(given, "ticks_missed_ratio", "cluster", 0) == pytest.approx(1 / 6)
    for _ in range(10):
        given.at(0, [])
    assert value(given, "ticks_missed_ratio", "cluster", 0) == 0.0


def test_what_jobs_tell_is_given_until_it_is_taken_back() -> None:
    given = Givens(1000)
    given.tell(STORE_FILL.name, 0.7)
    assert value(given, STORE_FILL.name, "cluster", 0) == 0.7
    given.tell(STORE_FILL.name, None)
    assert given.at(0, [])[STORE_FILL.name] == {}
    given.tell("baseline_speed_ratio", 1.1, "k3")
    assert value(given, "baseline_speed_ratio", "deployment/k3", 0) == 1.1


@pytest.mark.parametrize(
    ("room", "keep", "expected"),
    [
        (Room(6 * GIB, 1 * GIB, None, None), Keep(size_limit=10 * GIB), 0.5),
        (Room(6 * GIB, 0, 100 * GIB, 14 * GIB), Keep(disk_reserve=8 * GIB), 0.5),
        (Room(6 * GIB, 0, 100 * GIB, 14 * GIB), Keep(size_limit=8 * GIB, disk_reserve=8 * GIB), 0.75),
        (Room(6 * GIB, None, None, None), Keep(), None),
    ],
)
def test_how_full_the_store_is(room: Room, keep: Keep, expected: float | None) -> None:
    assert of(room, keep) == expected


def test_a_frame_ends_with_the_tick_also_where_nothing_came() -> None:
    made = frame({of_node("a", "gpu_power_watts", gpu="0"): [1.0, 2.0]})
    assert ending_at(made, START_MS + 1000) is made
    longer = ending_at(made, START_MS + 2000)
    assert longer.ticks.tolist() == [START_MS, START_MS + 1000, START_MS + 2000]
    assert np.isnan(longer.values[0, -1])
    assert np.isnan(longer.at_ms[0, -1])
    assert ending_at(empty(), 5).ticks.tolist() == [5]


def test_members_stay_while_an_engine_is_silent_and_change_when_it_says_so() -> None:
    lookout = Lookout([target("a"), target("head", TargetKind.ENGINE)], 1000)
    one = EngineId("head", "0", "m")
    first = lookout.members({"k3": [one]})
    assert (first.engines, first.nodes, first.servers) == ({("head", "0", "m"): "k3"}, {"a": "k3"}, {"head": "k3"})
    assert lookout.members({}).engines == first.engines
    other = lookout.members({"glm": [replace(one, model="glm")]})
    assert (other.engines, other.nodes) == ({("head", "0", "glm"): "glm"}, {"a": "glm"})
    lookout.fact("head2", "deployment.x", "second", 0)
    assert lookout.members({}).nodes == {}, "of two deployments nobody says which nodes serve which"
