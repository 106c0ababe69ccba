"""Memory of the node, from /proc/meminfo. On GB10 the GPU and the CPU share it."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.node.figures import count
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of
from telemetry.catalog import memory

PATH = "/proc/meminfo"
KIB = 1024
REQUIRED = ("MemTotal", "MemFree", "Buffers", "Cached", "AnonPages", "Slab")
OPTIONAL = ("SwapCached", "KernelStack", "PageTables", "SecPageTables", "Percpu", "Hugetlb")
"""What /proc/meminfo explains of the total. A kernel that does not name an optional one does not account for it."""
KERNEL_OPTIONAL = ("KernelStack", "PageTables", "SecPageTables", "Percpu")
PLAIN = (
    (memory.MEMORY_TOTAL, "MemTotal"),
    (memory.MEMORY_AVAILABLE, "MemAvailable"),
    (memory.MEMORY_FREE, "MemFree"),
    (memory.MEMORY_SHMEM, "Shmem"),
    (memory.MEMORY_ANONYMOUS, "AnonPages"),
    (memory.SWAP_TOTAL, "SwapTotal"),
    (memory.SWAP_FREE, "SwapFree"),
)
Fields = Mapping[str, int | None]
"""None: the kernel names the field, but what it says is no number; a sum with it is unknown."""


def parse_meminfo(content: bytes) -> dict[str, int | None]:
    """Field → bytes, or → count for the HugePages_ fields, which have no unit; → None where that is no number."""
    fields = {}
    for line in content.splitlines():
        name, _, rest = line.partition(b":")
        words = rest.split()
        if words:
            fields[name.decode("ascii", "replace")] = count(words[0], KIB if words[1:] == [b"kB"] else 1)
    return fields


def available_in(content: bytes) -> int | None:
    """MemAvailable in bytes, without parsing the rest; None where the kernel does not name it or it is no number."""
    _, name, rest = content.partition(b"MemAvailable:")
    return count(rest.partition(b"kB")[0], KIB) if name else None


def _sum(fields: Fields, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> int | None:
    """Sum of the fields; None when a required one is missing, or one that is there is no number."""
    values = [fields.get(name) for name in required] + [fields.get(name, 0) for name in optional]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def used(fields: Fields) -> int | None:
    """MemTotal − MemAvailable."""
    total, available = fields.get("MemTotal"), fields.get("MemAvailable")
    return None if total is None or available is None else total - available


def headroom(fields: Fields) -> int | None:
    """What CUDA can still get: the free huge pages where some are reserved, else MemAvailable."""
    reserved = fields.get("HugePages_Total", 0)
    if reserved is None:
        return None
    return _huge(fields, "HugePages_Free") if reserved else fields.get("MemAvailable")


def _huge(fields: Fields, name: str) -> int | None:
    pages, size = fields.get(name), fields.get("Hugepagesize")
    return None if pages is None or size is None else pages * size


def page_cache(fields: Fields) -> int | None:
    """Cached − Shmem + Buffers + SReclaimable; Cached counts shared memory, which cannot be given back."""
    whole, shared = _sum(fields, ("Cached", "Buffers", "SReclaimable")), fields.get("Shmem")
    return None if whole is None or shared is None else max(0, whole - shared)


def unattributed(fields: Fields) -> int | None:
    """MemTotal less everything explained: CUDA memory and what the driver keeps. Never below 0."""
    total, rest = fields.get("MemTotal"), _sum(fields, REQUIRED[1:], OPTIONAL)
    return None if rest is None or total is None else max(0, total - rest)


def cma_defect(fields: Fields) -> float | None:
    """1.0 when more contiguous memory is free than there is: a kernel defect."""
    total, free = fields.get("CmaTotal"), fields.get("CmaFree")
    return None if total is None or free is None else float(free > total)


def parse(content: bytes, lowest: int | None) -> Reading:
    """Everything /proc/meminfo says; `lowest` is the lowest MemAvailable of the last 2 s in bytes, if known."""
    fields, reading = parse_meminfo(content), Reading()
    for metric, name in PLAIN:
        reading.add(metric, fields.get(name))
    available = fields.get("MemAvailable")
    if available is not None:
        reading.add(memory.MEMORY_AVAILABLE_MIN, available if lowest is None else min(lowest, available))
    reading.add(memory.MEMORY_USED, used(fields))
    reading.add(memory.MEMORY_HEADROOM, headroom(fields))
    reading.add(memory.MEMORY_CACHED, page_cache(fields))
    reading.add(memory.MEMORY_KERNEL, _sum(fields, ("SUnreclaim",), KERNEL_OPTIONAL))
    reading.add(memory.MEMORY_UNATTRIBUTED, unattributed(fields))
    reading.add(memory.HUGEPAGES_TOTAL, _huge(fields, "HugePages_Total"))
    reading.add(memory.HUGEPAGES_FREE, _huge(fields, "HugePages_Free"))
    reading.add(memory.CMA_DEFECT, cma_defect(fields))
    return known_of(reading, PATH)


@collector("memory")
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        return parse(machine.tree.bytes(PATH), machine.lowest_available(now.monotonic_s))

    return read
