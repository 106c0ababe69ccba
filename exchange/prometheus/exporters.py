"""What dcgm-exporter and node_exporter say, in our words: one table, with the conversion of every unit.

Not in it, on purpose: DCGM's memory temperature (0 on GB10, where there is none) and violation times (their unit is not
told), and node_exporter's swap traffic (in pages of unknown size). node_exporter has multiplied the words of the
InfiniBand ports by 4 already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from telemetry.catalog import gpu, host, memory, network
from telemetry.model import Fold, Metric

Labels = Mapping[str, str]
Place = Callable[[Labels, Labels], Labels | None]
"""(labels of the line, hwmon chip → its name) → our labels, None where the line is not about the metric."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sample name of an exporter → one stored metric.

    factor: our number = theirs × factor. where: labels that must have one of these values. place: our labels.
    also: wire labels that tell apart lines which are added up. equals: our number is 1 where theirs is this, else 0.
    positive: numbers up to 0 say that there is none. fold: how lines become one, the metric's `across` unless said.
    """

    wire: str
    metric: Metric
    factor: float = 1.0
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    place: Place = lambda _labels, _chips: {}
    also: tuple[str, ...] = ()
    equals: float | None = None
    positive: bool = False
    fold: Fold | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """A metric that is a sum of samples without labels. needed: all must be there; optional: counted where they are.
    The sign is the factor; what comes out below 0 is 0."""

    metric: Metric
    needed: Mapping[str, float]
    optional: Mapping[str, float] = field(default_factory=dict)


ROCE = re.compile(r"roce[A-Za-z0-9]*f(\d+)$")
MLX5 = re.compile(r"mlx5_\d+$")
FABRIC_NETDEV = re.compile(r"en([A-Za-z0-9]*f(\d+))np\d+$")
PORT = re.compile(r"(en|eth|wl)[A-Za-z0-9]*$")
DISK = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+|mmcblk\d+)$")
NOT_DISKS = frozenset({"vfat", "squashfs", "iso9660", "erofs", "udf", "autofs"})
CHIP_NAMES = "node_hwmon_chip_names"
PHYSICAL = re.compile(r"_phy\d+$")


def _gpu(labels: Labels, _chips: Labels) -> Labels | None:
    return {"gpu": labels["gpu"]} if labels.get("gpu", "").isascii() and labels.get("gpu", "").isdigit() else None


def _rdma(labels: Labels, _chips: Labels) -> Labels | None:
    """Cage and function of an RDMA device; a name that does not tell its cage is one of its own."""
    device = labels.get("device", "")
    match = ROCE.match(device)
    if match is None and not MLX5.match(device):
        return None
    return {"cage": f"p{match[1]}" if match else device, "function": device}


def _fabric(labels: Labels, _chips: Labels) -> Labels | None:
    """enp1s0f1np1 is the network side of rocep1s0f1, in cage p1."""
    match = FABRIC_NETDEV.match(labels.get("device", ""))
    return None if match is None else {"cage": f"p{match[2]}", "function": f"roce{match[1]}"}


def _cage(labels: Labels, chips: Labels) -> Labels | None:
    found = _fabric(labels, chips)
    return None if found is None else {"cage": found["cage"]}


def _port(labels: Labels, chips: Labels) -> Labels | None:
    device = labels.get("device", "")
    return {"interface": device} if PORT.match(device) and _fabric(labels, chips) is None else None


def _disk(labels: Labels, _chips: Labels) -> Labels | None:
    device = labels.get("device", "")
    return {"disk": device} if DISK.match(device) else None


def _mount(labels: Labels, _chips: Labels) -> Labels | None:
    device, kind = labels.get("device", ""), labels.get("fstype", "")
    local = device.startswith("/dev/") and not device.startswith("/dev/loop") and kind not in NOT_DISKS
    return {"mount": labels.get("mountpoint", "")} if local else None


def _sensor(labels: Labels, chips: Labels) -> Labels | None:
    name = chips.get(labels.get("chip", ""))
    return None if not name else {"sensor": PHYSICAL.sub("", name)}


def _fixed(**ours: str) -> Place:
    return lambda _labels, _chips: ours


def _error(counter: str) -> Place:
    def place(labels: Labels, chips: Labels) -> Labels | None:
        found = _rdma(labels, chips)
        return None if found is None else {**found, "counter": counter}

    return place


DCGM = "DCGM_FI_DEV_"
PERCENT, MEGA, MILLI, MIB = 0.01, 1e6, 1e-3, 1024.0**2
DCGM_ROWS = tuple(
    Row(DCGM + wire, metric, factor, place=_gpu, fold=Fold.MAX)
    for wire, metric, factor in (
        ("GPU_UTIL", gpu.GPU_UTILIZATION, PERCENT),
        ("GPU_TEMP", gpu.GPU_TEMPERATURE, 1.0),
        ("POWER_USAGE", gpu.GPU_POWER, 1.0),
        ("POWER_USAGE_INSTANT", gpu.GPU_POWER_INSTANT, 1.0),
        ("ENFORCED_POWER_LIMIT", gpu.GPU_POWER_LIMIT, 1.0),
        ("SM_CLOCK", gpu.GPU_SM_CLOCK, MEGA),
        ("MAX_SM_CLOCK", gpu.GPU_SM_CLOCK_MAX, MEGA),
        ("PSTATE", gpu.GPU_PERFORMANCE_STATE, 1.0),
        ("CLOCKS_EVENT_REASONS", gpu.GPU_CLOCK_EVENT_REASONS, 1.0),
        ("TOTAL_ENERGY_CONSUMPTION", gpu.GPU_ENERGY, MILLI),
        ("FAN_SPEED", gpu.GPU_FAN_SPEED, PERCENT),
        ("FB_USED", gpu.GPU_MEMORY_USED, MIB),
        ("FB_TOTAL", gpu.GPU_MEMORY_TOTAL, MIB),
    )
)
_BUSY = ("user", "nice", "system", "irq", "softirq", "steal")
_PLAIN_MEMORY = (
    ("MemTotal", memory.MEMORY_TOTAL),
    ("MemAvailable", memory.MEMORY_AVAILABLE),
    ("MemFree", memory.MEMORY_FREE),
    ("Shmem", memory.MEMORY_SHMEM),
    ("AnonPages", memory.MEMORY_ANONYMOUS),
    ("SwapTotal", memory.SWAP_TOTAL),
    ("SwapFree", memory.SWAP_FREE),
)
_PORT_ERRORS = (
    ("symbol_error_total", "symbol_error"),
    ("link_downed_total", "link_downed"),
    ("link_error_recovery_total", "link_error_recovery"),
    ("port_errors_received_total", "port_rcv_errors"),
    ("port_discards_transmitted_total", "port_xmit_discards"),
)
_RDMA_TOTAL = "node_infiniband_port_data_{}_bytes_total"
NODE_ROWS = (
    Row("node_cpu_seconds_total", host.CPU_BUSY, where={"mode": _BUSY}, also=("cpu", "mode")),
    Row("node_load1", host.LOAD),
    *(Row(f"node_memory_{wire}_bytes", metric) for wire, metric in _PLAIN_MEMORY),
    Row("node_vmstat_oom_kill", memory.OOM_KILLS),
    Row("node_vmstat_compact_stall", memory.COMPACTION_STALLS),
    Row("node_vmstat_compact_fail", memory.COMPACTION_FAILURES),
    *(
        Row(f"node_pressure_{resource}_{wire}_seconds_total", metric, place=_fixed(resource=resource))
        for resource in ("cpu", "memory", "io")
        for wire, metric in (("waiting", memory.PRESSURE_WAITING), ("stalled", memory.PRESSURE_STALLED))
    ),
    Row("node_hwmon_temp_celsius", host.TEMPERATURE, place=_sensor, also=("chip", "sensor")),
    Row("node_disk_read_bytes_total", host.DISK_READ, place=_disk),
    Row("node_disk_written_bytes_total", host.DISK_WRITTEN, place=_disk),
    Row("node_filesystem_size_bytes", host.DISK_SIZE, place=_mount, fold=Fold.MAX),
    Row("node_filesystem_avail_bytes", host.DISK_AVAILABLE, place=_mount),
    Row(_RDMA_TOTAL.format("transmitted"), network.RDMA_TRANSMIT, place=_rdma, also=("port",)),
    Row(_RDMA_TOTAL.format("received"), network.RDMA_RECEIVE, place=_rdma, also=("port",)),
    Row("node_infiniband_state_id", network.LINK_UP, place=_rdma, equals=4.0, fold=Fold.MIN),
    *(
        Row(f"node_infiniband_{wire}", network.FABRIC_ERRORS, place=_error(counter), also=("port",))
        for wire, counter in _PORT_ERRORS
    ),
    Row("node_network_transmit_bytes_total", network.NETDEV_TRANSMIT, place=_fabric),
    Row("node_network_receive_bytes_total", network.NETDEV_RECEIVE, place=_fabric),
    Row("node_network_speed_bytes", network.LINK_CAPACITY, place=_fabric, positive=True),
    Row("node_network_speed_bytes", network.CAGE_CAPACITY, place=_cage, also=("device",), positive=True, fold=Fold.MAX),
    Row("node_network_mtu_bytes", network.MTU, place=_fabric),
    Row("node_network_transmit_bytes_total", network.MANAGEMENT_TRANSMIT, place=_port),
    Row("node_network_receive_bytes_total", network.MANAGEMENT_RECEIVE, place=_port),
    Row("node_network_carrier", network.MANAGEMENT_UP, place=_port),
    Row("node_network_speed_bytes", network.MANAGEMENT_CAPACITY, place=_port, positive=True),
)
NODE_DERIVED = (
    Derived(memory.MEMORY_USED, {"node_memory_MemTotal_bytes": 1.0, "node_memory_MemAvailable_bytes": -1.0}),
    Derived(
        memory.MEMORY_CACHED,
        {
            "node_memory_Cached_bytes": 1.0,
            "node_memory_Shmem_bytes": -1.0,
            "node_memory_Buffers_bytes": 1.0,
            "node_memory_SReclaimable_bytes": 1.0,
        },
    ),
    Derived(
        memory.MEMORY_KERNEL,
        {"node_memory_SUnreclaim_bytes": 1.0},
        {f"node_memory_{name}_bytes": 1.0 for name in ("KernelStack", "PageTables", "SecPageTables", "Percpu")},
    ),
    Derived(host.UPTIME, {"node_time_seconds": 1.0, "node_boot_time_seconds": -1.0}),
)


def _by_wire(rows: tuple[Row, ...]) -> dict[str, tuple[Row, ...]]:
    found: dict[str, tuple[Row, ...]] = {}
    for row in rows:
        found[row.wire] = (*found.get(row.wire, ()), row)
    return found


ROWS: Mapping[str, tuple[Row, ...]] = _by_wire((*DCGM_ROWS, *NODE_ROWS))
"""Sample name → what it means; several where it means several things."""
PARTS = frozenset(name for one in NODE_DERIVED for name in (*one.needed, *one.optional))
"""Sample names that derived metrics are made of."""
