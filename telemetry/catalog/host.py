"""The machine around the GPU: processors, sensors, disks, kernel log, and the agent itself."""

from telemetry.model import Fold, Kind, Metric, Scope, Unit

OUTCOMES = ("ok", "nothing here", "failed")
AER_SEVERITIES = ("correctable", "nonfatal", "fatal")
LINK_DIRECTIONS = ("up", "down")


def _host(
    name: str, label: str, text: str, unit: Unit, kind: Kind = Kind.GAUGE, group: str = "host", **more: object
) -> Metric:
    counts_from_start = group == "kernel"
    return Metric(name, label, text, unit, kind, Scope.NODE, group, at_first_use=counts_from_start, **more)  # type: ignore[arg-type]


CPU_BUSY = _host(
    "cpu_busy_seconds_total",
    "CPU time",
    "Processor time that was not idle and not waiting for I/O, over all cores.",
    Unit.SECONDS,
    Kind.COUNTER,
)
CPU_CORES = _host("cpu_cores", "CPU cores", "Processors online.", Unit.COUNT)
LOAD = _host(
    "load_average",
    "Load average",
    "Runnable and uninterruptible tasks, averaged by the kernel over a minute.",
    Unit.COUNT,
    across=Fold.MAX,
)
TEMPERATURE = _host(
    "temperature_celsius",
    "Temperature",
    "Hottest sensor of each hwmon name: acpitz (SoC), mlx5 (NIC), nvme, mt7925 (Wi-Fi).",
    Unit.CELSIUS,
    by=("sensor",),
    over_time=Fold.MAX,
    across=Fold.MAX,
)
SYSTEM_POWER = _host(
    "system_power_watts",
    "System power",
    "Power by rail as the spbm driver measures it; sys_total is the machine. Absent without that driver, never estimated.",
    Unit.WATTS,
    by=("rail",),
)
SYSTEM_ENERGY = _host(
    "system_energy_joules_total",
    "System energy",
    "Energy by rail as the spbm driver counts it. The firmware's 32-bit millijoules begin again at 4.29 MJ; the agent goes on counting over that while it lives.",
    Unit.JOULES,
    Kind.COUNTER,
    by=("rail",),
)
SYSTEM_POWER_LIMIT = _host(
    "system_power_limit_watts",
    "System power limit",
    "Limit that the firmware keeps a rail to, where the spbm driver names one.",
    Unit.WATTS,
    by=("rail",),
    over_time=Fold.MIN,
)
PROCESSOR_HOT = _host(
    "processor_hot",
    "Processor hot",
    "1 while the firmware signals that the processor is too hot (prochot of the spbm driver).",
    Unit.COUNT,
    over_time=Fold.MAX,
    across=Fold.MAX,
)
DISK_SIZE = _host(
    "disk_size_bytes", "Disk size", "Size of a mounted local file system.", Unit.BYTES, by=("mount",), group="disk"
)
DISK_AVAILABLE = _host(
    "disk_available_bytes",
    "Disk available",
    "Space a normal user can still write.",
    Unit.BYTES,
    by=("mount",),
    group="disk",
    over_time=Fold.MIN,
    across=Fold.MIN,
)
DISK_READ = _host(
    "disk_read_bytes_total", "Disk read", "Bytes read from a disk.", Unit.BYTES, Kind.COUNTER, "disk", by=("disk",)
)
DISK_WRITTEN = _host(
    "disk_written_bytes_total",
    "Disk written",
    "Bytes written to a disk.",
    Unit.BYTES,
    Kind.COUNTER,
    "disk",
    by=("disk",),
)
UPTIME = _host("uptime_seconds", "Uptime", "Time since boot.", Unit.SECONDS, over_time=Fold.LAST, across=Fold.MIN)
KERNEL_XID = _host(
    "kernel_xid_total",
    "Xid errors",
    "NVIDIA Xid lines in the kernel log since the agent started.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("xid",),
    group="kernel",
)
KERNEL_NO_MEMORY = _host(
    "kernel_driver_no_memory_total",
    "Driver out of memory",
    "NV_ERR_NO_MEMORY lines in the kernel log since the agent started.",
    Unit.COUNT,
    Kind.COUNTER,
    group="kernel",
)
KERNEL_AER = _host(
    "kernel_aer_total",
    "PCIe errors",
    "AER lines in the kernel log since the agent started, by severity: correctable, nonfatal, fatal.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("severity",),
    group="kernel",
)
KERNEL_LINK = _host(
    "kernel_link_events_total",
    "Link events",
    "Link up and link down lines in the kernel log since the agent started.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("direction",),
    group="kernel",
)
AGENT_MONOTONIC = _host(
    "agent_monotonic_seconds",
    "Agent clock",
    "Monotonic clock of the node at the moment of sampling: the time base of its rates.",
    Unit.SECONDS,
    group="agent",
    over_time=Fold.LAST,
    across=Fold.MAX,
)
AGENT_TIME = _host(
    "agent_time_seconds",
    "Node wall clock",
    "Wall clock of the node at the moment of sampling; serves only the skew reading.",
    Unit.SECONDS,
    group="agent",
    over_time=Fold.LAST,
    across=Fold.MAX,
)
AGENT_START = _host(
    "agent_start_time_seconds",
    "Agent started",
    "Wall clock of the node when the agent started.",
    Unit.SECONDS,
    group="agent",
    over_time=Fold.LAST,
    across=Fold.MAX,
)
AGENT_CPU = _host(
    "agent_cpu_seconds_total",
    "Agent CPU time",
    "Processor time the agent itself used.",
    Unit.SECONDS,
    Kind.COUNTER,
    group="agent",
)
AGENT_MEMORY = _host(
    "agent_resident_memory_bytes", "Agent memory", "Resident memory of the agent itself.", Unit.BYTES, group="agent"
)
READ_SECONDS = _host(
    "agent_read_seconds",
    "Reading time",
    "How long the last reading took, by collector.",
    Unit.SECONDS,
    by=("collector",),
    group="agent",
    over_time=Fold.MAX,
    across=Fold.MAX,
)
READ_OUTCOME = _host(
    "agent_read_outcome",
    "Reading outcome",
    "How the last reading of each collector went.",
    Unit.STATE,
    Kind.STATE,
    by=("collector",),
    group="agent",
    over_time=Fold.MAX,
    across=Fold.MAX,
    states=OUTCOMES,
)
AGENT_GOODBYE = _host(
    "agent_goodbye",
    "Agent goodbye",
    "1 while the agent shuts down on purpose: silence after it is a stop, not a failure.",
    Unit.COUNT,
    group="agent",
    over_time=Fold.MAX,
    across=Fold.MAX,
)
AGENT_EVENTS = _host(
    "agent_event_sequence",
    "Agent events",
    "Number of the last event the agent has to tell; a change means that its state page is worth reading.",
    Unit.COUNT,
    group="agent",
    over_time=Fold.LAST,
    across=Fold.MAX,
)
