"""The agent's page as a table: names on the wire, and which reading of `simulator.cluster` stands behind each line."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.host import CORES, DISK
from simulator.memory import SWAP, TOTAL

PREFIX = "tachograph_"
CABLED, EMPTY = "p1", "p0"
FUNCTIONS = (("p1", "rocep1s0f1"), ("p1", "roceP2p1s0f1"))
UNUSED_FUNCTIONS = (("p0", "rocep1s0f0"), ("p0", "roceP2p1s0f0"))
PORTS, DRIVE = ("enP7s7", "wlP9s9"), "nvme0n1"
"""Management ports: wired, and a radio that nobody uses."""
LINK_BYTES_PER_S = 200e9 / 8
PCIE_BYTES_PER_S = 4 * 32e9 * 128 / 130 / 8
COLLECTORS = (
    *("fabric", "fabric links", "fabric identity", "fabric counters", "blocks", "cpu", "disks", "disk traffic"),
    *("identity", "kernel", "management", "memory", "nvml", "paging", "sensors", "power", "pressure", "processes"),
    "retained",
)
LOSS = (
    "out_of_sequence",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "duplicate_request",
    "out_of_buffer",
)
CONGESTION = ("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored")
ERRORS = (
    *("rx_icrc_encapsulated", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery"),
    *("local_link_integrity_errors", "port_rcv_errors", "port_xmit_discards", "symbol_error"),
)
REQUEST_ERRORS = (
    *("req_cqe_error", "req_remote_access_errors", "req_remote_invalid_request"),
    *("resp_cqe_error", "resp_local_length_error", "resp_remote_access_errors"),
)
WHEN_CABLED, WHEN_UP = "cabled", "up"


@dataclass(frozen=True)
class Line:
    """One line: labels, and a constant or the name of a reading, with the function's position in it.

    when: "" always there, "cabled" while the node has RDMA devices, "up" while the link is up.
    """

    labels: str
    source: str | float
    function: int | None = None
    when: str = ""


@dataclass(frozen=True)
class Family:
    """One family of the page."""

    name: str
    kind: str
    help: str
    lines: tuple[Line, ...]


def _gauge(name: str, text: str, *lines: Line) -> Family:
    return Family(PREFIX + name, "gauge", text, lines)


def _counter(name: str, text: str, *lines: Line) -> Family:
    return Family(PREFIX + name, "counter", text, lines)


def _gpu(source: str | float) -> Line:
    return Line('{gpu="0"}', source)


def _labelled(label: str, **sources: str | float) -> tuple[Line, ...]:
    return tuple(Line(f'{{{label}="{value}"}}', source) for value, source in sources.items())


def _functions(source: str | float, unused: float | None = None, when: str = WHEN_CABLED) -> tuple[Line, ...]:
    lines = [_function(*name, source, at, when) for at, name in enumerate(FUNCTIONS)]
    if unused is not None:
        lines += [_function(*name, unused, None, WHEN_CABLED) for name in UNUSED_FUNCTIONS]
    return tuple(lines)


def _function(cage: str, function: str, source: str | float, at: int | None, when: str) -> Line:
    return Line(f'{{cage="{cage}",function="{function}"}}', source, at if isinstance(source, str) else None, when)


def _ports(*sources: str | float) -> tuple[Line, ...]:
    return tuple(Line(f'{{interface="{port}"}}', source) for port, source in zip(PORTS, sources, strict=False))


def _hardware(names: tuple[str, ...], moving: dict[str, str]) -> tuple[Line, ...]:
    """A line per hardware counter and function; those that never move stand at 0."""
    return tuple(
        Line(
            f'{{cage="{cage}",counter="{name}",function="{function}"}}',
            moving.get(name, 0.0) if cage == CABLED else 0.0,
            at if cage == CABLED and name in moving else None,
            WHEN_CABLED,
        )
        for at, (cage, function) in enumerate((*FUNCTIONS, *UNUSED_FUNCTIONS))
        for name in names
    )


GPU = (
    _gauge("gpu_utilization_ratio", "Share of time in which a kernel ran.", _gpu("utilization")),
    _gauge("gpu_temperature_celsius", "Temperature of the die.", _gpu("celsius")),
    _gauge("gpu_power_watts", "Power over the last second.", _gpu("watts")),
    _gauge("gpu_power_instant_watts", "Power just now.", _gpu("watts_instant")),
    _gauge("gpu_sm_clock_hertz", "Clock of the multiprocessors.", _gpu("hertz")),
    _gauge("gpu_sm_clock_max_hertz", "Highest clock that is named.", _gpu(3.003e9)),
    _gauge("gpu_performance_state", "P-state.", _gpu("performance_state")),
    _counter("gpu_energy_joules_total", "Energy since the driver was loaded.", _gpu("gpu_joules")),
    _gauge("gpu_clock_event_reasons", "Bits that say why the clock is not higher.", _gpu("mask")),
    _counter(
        "gpu_throttle_seconds_total",
        "Time for which a reason held the clock down.",
        Line('{gpu="0",reason="power_cap"}', "power_cap_seconds"),
        Line('{gpu="0",reason="thermal_software"}', "thermal_seconds"),
        *(Line(f'{{gpu="0",reason="{reason}"}}', 0.0) for reason in ("thermal_hardware", "power_brake")),
    ),
    _gauge("gpu_process_memory_bytes", "Memory of processes on the GPU.", _gpu("process_bytes")),
    _gauge("gpu_processes", "Processes on the GPU.", _gpu("processes")),
    _gauge("gpu_reading_state", "How the reading went; 0 is well.", _gpu(0.0)),
)
MEMORY = (
    _gauge("memory_total_bytes", "MemTotal.", Line("", TOTAL)),
    _gauge("memory_used_bytes", "MemTotal less MemAvailable.", Line("", "used")),
    _gauge("memory_available_bytes", "MemAvailable.", Line("", "available")),
    _gauge("memory_available_min_bytes", "Lowest MemAvailable of 2 s.", Line("", "available_min")),
    _gauge("memory_headroom_bytes", "What CUDA can still get.", Line("", "available")),
    _gauge("memory_free_bytes", "MemFree.", Line("", "free")),
    _gauge("memory_cached_bytes", "Cache that can be given back.", Line("", "cached")),
    _gauge("memory_shmem_bytes", "Shmem.", Line("", "shared")),
    _gauge("memory_anonymous_bytes", "AnonPages.", Line("", "anonymous")),
    _gauge("memory_kernel_bytes", "Memory of the kernel.", Line("", "kernel")),
    _gauge("memory_unattributed_bytes", "What /proc/meminfo does not explain.", Line("", "unattributed")),
    _gauge("memory_driver_retained_bytes", "Unattributed less what processes hold.", Line("", "retained")),
    _gauge("memory_hugepages_total_bytes", "Huge pages.", Line("", 0.0)),
    _gauge("memory_hugepages_free_bytes", "Free huge pages.", Line("", 0.0)),
    _gauge("swap_total_bytes", "SwapTotal.", Line("", SWAP)),
    _gauge("swap_free_bytes", "SwapFree.", Line("", "swap_free")),
    _counter("swap_in_bytes_total", "Read back from swap.", Line("", "swap_in")),
    _counter("swap_out_bytes_total", "Written to swap.", Line("", "swap_out")),
    _counter(
        "pressure_waiting_seconds_total",
        "Time in which some task waited.",
        *_labelled("resource", cpu="cpu_waiting", memory="memory_waiting", io="io_waiting"),
    ),
    _counter(
        "pressure_stalled_seconds_total",
        "Time in which all tasks waited.",
        *_labelled("resource", cpu=0.0, memory="memory_stalled", io="io_stalled"),
    ),
    _gauge(
        "memory_free_blocks",
        "Free contiguous blocks.",
        Line('{at_least="4MiB"}', "blocks_4m"),
        Line('{at_least="16MiB"}', "blocks_16m"),
    ),
    _counter("memory_compaction_stalls_total", "Allocations that waited for compaction.", Line("", "stalls")),
    _counter("memory_compaction_failures_total", "Compactions without success.", Line("", "failures")),
    _counter("memory_allocation_stalls_total", "Allocations that freed memory first.", Line("", "allocation_stalls")),
    _counter("oom_kills_total", "Processes killed for lack of memory.", Line("", 0.0)),
    _gauge("memory_cma_defect", "1 when CmaFree exceeds CmaTotal.", Line("", 0.0)),
)
NETWORK = (
    _counter("rdma_transmit_bytes_total", "RDMA bytes sent.", *_functions("rdma_sent", 0.0)),
    _counter("rdma_receive_bytes_total", "RDMA bytes received.", *_functions("rdma_received", 0.0)),
    _counter("netdev_transmit_bytes_total", "Bytes sent through the kernel.", *_functions("tcp_sent", 0.0)),
    _counter("netdev_receive_bytes_total", "Bytes received through the kernel.", *_functions("tcp_received", 0.0)),
    _gauge("link_up", "1 while the port is active.", *_functions("links", 0.0)),
    _gauge("link_capacity_bytes_per_second", "Rate of the link.", *_functions(LINK_BYTES_PER_S, None, WHEN_UP)),
    _gauge(
        "cage_capacity_bytes_per_second",
        "Rate of the cage's one link.",
        Line(f'{{cage="{CABLED}"}}', LINK_BYTES_PER_S, None, WHEN_UP),
    ),
    _gauge("pcie_width_lanes", "PCIe lanes.", *_functions(4.0, 4.0)),
    _gauge("pcie_capacity_bytes_per_second", "Rate of the PCIe link.", *_functions(PCIE_BYTES_PER_S, PCIE_BYTES_PER_S)),
    _gauge("mtu_bytes", "MTU of the netdev.", *_functions(9000.0, 1500.0)),
    _counter("fabric_loss_total", "Retries and sequence errors.", *_hardware(LOSS, {})),
    _counter(
        "fabric_congestion_total",
        "Congestion notifications.",
        *_hardware(CONGESTION, {"np_cnp_sent": "marks", "rp_cnp_handled": "marks"}),
    ),
    _counter("fabric_errors_total", "Port errors.", *_hardware(ERRORS, {})),
    _counter("fabric_request_errors_total", "Requests that ended in an error.", *_hardware(REQUEST_ERRORS, {})),
    _gauge("fabric_counters_at_maximum", "Counters that stand at their maximum.", *_functions(0.0, 0.0)),
    _counter("management_transmit_bytes_total", "Bytes sent.", *_ports("management_sent", 0.0)),
    _counter("management_receive_bytes_total", "Bytes received.", *_ports("management_received", 0.0)),
    _gauge("management_up", "1 with a carrier.", *_ports(1.0, 0.0)),
    _gauge("management_capacity_bytes_per_second", "Rate of the port.", *_ports(10e9 / 8)),
)
RAILS: dict[str, str | float] = {
    name: f"rail_{name}"
    for name in ("sys_total", "soc_pkg", "cpu_gpu", "cpu_p", "cpu_e", "vcore", "gpu", "prereg", "dc_input")
}
RAILS |= {
    "dla": 0.1,
    "pl1": "rail_soc_pkg",
    "pl2": "rail_soc_pkg",
    "syspl1": "rail_sys_total",
    "syspl2": "rail_sys_total",
}
RAIL_LIMITS = {"pl1": 140.0, "pl2": 140.0, "syspl1": 231.0, "syspl2": 231.0}
HOST = (
    _counter("cpu_busy_seconds_total", "Busy processor time.", Line("", "cpu_busy")),
    _gauge("cpu_cores", "Processors.", Line("", float(CORES))),
    _gauge("load_average", "Load over a minute.", Line("", "load")),
    _gauge(
        "temperature_celsius",
        "Hottest sensor of each name.",
        *_labelled("sensor", acpitz="acpitz", mt7925="radio", nvme="drive", spbm="package"),
        Line('{sensor="mlx5"}', "nic", None, WHEN_CABLED),
    ),
    _gauge("system_power_watts", "Power by rail.", *_labelled("rail", **RAILS)),
    _gauge("system_power_limit_watts", "Limit of a rail.", *_labelled("rail", **RAIL_LIMITS)),
    _gauge("processor_hot", "1 while the processor is too hot.", Line("", 0.0)),
    _counter(
        "system_energy_joules_total",
        "Energy by rail.",
        *_labelled("rail", pkg="energy_pkg", cpu_e="energy_cpu_e", cpu_p="energy_cpu_p", gpu="energy_gpu"),
    ),
    _gauge("disk_size_bytes", "Size of a file system.", Line('{mount="/"}', DISK)),
    _gauge("disk_available_bytes", "Space left.", Line('{mount="/"}', "disk_available")),
    _counter("disk_read_bytes_total", "Bytes read.", Line(f'{{disk="{DRIVE}"}}', "disk_read")),
    _counter("disk_written_bytes_total", "Bytes written.", Line(f'{{disk="{DRIVE}"}}', "disk_written")),
    _gauge("uptime_seconds", "Time since boot.", Line("", "uptime")),
    _counter("kernel_driver_no_memory_total", "NV_ERR_NO_MEMORY lines.", Line("", "complaints")),
    _counter("kernel_aer_total", "AER lines.", *_labelled("severity", correctable=0.0, nonfatal=0.0, fatal=0.0)),
    _counter(
        "kernel_link_events_total",
        "Link up and link down lines.",
        *_labelled("direction", up="link_up_events", down="link_down_events"),
    ),
)
AGENT = (
    _gauge("agent_monotonic_seconds", "Monotonic clock at sampling.", Line("", "agent_monotonic")),
    _gauge("agent_time_seconds", "Wall clock at sampling.", Line("", "agent_time")),
    _gauge("agent_start_time_seconds", "Wall clock when the agent started.", Line("", "agent_start")),
    _counter("agent_cpu_seconds_total", "Processor time of the agent.", Line("", "agent_cpu")),
    _gauge("agent_resident_memory_bytes", "Memory of the agent.", Line("", 15.6e6)),
    _gauge(
        "agent_read_seconds", "How long the reading took.", *_labelled("collector", **dict.fromkeys(COLLECTORS, 4e-4))
    ),
    _gauge(
        "agent_read_outcome",
        "How the reading went; 0 is well.",
        *_labelled("collector", **dict.fromkeys(COLLECTORS, 0.0)),
    ),
    _gauge("agent_goodbye", "1 during a shutdown on purpose.", Line("", 0.0)),
    _gauge("agent_event_sequence", "Number of the last event.", Line("", "sequence")),
)
FAMILIES = (*GPU, *MEMORY, *NETWORK, *HOST, *AGENT)
WORDS = ("rdma_sent", "rdma_received")
"""Readings that hardware counts in words of four bytes."""
WHOLE = frozenset(
    (
        *WORDS,
        *(
            "tcp_sent",
            "tcp_received",
            "management_sent",
            "management_received",
            "marks",
            "swap_in",
            "swap_out",
            "swap_free",
        ),
        *(
            "stalls",
            "failures",
            "allocation_stalls",
            "complaints",
            "available",
            "available_min",
            "used",
            "free",
            "cached",
            "shared",
        ),
        *(
            "anonymous",
            "kernel",
            "unattributed",
            "retained",
            "process_bytes",
            "disk_available",
            "disk_read",
            "disk_written",
        ),
    )
)
"""Readings that only come in whole numbers."""
