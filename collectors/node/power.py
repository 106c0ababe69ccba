"""Power and energy of the whole machine, where the spbm driver measures them; without it unknown, never estimated."""

from __future__ import annotations

import re
from typing import NamedTuple

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, nothing_here
from collectors.node.sensors import HWMON
from collectors.node.tree import Tree
from telemetry.catalog import host
from telemetry.model import Metric

CHIP = "spbm"
MICRO = 1e6
LABEL = re.compile(r"(power|energy)(\d+)_label$")
INPUTS = {"power": host.SYSTEM_POWER, "energy": host.SYSTEM_ENERGY}
KEY = "power channels"


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


@collector("power")
def build(machine: Machine) -> Read:
    tree = machine.tree

    def read(now: Round) -> Reading:
        reading = Reading()
        found = machine.kept(KEY, channels, now.monotonic_s)
        for channel in found:
            value = tree.number(channel.path)
            if value is None:
                machine.forget(KEY)
                continue
            reading.add(channel.metric, parse(channel, value), *((channel.rail,) if channel.metric.by else ()))
        return reading if found else nothing_here("no spbm driver: the power of the whole machine is unknown")

    return read
