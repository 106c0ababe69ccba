"""Power and energy of the whole machine, where the spbm driver measures them; without it unknown, never estimated."""

from __future__ import annotations

import re
from typing import NamedTuple

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of, nothing_here
from collectors.node.sensors import HWMON
from collectors.node.tree import Tree
from telemetry.catalog import host
from telemetry.model import Metric

CHIP = "spbm"
MICRO = 1e6
LABEL = re.compile(r"(power|energy)(\d+)_label$")
INPUTS = {"power": host.SYSTEM_POWER, "energy": host.SYSTEM_ENERGY}
KEY = "power channels"
WRAP = 2**32 * 1000
"""Microjoules at which the firmware's 32-bit millijoules begin again: 4,294,967.296 J, five hours at 240 W."""


class Channel(NamedTuple):
    """One file of the driver: where it is, what it measures, on which rail."""

    path: str
    metric: Metric
    rail: str


def channels(tree: Tree) -> tuple[Channel, ...]:
    """The driver's channels by their labels; firmware hides some, so the numbering may have holes."""
    found = []
    for chip in tree.names(HWMON):
        if tree.line(f"{HWMON}/{chip}/name") != CHIP:
            continue
        for file in tree.names(f"{HWMON}/{chip}"):
            match = LABEL.match(file)
            rail = tree.line(f"{HWMON}/{chip}/{file}") if match else None
            if match and rail:
                base = f"{HWMON}/{chip}/{match[1]}{match[2]}"
                found.append(Channel(f"{base}_input", INPUTS[match[1]], rail))
                if tree.exists(f"{base}_cap"):
                    found.append(Channel(f"{base}_cap", host.SYSTEM_POWER_LIMIT, rail))
        if tree.exists(f"{HWMON}/{chip}/prochot"):
            found.append(Channel(f"{HWMON}/{chip}/prochot", host.PROCESSOR_HOT, ""))
    return tuple(found)


def parse(channel: Channel, value: int) -> float:
    """Microwatts and microjoules → watts and joules; the hot flag as it is."""
    return float(value) if channel.metric is host.PROCESSOR_HOT else value / MICRO


class Unwrapped:
    """A running total for each rail, 0 at the agent's first reading; it never falls. All in microjoules.

    What the driver had counted by then is not in it: after an agent that had seen a wrap, it would be a fall to a large
    number, all of which would count as gained.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}

    def total(self, rail: str, value: int) -> int:
        """The total with what the firmware counted since the value before; 0 at the first.

        A fall by more than half of the 32 bits is a wrap. Any other fall is a counter that began anew, as is every
        fall from a value that does not fit into 32 bits: what it had counted by then is not known, and not added.
        """
        before, total = self._last.get(rail, (value, 0))
        risen = value - before
        if risen < -WRAP // 2 and before <= WRAP:
            risen += WRAP
        total += max(0, risen)
        self._last[rail] = value, total
        return total


@collector("power")
def build(machine: Machine) -> Read:
    tree, energy = machine.tree, Unwrapped()

    def read(now: Round) -> Reading:
        reading = Reading()
        found = machine.kept(KEY, channels, now.monotonic_s)
        for channel in found:
            value = tree.number(channel.path)
            if value is None:
                machine.forget(KEY)
                continue
            if channel.metric is host.SYSTEM_ENERGY:
                value = energy.total(channel.rail, value)
            reading.add(channel.metric, parse(channel, value), *((channel.rail,) if channel.metric.by else ()))
        return (
            known_of(reading, HWMON)
            if found
            else nothing_here("no spbm driver: the power of the whole machine is unknown")
        )

    return read
