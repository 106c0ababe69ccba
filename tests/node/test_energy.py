"""The firmware's 32 bits of millijoules as a total that does not fall."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from collectors.node.power import WRAP, Unwrapped
from collectors.node.rounds import Rounds
from telemetry.counters import judge
from tests.node.node_machine import Clock, Node, machine, values

MakeNode = Callable[..., Node]
JOULE = 1_000_000
ENERGY = "/sys/class/hwmon/hwmon7/energy{}_{}"


@pytest.mark.parametrize(
    ("joules", "expected"),
    [
        ((5, 5, 7), (0, 0, 2)),
        ((4294900, 32.704, 40), (0, 100, 107.296)),
        ((4294900, 32.704, 4294900, 32.704), (0, 100, 4294967.296, 4295067.296)),
        ((4294967.295, 0), (0, 0.001)),
        ((4294967.296, 0), (0, 0)),
        ((2147483.649, 0.001), (0, 0)),
        ((2147483.650, 0.001), (0, 2147483.647)),
        ((1000, 10, 30), (0, 0, 20)),
        ((5000000, 100, 300), (0, 0, 200)),
        ((4294967.297, 0), (0, 0)),
    ],
    ids=[
        "no wrap",
        "one wrap",
        "two wraps",
        "one millijoule before the wrap",
        "at the wrap",
        "a fall by half is no wrap",
        "a fall by more than half is one",
        "began anew",
        "never had 32 bits",
        "just above 32 bits",
    ],
)
def test_totals(joules: tuple[float, ...], expected: tuple[float, ...]) -> None:
    rail = Unwrapped()
    assert [rail.total("pkg", round(value * JOULE)) for value in joules] == [round(value * JOULE) for value in expected]


def test_each_rail_has_its_own_total() -> None:
    rails = Unwrapped()
    assert WRAP == 4_294_967_296_000
    assert [rails.total("a", WRAP - 1000), rails.total("b", 5), rails.total("a", 0), rails.total("b", 6)] == [
        0,
        0,
        1000,
        1,
    ]


def test_the_page_goes_on_over_a_wrap_and_a_gap(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rail = next(number for number in range(1, 5) if tree.get(ENERGY.format(number, "label")).strip() == "pkg")
    rounds, found = Rounds(machine(tree, clock)), []
    for text in ("4294900000000", "x", "32704000", "132704000"):
        tree.put(ENERGY.format(rail, "input"), text + "\n")
        found.append(values(rounds.snapshot().page).get('system_energy_joules_total{rail="pkg"}'))
        clock.now += 1.0
    assert found == [0.0, None, 100.0, 200.0]
    fresh = values(Rounds(machine(tree, clock)).snapshot().page)
    assert fresh['system_energy_joules_total{rail="pkg"}'] == 0.0, "what was before its start it never counts"


def test_a_new_agent_after_a_wrap_adds_only_what_it_saw(node: MakeNode) -> None:
    """Read as the hub reads it: 100 J over the wrap, and 7 J with the new agent; the driver's 4 MJ are not gained."""
    tree, clock = node(), Clock()
    rail = next(number for number in range(1, 5) if tree.get(ENERGY.format(number, "label")).strip() == "pkg")

    def seen(*driver: str) -> list[float]:
        rounds, found = Rounds(machine(tree, clock)), []
        for text in driver:
            tree.put(ENERGY.format(rail, "input"), text + "\n")
            found.append(values(rounds.snapshot().page)['system_energy_joules_total{rail="pkg"}'])
            clock.now += 1.0
        return found

    numbers = [*seen("4294900000000", "32704000"), *seen("4000000000000", "4000007000000")]
    steps = [judge(before, now, bits=64, restarted=False, from_zero=False)[0] for before, now in pairwise(numbers)]
    assert steps == [100.0, 0.0, 7.0]


def test_power_may_fall(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rounds, path = Rounds(machine(tree, clock)), "/sys/class/hwmon/hwmon7/power1_input"
    found = []
    for text in ("4294900000000", "5000000"):
        tree.put(path, text + "\n")
        found.append(values(rounds.snapshot().page)['system_power_watts{rail="sys_total"}'])
        clock.now += 1.0
    assert found == [4294900.0, 5.0]
