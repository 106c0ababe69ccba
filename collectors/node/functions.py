"""Which PCI functions of the NIC there are, and which cage each belongs to.

A cage is one QSFP port, seen as two functions in two PCI domains. The group is (identity of the NIC, name of the port);
device names are only a last resort, because in containers and other images they are mlx5_0 and eth1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from collectors.node.tree import Tree

INFINIBAND = "/sys/class/infiniband"
NET = "/sys/class/net"
MELLANOX = "0x15b3"
KEY = "functions"
PORT_IN_NAME = (re.compile(r"np(\d+)$"), re.compile(r"f(\d+)(?:np\d+)?$"))
PCI_ADDRESS = re.compile(r"/[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.([0-7])$")
ID_DIGITS = 4


class Function(NamedTuple):
    """One function: label, RDMA device and netdev (either may be missing), device directory, NIC, port, cage."""

    name: str
    rdma: str | None
    netdev: str | None
    device: str
    nic: str
    port: str
    cage: str = ""

    @property
    def pci(self) -> str | None:
        """PCI address, None when the device directory is not one of PCI."""
        return self.device.rpartition("/")[2] if PCI_ADDRESS.search(self.device) else None


def nic_identity(switch_id: str | None, image_guid: str | None) -> str:
    """One spelling for phys_switch_id and sys_image_guid, whose bytes are the former's in reverse; "" without both."""
    if switch_id:
        return switch_id.lower()
    digits = (image_guid or "").replace(":", "").lower()
    try:
        return bytes.fromhex(digits)[::-1].hex()
    except ValueError:
        return digits


def port_of(port_name: str | None, names: Iterable[str | None], device: str) -> str:
    """Port name the driver gives, else the port number in a device's name, else the PCI function number, else p0."""
    if port_name:
        return port_name
    for pattern in PORT_IN_NAME:
        for name in names:
            match = pattern.search(name) if name else None
            if match:
                return f"p{match[1]}"
    match = PCI_ADDRESS.search(device)
    return f"p{match[1]}" if match else "p0"


def with_cages(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Give each function its cage: the port's name, and part of the NIC's identity where there are several NICs."""
    found = tuple(functions)
    several = len({function.nic for function in found}) > 1
    return tuple(
        function._replace(cage=f"{function.port}@{function.nic[:ID_DIGITS]}" if several else function.port)
        for function in found
    )


def _function(tree: Tree, rdma: str | None, netdev: str | None, device: str) -> Function:
    net = f"{NET}/{netdev}"
    switch_id = tree.line(f"{net}/phys_switch_id") if netdev else None
    guid = tree.line(f"{INFINIBAND}/{rdma}/sys_image_guid") if rdma else None
    port_name = tree.line(f"{net}/phys_port_name") if netdev else None
    port = port_of(port_name, (netdev, rdma), device)
    return Function(rdma or netdev or "", rdma, netdev, device, nic_identity(switch_id, guid), port)


def _netdev_of(tree: Tree, rdma: str, visible: set[str]) -> str | None:
    """The netdev of an RDMA device's function, None when it lives in another network namespace."""
    beside = tree.names(f"{INFINIBAND}/{rdma}/device/net")
    return next((name for name in beside if name in visible), None)


def _is_there(tree: Tree, function: Function) -> bool:
    places = ((INFINIBAND, function.rdma), (NET, function.netdev))
    return all(tree.exists(f"{directory}/{name}") for directory, name in places if name)


def still_there(tree: Tree, functions: Iterable[Function]) -> str:
    """Names of those that could not be read although they are there; what has just vanished is looked for anew."""
    return ", ".join(function.name for function in functions if _is_there(tree, function))


def discover(tree: Tree) -> tuple[Function, ...]:
    """All functions of the fabric: RDMA devices of hardware with their netdevs, and Mellanox netdevs without RDMA."""
    netdevs = set(tree.names(NET))
    found, taken = [], set()
    for rdma in tree.names(INFINIBAND):
        if tree.exists(f"{INFINIBAND}/{rdma}/device"):
            netdev = _netdev_of(tree, rdma, netdevs)
            taken.add(netdev)
            found.append(_function(tree, rdma, netdev, tree.resolve(f"{INFINIBAND}/{rdma}/device")))
    for netdev in sorted(netdevs - taken):
        if tree.line(f"{NET}/{netdev}/device/vendor") == MELLANOX:
            found.append(_function(tree, None, netdev, tree.resolve(f"{NET}/{netdev}/device")))
    return with_cages(found)
