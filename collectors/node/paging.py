"""Swapping, compaction and OOM kills, from /proc/vmstat."""

from __future__ import annotations

from collectors.node.figures import count
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of
from telemetry.catalog import memory

PAGES = ((memory.SWAP_IN, "pswpin"), (memory.SWAP_OUT, "pswpout"))
COUNTS = (
    (memory.COMPACTION_STALLS, "compact_stall"),
    (memory.COMPACTION_FAILURES, "compact_fail"),
    (memory.OOM_KILLS, "oom_kill"),
)
WANTED = frozenset(name.encode() for _, name in (*PAGES, *COUNTS))
STALL_PREFIX = b"allocstall_"
PATH = "/proc/vmstat"


def parse_vmstat(content: bytes) -> dict[str, int | None]:
    """The wanted counters, None where there is no number; `allocstall` is the sum over the zones if all are numbers."""
    found: dict[str, int | None] = {}
    for line in content.splitlines():
        name, _, value = line.partition(b" ")
        if name in WANTED:
            found[name.decode()] = count(value)
        elif name.startswith(STALL_PREFIX):
            before, stalls = found.get("allocstall", 0), count(value)
            found["allocstall"] = None if before is None or stalls is None else before + stalls
    return found


def parse(content: bytes, page_bytes: int) -> Reading:
    """Swap traffic in bytes, the rest as counts."""
    found, reading = parse_vmstat(content), Reading()
    for metric, name in PAGES:
        pages = found.get(name)
        reading.add(metric, None if pages is None else pages * page_bytes)
    for metric, name in COUNTS:
        reading.add(metric, found.get(name))
    reading.add(memory.ALLOCATION_STALLS, found.get("allocstall"))
    return known_of(reading, PATH)


@collector("paging")
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        return parse(machine.tree.bytes(PATH), machine.page_bytes)

    return read
