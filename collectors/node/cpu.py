"""Processors: busy time, load, uptime."""

from __future__ import annotations

from collectors.node.figures import count, decimal
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of
from telemetry.catalog import host

FILES = ("/proc/stat", "/proc/loadavg", "/proc/uptime")
IDLE_COLUMNS = (3, 4)
"""idle and iowait of /proc/stat's `cpu` line."""
COLUMNS = 8
"""user, nice, system, idle, iowait, irq, softirq, steal; what follows (guest) is counted in user already."""


def busy_ticks(stat: bytes) -> int | None:
    """Clock ticks that were neither idle nor waiting for I/O, over all cores; None unless all of them are numbers."""
    words = stat.partition(b"\n")[0].split()
    if len(words) <= min(IDLE_COLUMNS) or words[0] != b"cpu":
        return None
    ticks = [count(word) for column, word in enumerate(words[1 : COLUMNS + 1]) if column not in IDLE_COLUMNS]
    known = [value for value in ticks if value is not None]
    return sum(known) if len(known) == len(ticks) else None


def first(content: bytes) -> float | None:
    """The number with which a file begins."""
    return decimal(content.partition(b" ")[0])


def cores(stat: bytes) -> int | None:
    """Processors online: the `cpuN` lines."""
    return stat.count(b"\ncpu") or None


def parse(stat: bytes, load: bytes, uptime: bytes, ticks_per_second: int) -> Reading:
    """Contents of /proc/stat, /proc/loadavg and /proc/uptime."""
    reading, busy = Reading(), busy_ticks(stat)
    reading.add(host.CPU_BUSY, None if busy is None else busy / ticks_per_second)
    reading.add(host.CPU_CORES, cores(stat))
    reading.add(host.LOAD, first(load))
    reading.add(host.UPTIME, first(uptime))
    return known_of(reading, ", ".join(FILES))


@collector("cpu")
def build(machine: Machine) -> Read:
    tree = machine.tree

    def read(_now: Round) -> Reading:
        stat, load, uptime = (tree.bytes(path) for path in FILES)
        return parse(stat, load, uptime, machine.ticks_per_second)

    return read
