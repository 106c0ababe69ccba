"""Processors: busy time, load, uptime."""

from __future__ import annotations

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector
from telemetry.catalog import host

IDLE_COLUMNS = (3, 4)
"""idle and iowait of /proc/stat's `cpu` line."""
COLUMNS = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; what follows (guest) is counted in user already."""


def busy_ticks(stat: bytes) -> int | None:
    """Clock ticks that were neither idle nor waiting for I/O, over all cores."""
    words = stat.partition(b"\n")[0].split()
    if not words or words[0] != b"cpu":
        return None
    ticks = [int(word) for word in words[1 : COLUMNS + 1]]
    return sum(value for column, value in enumerate(ticks) if column not in IDLE_COLUMNS)


def cores(stat: bytes) -> int | None:
    """Processors online: the `cpuN` lines."""
    return stat.count(b"\ncpu") or None


def parse(stat: bytes, load: bytes, uptime: bytes, ticks_per_second: int) -> Reading:
    """Contents of /proc/stat, /proc/loadavg and /proc/uptime."""
    reading, busy = Reading(), busy_ticks(stat)
    reading.add(host.CPU_BUSY, None if busy is None else busy / ticks_per_second)
    reading.add(host.CPU_CORES, cores(stat))
    reading.add(host.LOAD, float(load.split()[0]))
    reading.add(host.UPTIME, float(uptime.split()[0]))
    return reading


@collector("cpu")
def build(machine: Machine) -> Read:
    tree = machine.tree

    def read(_now: Round) -> Reading:
        files = (tree.bytes("/proc/stat"), tree.bytes("/proc/loadavg"), tree.bytes("/proc/uptime"))
        return parse(*files, machine.ticks_per_second)

    return read
