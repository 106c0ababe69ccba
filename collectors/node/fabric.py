"""The fabric's bytes and links, read in every round.

RDMA bytes never show in the netdev's statistics and the other way round: a function's traffic is the sum of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from collectors.node.figures import decimal
from collectors.node.functions import INFINIBAND, KEY, NET, Function, discover, still_there
from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import FAILED, Read, Reading, Round, collector, nothing_here
from collectors.node.tree import Tree
from telemetry.catalog import network

WORD_BYTES = 4
"""port_xmit_data and port_rcv_data count words of four bytes, whatever the number of lanes."""
MEGABIT = 1e6 / 8
GIGABIT = 1e9 / 8
RATE = re.compile(r"(\d+(?:\.\d+)?) Gb/sec")
SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")
ENCODINGS = ((8.0, 128 / 130), (0.0, 8 / 10))
"""Lowest GT/s → payload bits ∕ line bits of PCIe."""
ACTIVE = "4:"
TRAFFIC = (
    (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT, "port_xmit_data", "tx_bytes"),
    (network.RDMA_RECEIVE, network.NETDEV_RECEIVE, "port_rcv_data", "rx_bytes"),
)
NO_FABRIC = "no RDMA device and no ConnectX netdev: a node without cable is healthy"


def link_up(state: str | None, carrier: int | None) -> bool | None:
    """RDMA port state ("4: ACTIVE"), else the netdev's carrier; None when neither can be read."""
    if state is not None:
        return state.startswith(ACTIVE)
    return None if carrier is None else carrier == 1


def link_rate(speed: int | None, rate: str | None) -> float | None:
    """Bytes per second from the netdev's Mb/s, else from the leading number of "200 Gb/sec (4X HDR)"."""
    if speed is not None and speed > 0:
        return speed * MEGABIT
    match = RATE.match(rate or "")
    gigabits = decimal(match[1]) if match else None
    return None if gigabits is None else gigabits * GIGABIT


def pcie_rate(speed: str | None, lanes: int | None) -> float | None:
    """Bytes per second of "32.0 GT/s PCIe" × lanes, line code taken off."""
    match = SPEED.match(speed or "")
    transfers = decimal(match[1]) if match else None
    if transfers is None or not lanes:
        return None
    payload = next(share for lowest, share in ENCODINGS if transfers >= lowest)
    return transfers * 1e9 * payload * lanes / 8


def _traffic(tree: Tree, function: Function, reading: Reading) -> bool:
    """Add the function's bytes; False when a file that discovery saw has vanished."""
    complete = True
    for rdma_metric, net_metric, words_file, bytes_file in TRAFFIC:
        if function.rdma:
            words = tree.number(f"{INFINIBAND}/{function.rdma}/ports/1/counters/{words_file}")
            complete = complete and words is not None
            reading.add(rdma_metric, None if words is None else words * WORD_BYTES, function.cage, function.name)
        if function.netdev:
            transferred = tree.number(f"{NET}/{function.netdev}/statistics/{bytes_file}")
            complete = complete and transferred is not None
            reading.add(net_metric, transferred, function.cage, function.name)
    return complete


def _is_up(tree: Tree, function: Function) -> bool | None:
    state = tree.line(f"{INFINIBAND}/{function.rdma}/ports/1/state") if function.rdma else None
    carrier = tree.number(f"{NET}/{function.netdev}/carrier") if function.netdev and state is None else None
    return link_up(state, carrier)


def _rate(tree: Tree, function: Function) -> float | None:
    speed = tree.number(f"{NET}/{function.netdev}/speed") if function.netdev else None
    rate = tree.line(f"{INFINIBAND}/{function.rdma}/ports/1/rate") if function.rdma else None
    return link_rate(speed, rate)


def _links(tree: Tree, functions: Iterable[Function], reading: Reading) -> None:
    """State and rate of each function, and each cage's one link."""
    cages: dict[str, float] = {}
    for function in functions:
        up = _is_up(tree, function)
        reading.add(network.LINK_UP, None if up is None else float(up), function.cage, function.name)
        rate = _rate(tree, function) if up else None
        reading.add(network.LINK_CAPACITY, rate, function.cage, function.name)
        if rate is not None:
            cages[function.cage] = max(rate, cages.get(function.cage, 0.0))
    for cage in sorted(cages):
        reading.add(network.CAGE_CAPACITY, cages[cage], cage)


@collector("fabric")
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        functions = machine.kept(KEY, discover, now.monotonic_s)
        reading = Reading()
        incomplete = [function for function in functions if not _traffic(machine.tree, function, reading)]
        _links(machine.tree, functions, reading)
        if incomplete:
            machine.forget(KEY)
        if names := still_there(machine.tree, incomplete):
            reading.outcome, reading.reason = FAILED, f"bytes of {names} cannot be read"
        return reading if functions else nothing_here(NO_FABRIC)

    return read


def _pcie(tree: Tree, function: Function, reading: Reading) -> None:
    lanes = tree.number(f"{function.device}/current_link_width") or None
    reading.add(network.PCIE_WIDTH, lanes, function.cage, function.name)
    speed = tree.line(f"{function.device}/current_link_speed")
    reading.add(network.PCIE_CAPACITY, pcie_rate(speed, lanes), function.cage, function.name)


@collector("fabric links", every_s=COLD_S)
def build_links(machine: Machine) -> Read:
    tree = machine.tree

    def read(now: Round) -> Reading:
        functions = machine.kept(KEY, discover, now.monotonic_s)
        reading = Reading()
        for function in functions:
            _pcie(tree, function, reading)
            mtu = tree.number(f"{NET}/{function.netdev}/mtu") if function.netdev else None
            reading.add(network.MTU, mtu, function.cage, function.name)
        return reading if functions else nothing_here(NO_FABRIC)

    return read
