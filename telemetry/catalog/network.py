"""The fabric: ConnectX-7 functions and cages, and the management ports.

A cage is one QSFP port, seen as two PCI functions; its traffic is the sum over both of RDMA and netdev bytes.
"""

from telemetry.model import Fold, Kind, Metric, Scope, Unit

FUNCTION = ("cage", "function")


def _fabric(
    name: str,
    label: str,
    text: str,
    unit: Unit,
    kind: Kind = Kind.GAUGE,
    by: tuple[str, ...] = FUNCTION,
    group: str = "fabric",
    **more: object,
) -> Metric:
    return Metric(name, label, text, unit, kind, Scope.NODE, group, by=by, **more)  # type: ignore[arg-type]


RDMA_TRANSMIT = _fabric(
    "rdma_transmit_bytes_total",
    "RDMA sent",
    "RDMA bytes sent by a function: port_xmit_data words × 4.",
    Unit.BYTES,
    Kind.COUNTER,
)
RDMA_RECEIVE = _fabric(
    "rdma_receive_bytes_total",
    "RDMA received",
    "RDMA bytes received by a function: port_rcv_data words × 4.",
    Unit.BYTES,
    Kind.COUNTER,
)
NETDEV_TRANSMIT = _fabric(
    "netdev_transmit_bytes_total",
    "TCP/IP sent",
    "Bytes a fabric function sent through the kernel's network stack; RDMA does not show here.",
    Unit.BYTES,
    Kind.COUNTER,
)
NETDEV_RECEIVE = _fabric(
    "netdev_receive_bytes_total",
    "TCP/IP received",
    "Bytes a fabric function received through the kernel's network stack.",
    Unit.BYTES,
    Kind.COUNTER,
)
LINK_UP = _fabric(
    "link_up",
    "Link",
    "1 when the function's port is active, 0 when it is down (also when never cabled).",
    Unit.COUNT,
    over_time=Fold.MIN,
    across=Fold.SUM,
)
LINK_CAPACITY = _fabric(
    "link_capacity_bytes_per_second",
    "Link rate",
    "Rate of the link as negotiated; both functions of a cage name the same one link. Absent while down.",
    Unit.NETWORK_BYTES_PER_SECOND,
    over_time=Fold.MIN,
    across=Fold.MAX,
)
CAGE_CAPACITY = _fabric(
    "cage_capacity_bytes_per_second",
    "Cage capacity",
    "Rate of the cage's one link, counted once. Absent while down.",
    Unit.NETWORK_BYTES_PER_SECOND,
    by=("cage",),
    over_time=Fold.MIN,
)
PCIE_WIDTH = _fabric(
    "pcie_width_lanes",
    "PCIe width",
    "Lanes of the function's PCIe link; a healthy GB10 has 4.",
    Unit.COUNT,
    over_time=Fold.MIN,
    across=Fold.MIN,
)
PCIE_CAPACITY = _fabric(
    "pcie_capacity_bytes_per_second",
    "PCIe capacity",
    "Lanes × transfer rate × 128∕130 of the function's PCIe link.",
    Unit.NETWORK_BYTES_PER_SECOND,
    over_time=Fold.MIN,
    across=Fold.MIN,
)
MTU = _fabric(
    "mtu_bytes", "MTU", "MTU of the function's netdev.", Unit.PACKET_BYTES, over_time=Fold.MIN, across=Fold.MIN
)
FABRIC_LOSS = _fabric(
    "fabric_loss_total",
    "Fabric loss",
    "RoCE retries and sequence errors by hardware counter.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("cage", "counter", "function"),
    bits=32,
)
FABRIC_CONGESTION = _fabric(
    "fabric_congestion_total",
    "Fabric congestion",
    "Congestion notifications by hardware counter.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("cage", "counter", "function"),
)
FABRIC_REQUEST_ERRORS = _fabric(
    "fabric_request_errors_total",
    "RDMA request errors",
    "RDMA requests that ended in an error, by hardware counter; flushes at the end of a job are left out.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("cage", "counter", "function"),
    bits=32,
)
FABRIC_ERRORS = _fabric(
    "fabric_errors_total",
    "Port errors",
    "Checksum errors, and the classic port counters, which stop at their maximum instead of wrapping.",
    Unit.COUNT,
    Kind.COUNTER,
    by=("cage", "counter", "function"),
)
FABRIC_AT_MAXIMUM = _fabric(
    "fabric_counters_at_maximum",
    "Saturated counters",
    "Port counters that stand at their maximum: a constant value there is not “no new errors”.",
    Unit.COUNT,
    over_time=Fold.MAX,
)
MANAGEMENT_TRANSMIT = _fabric(
    "management_transmit_bytes_total",
    "Management sent",
    "Bytes sent by a port that is not part of the fabric.",
    Unit.BYTES,
    Kind.COUNTER,
    by=("interface",),
    group="management",
)
MANAGEMENT_RECEIVE = _fabric(
    "management_receive_bytes_total",
    "Management received",
    "Bytes received by a port that is not part of the fabric.",
    Unit.BYTES,
    Kind.COUNTER,
    by=("interface",),
    group="management",
)
MANAGEMENT_UP = _fabric(
    "management_up",
    "Management link",
    "1 when the port has a carrier.",
    Unit.COUNT,
    by=("interface",),
    group="management",
    over_time=Fold.MIN,
)
MANAGEMENT_CAPACITY = _fabric(
    "management_capacity_bytes_per_second",
    "Management rate",
    "Negotiated rate of the port.",
    Unit.NETWORK_BYTES_PER_SECOND,
    by=("interface",),
    group="management",
    over_time=Fold.MIN,
    across=Fold.MAX,
)
