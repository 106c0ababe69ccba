"""Free contiguous blocks, from /proc/buddyinfo: few large ones precede a fragmentation wedge."""

from __future__ import annotations

from collectors.node.figures import count
from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of, nothing_here
from telemetry.catalog import memory

MIB = 1024 * 1024
PATH = "/proc/buddyinfo"
SIZES = (("4MiB", 4 * MIB), ("16MiB", 16 * MIB))


def _columns(content: str, page_bytes: int, at_least: int) -> list[str]:
    """What the zones Normal say of blocks of at least so many bytes.

    A column is an order: blocks of 2^order pages. How many columns there are varies with the kernel.
    """
    zones = (words[4:] for words in map(str.split, content.splitlines()) if words[3:4] == ["Normal"])
    return [word for zone in zones for order, word in enumerate(zone) if page_bytes << order >= at_least]


def free_blocks(content: str, page_bytes: int, at_least: int) -> int | None:
    """Free blocks of at least so many bytes in the zones Normal; None without such orders, or when one is no number."""
    words = _columns(content, page_bytes, at_least)
    known = [found for found in map(count, words) if found is not None]
    return sum(known) if words and len(known) == len(words) else None


def parse(content: str, page_bytes: int) -> Reading:
    """Free blocks of each size, over all memory nodes."""
    reading = Reading()
    for label, size in SIZES:
        reading.add(memory.FREE_BLOCKS, free_blocks(content, page_bytes, size), label)
    if not _columns(content, page_bytes, SIZES[0][1]):
        return nothing_here("no zone Normal with blocks of 4 MiB")
    return known_of(reading, PATH)


@collector("blocks", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        return parse(machine.tree.text(PATH), machine.page_bytes)

    return read
