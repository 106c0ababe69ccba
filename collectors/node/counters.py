"""Loss, congestion and errors of the fabric, every 10 s: each of these files makes the kernel ask the firmware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from collectors.node.fabric import NO_FABRIC
from collectors.node.functions import INFINIBAND, KEY, Function, discover, still_there
from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import FAILED, Read, Reading, Round, collector, nothing_here
from collectors.node.tree import Tree
from telemetry.catalog import network
from telemetry.model import Metric

LOSS = (
    "duplicate_request",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_rnr_retries_exceeded",
    "req_transport_retries_exceeded",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
)
CONGESTION = ("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored")
REQUEST_ERRORS = (
    "req_cqe_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "resp_cqe_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
)
"""Flush errors are left out: they rise whenever a job ends."""
BITS = {
    "excessive_buffer_overrun_errors": 4,
    "link_downed": 8,
    "link_error_recovery": 8,
    "local_link_integrity_errors": 4,
    "port_rcv_constraint_errors": 8,
    "port_rcv_errors": 16,
    "port_rcv_remote_physical_errors": 16,
    "port_rcv_switch_relay_errors": 16,
    "port_xmit_constraint_errors": 8,
    "port_xmit_discards": 16,
    "port_xmit_wait": 32,
    "symbol_error": 16,
    "VL15_dropped": 16,
}
"""Width of the classic port counters, which stop at their maximum."""
TOLD = (
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "port_rcv_errors",
    "port_xmit_discards",
    "symbol_error",
)
"""Those that mean something on Ethernet; the others are only watched for standing at their maximum."""


class Row(NamedTuple):
    """One counter: directory below the port, file, metric (None: only watched for saturation)."""

    path: str
    counter: str
    metric: Metric | None


ROWS = (
    *(Row("hw_counters", name, network.FABRIC_LOSS) for name in LOSS),
    *(Row("hw_counters", name, network.FABRIC_CONGESTION) for name in CONGESTION),
    *(Row("hw_counters", name, network.FABRIC_REQUEST_ERRORS) for name in REQUEST_ERRORS),
    Row("hw_counters", "rx_icrc_encapsulated", network.FABRIC_ERRORS),
    *(Row("counters", name, network.FABRIC_ERRORS if name in TOLD else None) for name in BITS),
)


def at_maximum(values: Mapping[str, int]) -> list[str] | None:
    """Names of the classic counters that stand at their maximum; None when none of them could be read."""
    classic = {name: value for name, value in values.items() if name in BITS}
    return [name for name in sorted(classic) if classic[name] >= 2 ** BITS[name] - 1] if classic else None


def parse(function: Function, values: Mapping[str, int]) -> Reading:
    """Counter → value of one function. A counter the card does not have, or could not be read, has no entry."""
    reading, labels = Reading(), (function.cage, function.name)
    for row in ROWS:
        if row.metric is not None and row.counter in values:
            reading.add(row.metric, values[row.counter], labels[0], row.counter, labels[1])
    full = at_maximum(values)
    if full is not None:
        reading.add(network.FABRIC_AT_MAXIMUM, len(full), *labels)
        reading.fact(f"function.{function.name}.at_maximum", ", ".join(full))
    return reading


def read_counters(tree: Tree, rdma: str) -> dict[str, int]:
    """Values of the counters that can be read; EINVAL and "N/A (no PMA)" are "not known"."""
    port = f"{INFINIBAND}/{rdma}/ports/1"
    read = {row.counter: tree.number(f"{port}/{row.path}/{row.counter}") for row in ROWS}
    return {name: value for name, value in read.items() if value is not None}


@collector("fabric counters", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        functions = machine.kept(KEY, discover, now.monotonic_s)
        reading, without = Reading(), []
        for function in functions:
            if function.rdma:
                part = parse(function, read_counters(machine.tree, function.rdma))
                reading.samples += part.samples
                reading.facts |= part.facts
                without += [] if part.samples else [function]
        if names := still_there(machine.tree, without):
            reading.outcome, reading.reason = FAILED, f"no counter of {names} can be read"
        return reading if functions else nothing_here(NO_FABRIC)

    return read
