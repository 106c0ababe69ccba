"""Facts of each function of the fabric: what it is, where it sits, which addresses it has."""

from __future__ import annotations

from collectors.node.fabric import NO_FABRIC
from collectors.node.functions import INFINIBAND, KEY, NET, Function, discover
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, nothing_here
from collectors.node.tree import Tree

EVERY_S = 60.0
TABLE_ROWS = 16
"""The table of a port has 256 rows, of which a node uses a handful at the start."""
ROCE_V2 = "RoCE v2"
MAPPED = "0000:0000:0000:0000:0000:ffff:"


def ipv4(gid: str) -> str | None:
    """The IPv4 address a GID of the form 0000:…:ffff:c0a8:c811 stands for, None when it is another kind."""
    if not gid.startswith(MAPPED):
        return None
    try:
        digits = bytes.fromhex(gid[len(MAPPED) :].replace(":", ""))
    except ValueError:
        return None
    return ".".join(str(byte) for byte in digits) if len(digits) == 4 else None


def roce_addresses(tree: Tree, rdma: str) -> list[tuple[int, str]]:
    """(GID index, IPv4 address) of the RoCE v2 rows; nodes must agree on the index, or connections fail."""
    port, found = f"{INFINIBAND}/{rdma}/ports/1", []
    for index in range(TABLE_ROWS):
        gid = tree.line(f"{port}/gids/{index}")
        if gid is None:
            break
        address = ipv4(gid)
        if address and tree.line(f"{port}/gid_attrs/types/{index}") == ROCE_V2:
            found.append((index, address))
    return found


def describe(tree: Tree, function: Function) -> dict[str, str | None]:
    """Facts of one function, by the last part of their name."""
    facts = {"cage": function.cage, "netdev": function.netdev, "pci": function.pci, "nic": function.nic}
    if function.rdma:
        base = f"{INFINIBAND}/{function.rdma}"
        rows = roce_addresses(tree, function.rdma)
        facts |= {
            "firmware": tree.line(f"{base}/fw_ver"),
            "board": tree.line(f"{base}/board_id"),
            "link_layer": tree.line(f"{base}/ports/1/link_layer"),
            "addresses": ", ".join(address for _, address in rows),
            "gid_index": ", ".join(str(index) for index, _ in rows),
        }
    if function.netdev:
        facts["mac"] = tree.line(f"{NET}/{function.netdev}/address")
    return facts


@collector("fabric identity", every_s=EVERY_S)
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        functions = machine.kept(KEY, discover, now.monotonic_s)
        reading = Reading()
        for function in functions:
            for name, value in describe(machine.tree, function).items():
                reading.fact(f"function.{function.name}.{name}", value)
        return reading if functions else nothing_here(NO_FABRIC)

    return read
