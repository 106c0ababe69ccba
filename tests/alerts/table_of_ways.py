"""Rules that fire in more than one way: a story for each way that their tables do not tell, and more that must not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from alerts.places import Key
from telemetry.catalog import gpu, host, memory, network
from telemetry.model import Metric, Series
from tests.alerts.stories_of_rules import (
    CLOCK_SKEW,
    GIB,
    NODES,
    Rows,
    Story,
    Value,
    busy,
    grows,
    of_function,
    of_gpu,
    on,
    state,
    states,
)
from tests.alerts.table_of_machines import CAGE, FAULTY, GPU, NO_MEMORY, OK, POWER, A
from tests.alerts.table_of_services import LINK, PLATEAU, SAME_VERSIONS, SOCKETS

SILENT = ("refused", "unreachable", "bad answer", "not found", "unauthorised")
GONE = ("stalled", "no driver", "driver mismatch")
VERSIONS = ("kernel", "gpu.0.vbios", "function.rocep1s0f1.firmware")
FULL_SPEED, NO_MORE = grows(9e9, 9e9), grows(1.65e9, 9e9)
RAIL = ("a", "p1", "f0")


def silent(name: str, key: Key, within_s: float) -> Story:
    """A target that answers no more, in this way."""
    return Story(name, key, within_s, given={"target_state": {key[0]: (OK, state(name))}})


def xid(number: str) -> Story:
    """One line of the kernel's log, a minute and a half after the begin."""
    return Story(number, A, 2, on("a", host.KERNEL_XID, lambda s: float(s >= 90), xid=number), seconds=120)


def without(rows: Rows, metric: Metric) -> Rows:
    return {series: value for series, value in rows.items() if series.metric != metric.name}


def managed(received: Value) -> Rows:
    """Busy nodes that send 200 MB/s through their management ports, and nothing through their cages."""
    found = dict(SOCKETS)
    for node in NODES:
        found |= of_function(node, tcp_out=0.0, tcp_in=0.0)
        found |= on(node, network.MANAGEMENT_TRANSMIT, grows(2e8), interface="eth0")
        found |= on(node, network.MANAGEMENT_RECEIVE, received, interface="eth0")
    return found


def versions(name: str) -> Story:
    """One that is not the same on both nodes."""
    facts = {"driver_version": dict.fromkeys("ab", "1.0"), **SAME_VERSIONS, name: {"a": "1.0", "b": "1.1"}}
    return Story(name, ("k3",), 601, facts=facts)


ONE_WAY = Story("a plateau one way", CAGE, 80, PLATEAU)
IN_PIECES = on("a", memory.MEMORY_FREE, 9 * GIB) | on("a", memory.FREE_BLOCKS, 30.0, at_least="16MiB")
NARROW = {series: 6.25e9 for series in PLATEAU if series.metric == network.CAGE_CAPACITY.name}


def second_cages(capacity: float = 0.0) -> Rows:
    """Another cage of every node that moves nothing: with a link of so much, or without one."""
    found: dict[Series, Value] = {}
    for node in NODES:
        for name in ("f2", "f3"):
            still = dict.fromkeys(("sent", "received", "tcp_out", "tcp_in"), 0.0)
            found |= of_function(node, "p2", name, up=float(capacity > 0), **still)
        if capacity:
            found |= on(node, network.CAGE_CAPACITY, capacity, cage="p2")
    return found


MOVED = (network.RDMA_TRANSMIT.name, network.RDMA_RECEIVE.name)
ALIKE = PLATEAU | {series: NO_MORE for series in PLATEAU if series.metric in MOVED}
BUSY_ALONE = PLATEAU | busy(util=0.1)
OF_ONE = {
    series: value for series, value in PLATEAU.items() if series.target == "a" or "cage" not in dict(series.labels)
}
OUT = on("a", memory.SWAP_OUT, grows(60e6)) | on("a", memory.SWAP_IN, 0.0)
WEAK = of_gpu(util=0.96, clock=2.4e9, power=(70.0, 55.0)) | busy()
SOCKETS_OF_ONE = of_function(name="f0", sent=0.0, tcp_out=grows(6e9), up=1.0) | of_function(name="f1", sent=0.0, up=1.0)

WAYS: Mapping[str, Sequence[Story]] = {
    "node_silent": [silent(name, A, 31) for name in SILENT],
    "engine_unreachable": [silent(name, ("head",), 21) for name in ("timed out", *SILENT)],
    "gpu_lost": [Story(name, GPU, 16, of_gpu(state=(0.0, states(gpu.GPU_READING_STATE, name)))) for name in GONE],
    "power_delivery": [
        replace(POWER, what="no other is known", rows={one: FAULTY[one] for one in FAULTY if one.target == "a"}),
        replace(POWER, what="its highest clock is not known", rows=without(FAULTY, gpu.GPU_SM_CLOCK_MAX)),
    ],
    "thermal_slowdown": [Story("with the idle cap", GPU, 11, of_gpu(bits=(0.0, float(0x24))))],
    "hardware_slowdown": [Story(f"{bits:#x}", GPU, 11, of_gpu(bits=(0.0, float(bits)))) for bits in (0x40, 0x80)],
    "nic_hot": [Story("mlx5_core", ("a", "mlx5_core"), 61, on("a", host.TEMPERATURE, (54, 96), sensor="mlx5_core"))],
    "driver_no_memory": [NO_MEMORY.but("much is free, in small pieces", IN_PIECES, seconds=150)],
    "swapping": [Story("out alone", A, 45, OUT)],
    "xid_fatal": [xid(number) for number in ("79", "119", "120", "154")],
    "xid_application": [xid(number) for number in ("13", "31", "43")],
    "degraded_link": [
        ONE_WAY.but("it receives no more", of_function(sent=FULL_SPEED, received=NO_MORE)),
        ONE_WAY.but("it sends no more", of_function(sent=NO_MORE, received=FULL_SPEED)),
        ONE_WAY.but("every second cage has no cable", second_cages()),
        ONE_WAY.but("every second cage has a link and is still", second_cages(25e9)),
        Story("the other busy nodes have no cage", CAGE, 80, OF_ONE),
    ],
    "fabric_loss": [
        Story("saturated", CAGE, 45, on("a", network.FABRIC_AT_MAXIMUM, (0.0, 1.0), cage="p1", function="f0"))
    ],
    "tcp_fallback": [Story("through management ports", A, 60, managed(grows(2e8)))],
    "straggler": [Story("four fifths of the others' power", GPU, 61, WEAK)],
    "versions_differ": [versions(name) for name in VERSIONS],
    "clock_skew": [Story("ahead", A, 61, on("a", CLOCK_SKEW, (0.0, 4.2)))],
}

QUIET: Mapping[str, Sequence[Story]] = {
    "thermal_slowdown": [Story("the idle cap stays", GPU, 11, of_gpu(bits=(0.0, float(0x4))))],
    "gpu_lost": [Story("one reading failed", GPU, 16, of_gpu(state=(0.0, states(gpu.GPU_READING_STATE, "failed"))))],
    "xid_fatal": [xid("13")],
    "link_down": [
        LINK.but(
            "unplugged from the bus",
            of_function(up=(1.0, math.nan), name="f0") | of_function(up=(1.0, math.nan), name="f1"),
        )
    ],
    "one_rail": [Story("sockets use one", RAIL, 80, SOCKETS_OF_ONE)],
    "degraded_link": [
        Story("no other GPU works", CAGE, 80, BUSY_ALONE),
        Story("no other GPU works, and a second cage has no cable", CAGE, 80, BUSY_ALONE | second_cages()),
        Story("all cages alike, and second ones without a cable", CAGE, 80, ALIKE | second_cages()),
        Story("all cages alike, and second ones that are still", CAGE, 80, ALIKE | second_cages(25e9)),
        Story("a link of 50 Gb/s", CAGE, 80, PLATEAU | NARROW),
    ],
    "tcp_fallback": [Story("a copy through management ports", A, 60, managed(0.0))],
    "straggler": [Story("a tenth less power", GPU, 61, WEAK | of_gpu(power=(70.0, 63.0)))],
    "versions_differ": [Story("the same", ("k3",), 601, facts=SAME_VERSIONS)],
    "clock_skew": [Story("a little", A, 61, on("a", CLOCK_SKEW, (0.0, 1.9)))],
}
