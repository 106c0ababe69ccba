"""Temperatures by hwmon name. hwmon numbers change from boot to boot, so nothing goes by number."""

from __future__ import annotations

import re
from collections.abc import Iterable

from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of, nothing_here
from collectors.node.tree import Tree
from telemetry.catalog import host

HWMON = "/sys/class/hwmon"
INPUT = re.compile(r"temp\d+_input$")
SUFFIX = re.compile(r"_phy\d+$")


def sensor_name(hwmon_name: str) -> str:
    """Label of a chip: mt7925_phy0 → mt7925."""
    return SUFFIX.sub("", hwmon_name)


def parse(readings: Iterable[tuple[str, int | None]]) -> Reading:
    """(hwmon name, thousandths of a degree) → the hottest of each name. Four functions of one NIC are one chip."""
    found, hottest = list(readings), dict[str, int]()
    for name, value in found:
        if value is not None:
            sensor = sensor_name(name)
            hottest[sensor] = max(value, hottest.get(sensor, value))
    reading = Reading()
    for sensor in sorted(hottest):
        reading.add(host.TEMPERATURE, hottest[sensor] / 1000, sensor)
    return known_of(reading, HWMON) if found else nothing_here("no temperature sensor")


def temperatures(tree: Tree) -> Iterable[tuple[str, int | None]]:
    """Every temperature input with its chip's name; None for a sensor that cannot be read just now."""
    for chip in tree.names(HWMON):
        name = tree.line(f"{HWMON}/{chip}/name")
        if name is None:
            continue
        for file in tree.names(f"{HWMON}/{chip}"):
            if INPUT.match(file):
                yield name, tree.number(f"{HWMON}/{chip}/{file}")


@collector("sensors", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        return parse(temperatures(machine.tree))

    return read
