"""Pressure stall information: time in which tasks waited for a resource."""

from __future__ import annotations

import errno

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, nothing_here
from telemetry.catalog import memory

RESOURCES = ("cpu", "memory", "io")
KINDS = {"some": memory.PRESSURE_WAITING, "full": memory.PRESSURE_STALLED}
ABSENT = (errno.ENOENT, errno.EOPNOTSUPP)
"""How a kernel built or started without PSI answers."""


def parse(content: str) -> dict[str, float]:
    """ "some" and "full" → seconds in total."""
    totals = {}
    for line in content.splitlines():
        kind, total = line.partition(" ")[0], line.rpartition("total=")[2]
        if kind in KINDS and total.isdigit():
            totals[kind] = int(total) / 1e6
    return totals


@collector("pressure")
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        reading = Reading()
        for resource in RESOURCES:
            try:
                totals = parse(machine.tree.text(f"/proc/pressure/{resource}"))
            except OSError as error:
                if error.errno not in ABSENT:
                    raise
                continue
            for kind, seconds in totals.items():
                reading.add(KINDS[kind], seconds, resource)
        return reading if reading.samples else nothing_here("this kernel keeps no pressure stall information")

    return read
