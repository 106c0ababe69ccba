"""What fires each rule about nodes, GPUs and memory, within what time, and what only looks like it."""

from __future__ import annotations

from collections.abc import Mapping

from alerts.places import Key
from telemetry.catalog import gpu, host, memory
from tests.alerts.stories_of_rules import (
    GIB,
    Pair,
    Rows,
    Story,
    busy,
    grows,
    leaps,
    of_gpu,
    on,
    state,
    states,
)

A, GPU, CAGE, HEAD = ("a",), ("a", "0"), ("a", "p1"), ("head", "0", "Kimi-K3")
OK = state("ok")


def silent(name: str, what: str = "it does not answer", key: Key = A) -> Story:
    return Story(what, key, 31, given={"target_state": {key[0]: (OK, state(name))}})


FAULTY = of_gpu(util=0.96, clock=(2.4e9, 0.67e9), top=3e9, power=(70, 15), temp=55.0, bits=0.0) | busy()
POWER = Story("busy, cool, slow and at 15 W", GPU, 21, FAULTY)
HOT_BITS = Story("the driver slows it for heat", GPU, 11, of_gpu(bits=(0.0, 0x20)))
POOL = on("a", memory.MEMORY_HEADROOM, (30 * GIB, 7 * GIB)) | on("a", memory.MEMORY_DRIVER_RETAINED, 80 * GIB)


def of_processes(count: float) -> Rows:
    return on("a", gpu.GPU_PROCESSES, count, gpu="0")


GOING = Story(
    "5 s take 12 GiB",
    A,
    6,
    on("a", memory.MEMORY_AVAILABLE, lambda s: (30 - 2.4 * max(s - 30, 0)) * GIB)
    | on("a", memory.MEMORY_HEADROOM, (23 * GIB, 20 * GIB)),
)
NO_MEMORY = Story(
    "three lines, and little is free",
    A,
    4,
    on("a", host.KERNEL_NO_MEMORY, leaps(1, 3)) | on("a", memory.MEMORY_FREE, 1 * GIB),
)
XID = Story("a line", A, 1, on("a", host.KERNEL_XID, leaps(1), xid="79"))
STORIES: Mapping[str, Pair] = {
    "node_silent": Pair(
        silent("timed out"),
        [
            silent("timed out").but(
                "one slow scrape", given={"target_state": {"a": lambda s: state("timed out") if 30 <= s < 40 else OK}}
            ),
            silent("stopped", "the agent said goodbye"),
            silent("refused", "an engine's server", ("head",)),
        ],
    ),
    "unclean_boot": Pair(
        Story("it came back", A, 1, given={"unclean_boot": {"a": (0.0, 1.0)}}),
        [
            Story("a planned one", A, 1, given={"unclean_boot": {"a": 0.0}}),
        ],
    ),
    "gpu_lost": Pair(
        Story("lost", GPU, 16, of_gpu(state=(0.0, states(gpu.GPU_READING_STATE, "lost")))),
        [
            Story("no GPU was ever seen", GPU, 16, of_gpu(state=states(gpu.GPU_READING_STATE, "not supported"))),
        ],
    ),
    "power_delivery": Pair(
        POWER,
        [
            POWER.but("idle", of_gpu(util=(0.96, 0.0))),
            POWER.but("a clock lock", of_gpu(top=(3e9, 1.2e9))),
            POWER.but("hot", of_gpu(temp=(55.0, 80.0))),
            POWER.but("throttled", of_gpu(bits=(0.0, 0x40))),
            POWER.but("all wait alike", busy(clock=(2.4e9, 0.67e9))),
            POWER.but("power capped at idle", of_gpu(util=(0.96, 0.0), bits=0x4)),
        ],
    ),
    "thermal_slowdown": Pair(
        HOT_BITS, [HOT_BITS.but("the idle power cap flaps", of_gpu(bits=lambda s: 4.0 * (s % 2)))]
    ),
    "hardware_slowdown": Pair(
        Story("power brake", GPU, 11, of_gpu(bits=(0.0, 0x88))),
        [
            Story("software thermal", GPU, 11, of_gpu(bits=(0.0, 0x20))),
        ],
    ),
    "gpu_hot": Pair(
        Story("86 °C", GPU, 61, of_gpu(temp=(60.0, 86.0))),
        [
            Story("it flaps", GPU, 300, of_gpu(temp=lambda s: 86.0 if s % 20 < 10 else 82.0)),
        ],
    ),
    "gpu_too_hot": Pair(
        Story("91 °C", GPU, 61, of_gpu(temp=(60.0, 91.0))), [Story("89 °C", GPU, 61, of_gpu(temp=89.0))]
    ),
    "nic_hot": Pair(
        Story("96 °C", ("a", "mlx5"), 61, on("a", host.TEMPERATURE, (54.0, 96.0), sensor="mlx5")),
        [
            Story("idle at 54 °C", ("a", "mlx5"), 61, on("a", host.TEMPERATURE, 54.0, sensor="mlx5")),
            Story("another sensor", ("a", "x"), 61, on("a", host.TEMPERATURE, 99.0, sensor="x")),
        ],
    ),
    "nvme_hot": Pair(
        Story("76 °C", ("a", "nvme"), 61, on("a", host.TEMPERATURE, (40.0, 76.0), sensor="nvme")),
        [
            Story("a NIC at 76 °C", ("a", "mlx5"), 61, on("a", host.TEMPERATURE, 76.0, sensor="mlx5")),
        ],
    ),
    "soc_hot": Pair(
        Story("96 °C", ("a", "acpitz"), 61, on("a", host.TEMPERATURE, (70.0, 96.0), sensor="acpitz")),
        [
            Story("94 °C", ("a", "acpitz"), 61, on("a", host.TEMPERATURE, 94.0, sensor="acpitz")),
        ],
    ),
    "memory_low": Pair(
        Story("7 GiB", A, 16, on("a", memory.MEMORY_HEADROOM, (30 * GIB, 7 * GIB))),
        [
            Story(
                "the driver keeps much, and there is room",
                A,
                16,
                on("a", memory.MEMORY_HEADROOM, 30 * GIB) | on("a", memory.MEMORY_UNATTRIBUTED, 90 * GIB),
            ),
            Story("the driver keeps it, and no process is there", A, 16, POOL | of_processes(0.0)),
        ],
        [Story("it is a process that has it", A, 16, POOL | of_processes(1.0))],
    ),
    "memory_out": Pair(
        Story("3 GiB", A, 16, on("a", memory.MEMORY_HEADROOM, (30 * GIB, 3 * GIB))),
        [
            Story("5 GiB", A, 16, on("a", memory.MEMORY_HEADROOM, 5 * GIB)),
            Story("the driver keeps it", A, 16, POOL | of_processes(0.0) | on("a", memory.MEMORY_HEADROOM, 2 * GIB)),
        ],
        [
            Story(
                "little is kept",
                A,
                16,
                POOL
                | of_processes(0.0)
                | on("a", memory.MEMORY_HEADROOM, (30 * GIB, 2 * GIB))
                | on("a", memory.MEMORY_DRIVER_RETAINED, 15 * GIB),
            )
        ],
    ),
    "memory_collapse": Pair(
        GOING,
        [
            GOING.but("weights are loaded", given={"engines_loading": {"a": 1.0}}),
            GOING.but("there is plenty", on("a", memory.MEMORY_HEADROOM, 60 * GIB)),
            GOING.but("slowly", on("a", memory.MEMORY_AVAILABLE, lambda s: (30 - 0.2 * s) * GIB)),
        ],
        [GOING.but("an engine loads elsewhere", given={"engines_loading": {"a": 0.0, "b": 1.0}})],
    ),
    "memory_fragmented": Pair(
        Story(
            "27 blocks, and stalls",
            A,
            125,
            on("a", memory.FREE_BLOCKS, (1000.0, 27.0), at_least="16MiB")
            | on("a", memory.COMPACTION_STALLS, grows(40)),
            seconds=240,
        ),
        [
            Story(
                "many stalls with blocks free",
                A,
                125,
                on("a", memory.FREE_BLOCKS, 1000.0, at_least="16MiB") | on("a", memory.COMPACTION_STALLS, grows(40)),
                seconds=240,
            ),
            Story(
                "few blocks, no stalls",
                A,
                125,
                on("a", memory.FREE_BLOCKS, 27.0, at_least="16MiB") | on("a", memory.COMPACTION_STALLS, 0.0),
                seconds=240,
            ),
        ],
    ),
    "driver_no_memory": Pair(
        NO_MEMORY.but("three lines", seconds=150),
        [
            NO_MEMORY.but("one line", on("a", host.KERNEL_NO_MEMORY, leaps(1)), seconds=150),
            NO_MEMORY.but("lines from before the start", on("a", host.KERNEL_NO_MEMORY, 40.0), seconds=150),
            NO_MEMORY.but(
                "enough is free",
                on("a", memory.MEMORY_FREE, 9 * GIB) | on("a", memory.FREE_BLOCKS, 900.0, at_least="16MiB"),
                seconds=150,
            ),
        ],
    ),
    "oom_kill": Pair(
        Story("one", A, 2, on("a", memory.OOM_KILLS, lambda s: float(s >= 90)), seconds=120),
        [
            Story("of yesterday", A, 2, on("a", memory.OOM_KILLS, 3.0), seconds=120),
        ],
    ),
    "memory_pressure": Pair(
        Story("a third of the time", A, 45, on("a", memory.PRESSURE_STALLED, grows(0.3), resource="memory")),
        [
            Story("of the disk", A, 45, on("a", memory.PRESSURE_STALLED, grows(0.3), resource="io")),
        ],
    ),
    "swapping": Pair(
        Story("60 MB/s", A, 45, on("a", memory.SWAP_IN, grows(30e6)) | on("a", memory.SWAP_OUT, grows(30e6))),
        [
            Story(
                "used, but still",
                A,
                45,
                on("a", memory.SWAP_IN, 1e9) | on("a", memory.SWAP_OUT, 9e9) | on("a", memory.SWAP_FREE, 0.0),
            ),
        ],
    ),
    "cma_defect": Pair(
        Story("more free than there is", A, 1, on("a", memory.CMA_DEFECT, (0.0, 1.0))),
        [
            Story("well", A, 1, on("a", memory.CMA_DEFECT, 0.0)),
        ],
    ),
    "xid_fatal": Pair(
        XID.but("79", on("a", host.KERNEL_XID, lambda s: float(s >= 90), xid="79"), seconds=120),
        [
            XID.but("before the start", on("a", host.KERNEL_XID, 1.0, xid="79"), seconds=120),
        ],
    ),
    "xid_application": Pair(
        Story("13", A, 2, on("a", host.KERNEL_XID, lambda s: float(s >= 90), xid="13"), seconds=120),
        [
            Story(
                "one that says nothing", A, 2, on("a", host.KERNEL_XID, lambda s: float(s >= 90), xid="63"), seconds=120
            ),
        ],
    ),
}
