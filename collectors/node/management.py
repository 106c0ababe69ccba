"""Ports that are not part of the fabric: the 10 GbE port, Wi-Fi, a USB adapter."""

from __future__ import annotations

from collectors.node.fabric import MEGABIT
from collectors.node.functions import KEY, NET, discover
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, nothing_here
from collectors.node.tree import Tree
from telemetry.catalog import network

PORTS = "management ports"


def hardware_ports(tree: Tree) -> tuple[str, ...]:
    """Netdevs with a device behind them; bridges, bonds and containers' pairs would count the same bytes again."""
    return tuple(name for name in tree.names(NET) if tree.exists(f"{NET}/{name}/device"))


def _port(tree: Tree, name: str, reading: Reading) -> bool:
    """Add one port; False when it has vanished."""
    base = f"{NET}/{name}"
    sent = tree.number(f"{base}/statistics/tx_bytes")
    if sent is None:
        return False
    reading.add(network.MANAGEMENT_TRANSMIT, sent, name)
    reading.add(network.MANAGEMENT_RECEIVE, tree.number(f"{base}/statistics/rx_bytes"), name)
    # A port that is administratively down answers EINVAL here: it has no carrier.
    up = tree.number(f"{base}/carrier") == 1
    reading.add(network.MANAGEMENT_UP, float(up), name)
    speed = tree.number(f"{base}/speed") if up else None
    reading.add(network.MANAGEMENT_CAPACITY, speed * MEGABIT if speed and speed > 0 else None, name)
    return True


@collector("management")
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        fabric = {function.netdev for function in machine.kept(KEY, discover, now.monotonic_s)}
        reading = Reading()
        for name in machine.kept(PORTS, hardware_ports, now.monotonic_s):
            if name not in fabric and not _port(machine.tree, name, reading):
                machine.forget(PORTS)
        return reading if reading.samples else nothing_here("no port outside the fabric")

    return read
