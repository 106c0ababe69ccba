"""Memory of the node, from /proc/meminfo. On GB10 the GPU and the CPU share it."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector
from telemetry.catalog import memory

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
Fields = Mapping[str, int]


def parse_meminfo(content: bytes) -> dict[str, int]:
    """Field → bytes, or → count for the HugePages_ fields, which have no unit."""
    fields = {}
    for line in content.splitlines():
        name, _, rest = line.partition(b":")
        words = rest.split()
        if words and words[0].isdigit():
            fields[name.decode("ascii", "replace")] = int(words[0]) * (KIB if words[1:] == [b"kB"] else 1)
    return fields


def available_in(content: bytes) -> int | None:
    """MemAvailable in bytes, without parsing the rest; None where the kernel does not name it."""
    start = content.find(b"MemAvailable:")
    return None if start < 0 else int(content[start + 13 : content.index(b"kB", start)]) * KIB


def _sum(fields: Fields, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> int | None:
    """Sum of the fields; None when a required one is missing."""
    if any(name not in fields for name in required):
        return None
    return sum(fields[name] for name in required) + sum(fields.get(name, 0) for name in optional)


def used(fields: Fields) -> int | None:
    """MemTotal − MemAvailable."""
    if "MemTotal" not in fields or "MemAvailable" not in fields:
        return None
    return fields["MemTotal"] - fields["MemAvailable"]


def headroom(fields: Fields) -> int | None:
    """What CUDA can still get: the free huge pages where some are reserved, else MemAvailable."""
    if fields.get("HugePages_Total"):
        return _huge(fields, "HugePages_Free")
    return fields.get("MemAvailable")


def _huge(fields: Fields, name: str) -> int | None:
    if name not in fields or "Hugepagesize" not in fields:
        return None
    return fields[name] * fields["Hugepagesize"]


def page_cache(fields: Fields) -> int | None:
    """Cached − Shmem + Buffers + SReclaimable; Cached counts shared memory, which cannot be given back."""
    total = _sum(fields, ("Cached", "Buffers", "SReclaimable", "Shmem"))
    return None if total is None else max(0, total - 2 * fields["Shmem"])


def unattributed(fields: Fields) -> int | None:
    """MemTotal less everything explained: CUDA memory and what the driver keeps. Never below 0."""
    rest = _sum(fields, REQUIRED[1:], OPTIONAL)
    return None if rest is None or "MemTotal" not in fields else max(0, fields["MemTotal"] - rest)


def cma_defect(fields: Fields) -> float | None:
    """1.0 when more contiguous memory is free than there is: a kernel defect."""
    if "CmaTotal" not in fields or "CmaFree" not in fields:
        return None
    return float(fields["CmaFree"] > fields["CmaTotal"])


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
    return reading


@collector("memory")
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        return parse(machine.tree.bytes("/proc/meminfo"), machine.lowest_available(now.monotonic_s))

    return read
