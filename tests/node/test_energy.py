"""The firmware's 32 bits of millijoules as a total that does not fall."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from collectors.node.power import WRAP, Unwrapped
from collectors.node.rounds import Rounds
from tests.node.node_machine import Clock, Node, machine, values

MakeNode = Callable[..., Node]
JOULE = 1_000_000
ENERGY = "/sys/class/hwmon/hwmon7/energy{}_{}"


@pytest.mark.parametrize(
    ("joules", "expected"),
    [
        ((5, 5, 7), (5, 5, 7)),
        ((4294900, 32.704, 40), (4294900, 4295000, 4295007.296)),
        ((4294900, 32.704, 4294900, 32.704), (4294900, 4295000, 8589867.296, 8589967.296)),
        ((4294967.295, 0), (4294967.295, 4294967.296)),
        ((4294967.296, 0), (4294967.296, 4294967.296)),
        ((2147483.649, 0.001), (2147483.649, 2147483.649)),
        ((2147483.650, 0.001), (2147483.650, 4294967.297)),
        ((1000, 10, 30), (1000, 1000, 1020)),
        ((5000000, 100, 300), (5000000, 5000000, 5000200)),
        ((4294967.297, 0), (4294967.297, 4294967.297)),
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
        WRAP - 1000,
        5,
        WRAP,
        6,
    ]


def test_the_page_goes_on_over_a_wrap_and_a_gap(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rail = next(number for number in range(1, 5) if tree.get(ENERGY.format(number, "label")).strip() == "pkg")
    rounds, found = Rounds(machine(tree, clock)), []
    for text in ("4294900000000", "x", "32704000", "132704000"):
        tree.put(ENERGY.format(rail, "input"), text + "\n")
        found.append(values(rounds.snapshot().page).get('system_energy_joules_total{rail="pkg"}'))
        clock.now += 1.0
    assert found == [4294900.0, None, 4295000.0, 4295100.0]
    fresh = values(Rounds(machine(tree, clock)).snapshot().page)
    assert fresh['system_energy_joules_total{rail="pkg"}'] == 132.704, "a new agent begins with the driver's value"


def test_power_may_fall(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rounds, path = Rounds(machine(tree, clock)), "/sys/class/hwmon/hwmon7/power1_input"
    found = []
    for text in ("4294900000000", "5000000"):
        tree.put(path, text + "\n")
        found.append(values(rounds.snapshot().page)['system_power_watts{rail="sys_total"}'])
        clock.now += 1.0
    assert found == [4294900.0, 5.0]
