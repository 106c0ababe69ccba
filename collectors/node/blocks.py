"""Free contiguous blocks, from /proc/buddyinfo: few large ones precede a fragmentation wedge."""

from __future__ import annotations

from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import Read, Reading, Round, collector, nothing_here
from telemetry.catalog import memory

MIB = 1024 * 1024
SIZES = (("4MiB", 4 * MIB), ("16MiB", 16 * MIB))


def free_blocks(content: str, page_bytes: int, at_least: int) -> int | None:
    """Free blocks of at least so many bytes in the zones Normal; None without such a zone or such orders.

    A column is an order: blocks of 2^order pages. How many columns there are varies with the kernel.
    """
    total, seen = 0, False
    for line in content.splitlines():
        words = line.split()
        if len(words) < 5 or words[3] != "Normal":
            continue
        counts = [int(word) for word in words[4:]]
        large = [count for order, count in enumerate(counts) if page_bytes << order >= at_least]
        seen = seen or bool(large)
        total += sum(large)
    return total if seen else None


def parse(content: str, page_bytes: int) -> Reading:
    """Free blocks of each size, over all memory nodes."""
    reading = Reading()
    for label, size in SIZES:
        reading.add(memory.FREE_BLOCKS, free_blocks(content, page_bytes, size), label)
    return reading if reading.samples else nothing_here("no zone Normal with blocks of 4 MiB")


@collector("blocks", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        return parse(machine.tree.text("/proc/buddyinfo"), machine.page_bytes)

    return read
