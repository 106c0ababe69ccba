"""Temperatures by hwmon name. hwmon numbers change from boot to boot, so nothing goes by number."""

from __future__ import annotations

import re
from collections.abc import Iterable

from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import Read, Reading, Round, collector, nothing_here
from collectors.node.tree import Tree
from telemetry.catalog import host

HWMON = "/sys/class/hwmon"
INPUT = re.compile(r"temp\d+_input$")
SUFFIX = re.compile(r"_phy\d+$")


def sensor_name(hwmon_name: str) -> str:
    """Label of a chip: mt7925_phy0 → mt7925."""
    return SUFFIX.sub("", hwmon_name)


def parse(readings: Iterable[tuple[str, int]]) -> Reading:
    """(hwmon name, thousandths of a degree) → the hottest of each name. Four functions of one NIC are one chip."""
    hottest: dict[str, int] = {}
    for name, value in readings:
        sensor = sensor_name(name)
        hottest[sensor] = max(value, hottest.get(sensor, value))
    reading = Reading()
    for sensor in sorted(hottest):
        reading.add(host.TEMPERATURE, hottest[sensor] / 1000, sensor)
    return reading if reading.samples else nothing_here("no temperature sensor")


def temperatures(tree: Tree) -> Iterable[tuple[str, int]]:
    """Every readable temperature input with its chip's name; a sensor that cannot be read just now is left out."""
    for chip in tree.names(HWMON):
        name = tree.line(f"{HWMON}/{chip}/name")
        if name is None:
            continue
        for file in tree.names(f"{HWMON}/{chip}"):
            if INPUT.match(file):
                value = tree.number(f"{HWMON}/{chip}/{file}")
                if value is not None:
                    yield name, value


@collector("sensors", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        return parse(temperatures(machine.tree))

    return read
