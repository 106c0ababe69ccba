"""Swapping, compaction and OOM kills, from /proc/vmstat."""

from __future__ import annotations

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector
from telemetry.catalog import memory

PAGES = ((memory.SWAP_IN, "pswpin"), (memory.SWAP_OUT, "pswpout"))
COUNTS = (
    (memory.COMPACTION_STALLS, "compact_stall"),
    (memory.COMPACTION_FAILURES, "compact_fail"),
    (memory.OOM_KILLS, "oom_kill"),
)
WANTED = frozenset(name.encode() for _, name in (*PAGES, *COUNTS))
STALL_PREFIX = b"allocstall_"


def parse_vmstat(content: bytes) -> dict[str, int]:
    """The wanted counters; `allocstall` is the sum over the zones."""
    found: dict[str, int] = {}
    for line in content.splitlines():
        name, _, value = line.partition(b" ")
        if name in WANTED:
            found[name.decode()] = int(value)
        elif name.startswith(STALL_PREFIX):
            found["allocstall"] = found.get("allocstall", 0) + int(value)
    return found


def parse(content: bytes, page_bytes: int) -> Reading:
    """Swap traffic in bytes, the rest as counts."""
    found, reading = parse_vmstat(content), Reading()
    for metric, name in PAGES:
        reading.add(metric, found[name] * page_bytes if name in found else None)
    for metric, name in COUNTS:
        reading.add(metric, found.get(name))
    reading.add(memory.ALLOCATION_STALLS, found.get("allocstall"))
    return reading


@collector("paging")
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        return parse(machine.tree.bytes("/proc/vmstat"), machine.page_bytes)

    return read
