"""Memory of a node, from /proc. On GB10 the GPU and the CPU share it."""

from telemetry.model import Fold, Kind, Limits, Metric, Scope, Unit

GIB = 1024**3


def _memory(
    name: str, label: str, text: str, unit: Unit = Unit.BYTES, kind: Kind = Kind.GAUGE, **more: object
) -> Metric:
    return Metric(name, label, text, unit, kind, Scope.NODE, "memory", **more)  # type: ignore[arg-type]


MEMORY_TOTAL = _memory("memory_total_bytes", "Memory", "MemTotal.")
MEMORY_USED = _memory(
    "memory_used_bytes",
    "Memory used",
    "MemTotal − MemAvailable; on a unified node this includes what CUDA holds.",
    over_time=Fold.MAX,
)
MEMORY_AVAILABLE = _memory(
    "memory_available_bytes", "Memory available", "MemAvailable.", over_time=Fold.MIN, across=Fold.SUM
)
MEMORY_AVAILABLE_MIN = _memory(
    "memory_available_min_bytes",
    "Memory available, lowest",
    "Lowest MemAvailable of the last 2 s, sampled five times a second.",
    over_time=Fold.MIN,
    across=Fold.MIN,
)
MEMORY_HEADROOM = _memory(
    "memory_headroom_bytes",
    "Memory headroom",
    "What a CUDA allocation can still get: MemAvailable, or the free huge pages where huge pages are reserved.",
    over_time=Fold.MIN,
    across=Fold.MIN,
    limits=Limits(8 * GIB, 4 * GIB, low=True),
)
MEMORY_FREE = _memory(
    "memory_free_bytes", "Memory free", "MemFree: pages nobody uses, not even as cache.", over_time=Fold.MIN
)
MEMORY_CACHED = _memory(
    "memory_cached_bytes", "Page cache", "Cached − Shmem + Buffers + SReclaimable: what the kernel can give back."
)
MEMORY_SHMEM = _memory("memory_shmem_bytes", "Shared memory", "Shmem, which cannot be given back.")
MEMORY_ANONYMOUS = _memory("memory_anonymous_bytes", "Anonymous memory", "AnonPages: heaps and stacks of processes.")
MEMORY_KERNEL = _memory(
    "memory_kernel_bytes", "Kernel memory", "Unreclaimable slab, kernel stacks, page tables and per-CPU memory."
)
MEMORY_UNATTRIBUTED = _memory(
    "memory_unattributed_bytes",
    "Unattributed memory",
    "MemTotal less everything /proc/meminfo explains: live CUDA memory and driver pools.",
)
MEMORY_DRIVER_RETAINED = _memory(
    "memory_driver_retained_bytes",
    "Driver pool and other",
    "Unattributed memory less what NVML ascribes to processes, not below 0: kept by the driver, reusable.",
)
HUGEPAGES_TOTAL = _memory("memory_hugepages_total_bytes", "Huge pages", "HugePages_Total × Hugepagesize.")
HUGEPAGES_FREE = _memory(
    "memory_hugepages_free_bytes", "Huge pages free", "HugePages_Free × Hugepagesize.", over_time=Fold.MIN
)
SWAP_TOTAL = _memory("swap_total_bytes", "Swap", "SwapTotal.")
SWAP_FREE = _memory("swap_free_bytes", "Swap free", "SwapFree.", over_time=Fold.MIN)
SWAP_IN = _memory("swap_in_bytes_total", "Swapped in", "Bytes read back from swap since boot.", kind=Kind.COUNTER)
SWAP_OUT = _memory("swap_out_bytes_total", "Swapped out", "Bytes written to swap since boot.", kind=Kind.COUNTER)
PRESSURE_WAITING = _memory(
    "pressure_waiting_seconds_total",
    "Pressure, some",
    "Time in which at least one task waited for the resource (PSI some): cpu, memory, io.",
    Unit.SECONDS,
    Kind.COUNTER,
    by=("resource",),
)
PRESSURE_STALLED = _memory(
    "pressure_stalled_seconds_total",
    "Pressure, full",
    "Time in which every task waited for the resource (PSI full): cpu, memory, io.",
    Unit.SECONDS,
    Kind.COUNTER,
    by=("resource",),
)
FREE_BLOCKS = _memory(
    "memory_free_blocks",
    "Free high-order blocks",
    "Free contiguous blocks of at least the labelled size, zone Normal; few of 16 MiB precede a fragmentation wedge.",
    Unit.COUNT,
    by=("at_least",),
    over_time=Fold.MIN,
    across=Fold.MIN,
)
COMPACTION_STALLS = _memory(
    "memory_compaction_stalls_total",
    "Compaction stalls",
    "Allocations that waited for memory compaction.",
    Unit.COUNT,
    Kind.COUNTER,
)
COMPACTION_FAILURES = _memory(
    "memory_compaction_failures_total",
    "Compaction failures",
    "Compactions that freed no block of the wanted size.",
    Unit.COUNT,
    Kind.COUNTER,
)
ALLOCATION_STALLS = _memory(
    "memory_allocation_stalls_total",
    "Allocation stalls",
    "Allocations that had to free memory themselves first, over all zones.",
    Unit.COUNT,
    Kind.COUNTER,
)
OOM_KILLS = _memory(
    "oom_kills_total", "OOM kills", "Processes killed for lack of memory since boot.", Unit.COUNT, Kind.COUNTER
)
CMA_DEFECT = _memory(
    "memory_cma_defect",
    "CMA defect",
    "1 when CmaFree exceeds CmaTotal: a kernel defect that takes memory away; boot with kho=off.",
    Unit.COUNT,
    over_time=Fold.MAX,
    across=Fold.MAX,
    limits=Limits(1),
)
