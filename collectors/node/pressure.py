"""Pressure stall information: time in which tasks waited for a resource."""

from __future__ import annotations

import errno

from collectors.node.figures import count
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of, nothing_here
from telemetry.catalog import memory

DIRECTORY = "/proc/pressure"
RESOURCES = ("cpu", "memory", "io")
KINDS = {"some": memory.PRESSURE_WAITING, "full": memory.PRESSURE_STALLED}
ABSENT = (errno.ENOENT, errno.EOPNOTSUPP)
"""How a kernel built or started without PSI answers."""


def parse(content: str) -> dict[str, float]:
    """ "some" and "full" → seconds in total; a line without a number has none."""
    totals = {}
    for line in content.splitlines():
        kind, total = line.partition(" ")[0], count(line.rpartition("total=")[2])
        if kind in KINDS and total is not None:
            totals[kind] = total / 1e6
    return totals


@collector("pressure")
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        reading, kept = Reading(), False
        for resource in RESOURCES:
            try:
                totals = parse(machine.tree.text(f"{DIRECTORY}/{resource}"))
            except OSError as error:
                if error.errno not in ABSENT:
                    raise
                continue
            kept = True
            for kind, seconds in totals.items():
                reading.add(KINDS[kind], seconds, resource)
        return known_of(reading, DIRECTORY) if kept else nothing_here("this kernel keeps no pressure stall information")

    return read
