"""The fabric: functions, cages, bytes, links, counters. The rates of every scenario between its seconds 0 and 10."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.node.rounds import Rounds
from collectors.node.state import facts_of
from telemetry.catalog import network
from tests.node.node_machine import Clock, Node, build, machine, scrape, values

MakeNode = Callable[..., Node]
P1 = ("rocep1s0f1", "roceP2p1s0f1")
GIGABIT = 1e9 / 8


def series(name: str, function: str, cage: str = "p1") -> str:
    return f'{name}{{cage="{cage}",function="{function}"}}'


def loss(counter: str, function: str) -> str:
    return f'fabric_loss_total{{cage="p1",counter="{counter}",function="{function}"}}'


RATES = [
    ("idle", {}),
    ("nccl-busy", {series("rdma_transmit_bytes_total", one): 11.2e9 for one in P1}),
    ("nccl-busy", {series("rdma_receive_bytes_total", one): 11.2e9 for one in P1}),
    ("one-rail", {series("rdma_transmit_bytes_total", "rocep1s0f1"): 12.0e9}),
    ("tcp-fallback", {series("netdev_transmit_bytes_total", "rocep1s0f1"): 5.0e9}),
    ("degraded", {series("rdma_transmit_bytes_total", one): 825e6 for one in P1}),
    ("loss", {loss("packet_seq_err", one): 50.0 for one in P1} | {loss("out_of_sequence", one): 20.0 for one in P1}),
]
MOVING = ("rdma_transmit_bytes_total", "netdev_transmit_bytes_total", "fabric_loss_total")


@pytest.mark.parametrize(("scenario", "expected"), RATES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(RATES)])
def test_rates_between_0_and_10_seconds(node: MakeNode, scenario: str, expected: dict[str, float]) -> None:
    before, after = scrape(node(scenario, 0.0)), scrape(node(scenario, 10.0))
    assert {name: (after[name] - before[name]) / 10 for name in expected} == expected


def test_the_receiving_side_and_nothing_else_moves(node: MakeNode) -> None:
    before, after = scrape(node("tcp-fallback", 0.0)), scrape(node("tcp-fallback", 10.0))
    moved = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert moved == {series(f"netdev_{way}_bytes_total", "rocep1s0f1"): 5.0e10 for way in ("transmit", "receive")}


def test_a_cage_carries_both_functions(node: MakeNode) -> None:
    before, after = scrape(node("nccl-busy", 0.0)), scrape(node("nccl-busy", 10.0))
    sent = sum(after[name] - before[name] for name in after if "transmit" in name and 'cage="p1"' in name)
    assert sent / 10 == 22.4e9


def test_congestion_is_counted_apart_from_loss(node: MakeNode) -> None:
    after = scrape(node("loss", 10.0))
    labels = '{cage="p1",counter="rp_cnp_handled",function="rocep1s0f1"}'
    assert after[f"fabric_congestion_total{labels}"] == 20000
    assert f"fabric_loss_total{labels}" not in after


def test_a_counter_of_32_bits_begins_again(node: MakeNode) -> None:
    name = loss("packet_seq_err", "rocep1s0f1")
    before, after = scrape(node("wrap", 0.0))[name], scrape(node("wrap", 10.0))[name]
    assert (before, after) == (4294967290, 14), "as read; unwrapping is the hub's"
    assert (after - before) % 2**32 == 20


def test_an_uncabled_node_is_healthy(node: MakeNode) -> None:
    readings = Rounds(machine(node("uncabled"))).snapshot().readings
    for name in ("fabric", "fabric links", "fabric counters", "fabric identity"):
        assert readings[name].outcome == "nothing here"
        assert readings[name].samples == []
        assert "healthy" in readings[name].reason
    assert readings["management"].outcome == "ok"
    assert "mlx5" not in {labels[0] for _, labels, _ in readings["sensors"].samples}


@pytest.mark.parametrize(("scenario", "gigabits"), [("idle", 200), ("link-100g", 100)])
def test_the_capacity_of_a_cage_is_its_one_link(node: MakeNode, scenario: str, gigabits: int) -> None:
    found = scrape(node(scenario))
    assert found['cage_capacity_bytes_per_second{cage="p1"}'] == gigabits * GIGABIT
    assert {found[series("link_capacity_bytes_per_second", one)] for one in P1} == {gigabits * GIGABIT}
    assert [found[series("link_up", one)] for one in P1] == [1, 1]
    assert found[series("link_up", "rocep1s0f0", "p0")] == 0
    assert 'cage_capacity_bytes_per_second{cage="p0"}' not in found


def test_a_link_that_is_down_has_no_rate(node: MakeNode) -> None:
    found = scrape(node("link-down"))
    assert [found[series("link_up", one)] for one in P1] == [0, 0]
    assert not [name for name in found if "capacity_bytes" in name and "cage" in name and "pcie" not in name]


def test_pcie_and_mtu(node: MakeNode) -> None:
    tree = node()
    tree.put("/sys/devices/pci0002:00/0002:00:00.0/0002:01:00.1/current_link_width", "2\n")
    found = scrape(tree)
    assert found[series("pcie_width_lanes", "rocep1s0f1")] == 4
    assert found[series("pcie_width_lanes", "roceP2p1s0f1")] == 2
    assert found[series("pcie_capacity_bytes_per_second", "rocep1s0f1")] == pytest.approx(126.03 * GIGABIT, rel=1e-4)
    assert found[series("mtu_bytes", "rocep1s0f1")] == 9000
    assert found[series("mtu_bytes", "rocep1s0f0", "p0")] == 1500


def test_names_do_not_matter(node: MakeNode) -> None:
    """In another image the devices are called mlx5_N and ethN: the same cages come out."""
    tree = node()
    base = tree.root + "/sys/class/"
    for number, old in enumerate(sorted(os.listdir(base + "infiniband"))):
        os.rename(base + "infiniband/" + old, f"{base}infiniband/mlx5_{number}")
    found = scrape(tree)
    cages = {name.split('"')[3]: name.split('"')[1] for name in found if name.startswith("link_up")}
    assert cages == {"mlx5_0": "p0", "mlx5_1": "p1", "mlx5_2": "p0", "mlx5_3": "p1"}
    assert found[series("rdma_transmit_bytes_total", "mlx5_1")] == 17874318067 * 4
    assert found[series("netdev_transmit_bytes_total", "mlx5_1")] == 2098870


def test_a_container_without_the_netdevs(node: MakeNode) -> None:
    """RDMA devices show in a container, their netdevs do not: ports by PCI function, identity by GUID."""
    tree = node()
    for name in ("enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1"):
        os.unlink(f"{tree.root}/sys/class/net/{name}")
    found = scrape(tree)
    assert found[series("rdma_transmit_bytes_total", "rocep1s0f1")] == 71497257284
    assert not [name for name in found if name.startswith("netdev_")]
    assert found['cage_capacity_bytes_per_second{cage="p1"}'] == 200 * GIGABIT, "by the RDMA port's rate"


def test_two_cards_have_cages_of_their_own(node: MakeNode) -> None:
    tree = node()
    for name in ("enP2p1s0f0np0", "enP2p1s0f1np1"):
        tree.put(f"/sys/class/net/{name}/phys_switch_id", "ff00aa\n")
    found = scrape(tree)
    cages = {name.split('"')[1] for name in found if name.startswith("link_up")}
    assert cages == {"p0@161a", "p1@161a", "p0@ff00", "p1@ff00"}


def test_a_mellanox_netdev_without_rdma_is_fabric(node: MakeNode) -> None:
    tree = node()
    os.unlink(tree.root + "/sys/class/infiniband/rocep1s0f1")
    found = scrape(tree)
    assert found[series("netdev_transmit_bytes_total", "enp1s0f1np1")] == 1180922104
    assert found[series("link_up", "enp1s0f1np1")] == 1
    assert series("rdma_transmit_bytes_total", "enp1s0f1np1") not in found
    assert 'management_up{interface="enp1s0f1np1"}' not in found


def test_a_counter_that_cannot_be_read_has_no_line(node: MakeNode) -> None:
    tree = node()
    port = "/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.1/infiniband/rocep1s0f1/ports/1"
    tree.errors[f"{port}/hw_counters/packet_seq_err"] = errno.EINVAL
    tree.put(f"{port}/counters/port_xmit_data", "N/A (no PMA)\n")
    found = scrape(tree)
    assert loss("packet_seq_err", "rocep1s0f1") not in found
    assert series("rdma_transmit_bytes_total", "rocep1s0f1") not in found
    assert found[series("rdma_receive_bytes_total", "rocep1s0f1")] == 17869904081 * 4
    assert found[loss("out_of_sequence", "rocep1s0f1")] == 0


def test_bytes_that_cannot_be_read_are_a_failure_with_a_reason(node: MakeNode) -> None:
    tree = node()
    tree.put(
        "/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.1/infiniband/rocep1s0f1/ports/1/counters/port_xmit_data",
        "N/A (no PMA)\n",
    )
    tree.put("/sys/devices/pci0002:00/0002:00:00.0/0002:01:00.1/net/enP2p1s0f1np1/statistics/rx_bytes", "x\n")
    fabric = Rounds(machine(tree)).snapshot().readings["fabric"]
    assert (fabric.outcome, fabric.reason) == ("failed", "bytes of roceP2p1s0f1, rocep1s0f1 cannot be read")
    assert fabric.value(network.RDMA_TRANSMIT, "p1", "roceP2p1s0f1") is not None, "the others are there all the same"


def test_a_function_without_any_counter_is_a_failure_with_a_reason(node: MakeNode) -> None:
    tree = node()
    port = tree.root + "/sys/devices/pci0000:00/0000:00:00.0/0000:01:00.1/infiniband/rocep1s0f1/ports/1"
    shutil.rmtree(f"{port}/counters")
    shutil.rmtree(f"{port}/hw_counters")
    counters = Rounds(machine(tree)).snapshot().readings["fabric counters"]
    assert (counters.outcome, counters.reason) == ("failed", "no counter of rocep1s0f1 can be read")
    assert counters.value(network.FABRIC_AT_MAXIMUM, "p1", "roceP2p1s0f1") == 0


def test_a_device_that_vanishes_costs_only_itself(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rounds = Rounds(machine(tree, clock))
    rounds.snapshot()
    os.unlink(tree.root + "/sys/class/infiniband/rocep1s0f1")
    os.unlink(tree.root + "/sys/class/net/enp1s0f1np1")
    clock.now += 1
    gone = rounds.snapshot()
    assert gone.readings["fabric"].outcome == "ok"
    assert series("rdma_transmit_bytes_total", "roceP2p1s0f1") in values(gone.page)
    assert series("rdma_transmit_bytes_total", "rocep1s0f1") not in values(gone.page)
    clock.now += 1
    assert series("link_up", "rocep1s0f1") not in values(rounds.snapshot().page), "it was looked for anew"


def test_what_does_not_change_is_looked_for_every_ten_seconds(node: MakeNode) -> None:
    clock = Clock()
    watched = machine(node(), clock)
    rounds = Rounds(watched)
    rounds.snapshot()
    first = watched.kept("functions", lambda _tree: "anew", clock.now)
    clock.now += 9
    rounds.snapshot()
    assert watched.kept("functions", lambda _tree: "anew", clock.now) is first
    clock.now += 1
    assert watched.kept("functions", lambda _tree: "anew", clock.now) == "anew"


def test_a_netdev_with_a_new_name_is_found_in_the_next_round(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rounds = Rounds(machine(tree, clock))
    rounds.snapshot()
    below = "devices/pci0000:00/0000:00:00.0/0000:01:00.1/net"
    os.rename(f"{tree.root}/sys/{below}/enp1s0f1np1", f"{tree.root}/sys/{below}/eth5")
    os.unlink(f"{tree.root}/sys/class/net/enp1s0f1np1")
    os.symlink(f"../../{below}/eth5", f"{tree.root}/sys/class/net/eth5")
    for lines in (0, 1):
        clock.now += 1
        found = values(rounds.snapshot().page)
        assert sum(name == series("netdev_transmit_bytes_total", "rocep1s0f1") for name in found) == lines


def test_a_management_port_with_a_new_name_is_found_in_the_next_round(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rounds = Rounds(machine(tree, clock))
    rounds.snapshot()
    os.rename(f"{tree.root}/sys/class/net/wlP9s9", f"{tree.root}/sys/class/net/wlan0")
    clock.now += 1
    assert 'management_up{interface="wlP9s9"}' not in values(rounds.snapshot().page)
    clock.now += 1
    assert values(rounds.snapshot().page)['management_up{interface="wlan0"}'] == 1


def test_what_is_plugged_in_later_is_found_within_ten_seconds(node: MakeNode) -> None:
    tree, clock = node("uncabled"), Clock()
    rounds = Rounds(machine(tree, clock))
    assert rounds.snapshot().readings["fabric"].outcome == "nothing here"
    shutil.rmtree(tree.root)
    build(Path(tree.root))
    clock.now += 9
    assert rounds.snapshot().readings["fabric"].outcome == "nothing here"
    clock.now += 1
    assert rounds.snapshot().readings["fabric"].outcome == "ok"


def test_cold_counters_are_read_every_ten_seconds(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    rounds = Rounds(machine(tree, clock))
    rounds.snapshot()
    tree.both("/sys/class/infiniband/{rdma}/ports/1/hw_counters/packet_seq_err", "5")
    clock.now += 9.9
    assert values(rounds.snapshot().page)[loss("packet_seq_err", "rocep1s0f1")] == 0
    clock.now += 0.2
    assert values(rounds.snapshot().page)[loss("packet_seq_err", "rocep1s0f1")] == 5


def test_the_roce_case_of_one_cable_at_144_gigabits(tmp_path: Path) -> None:
    """Two functions at 72 Gb/s each are one cable of 200 Gb/s at 72 %; saturated counters say so."""
    found = []
    for words, errors, sent in ((1_000_000_000_000, 0, 102409818764), (1_002_250_000_000, 7, 102409820764)):
        tree = Node(tmp_path / str(errors))
        for rdma, net in (("rocep1s0f0", "enp1s0f0np0"), ("roceP2p1s0f0", "enP2p1s0f0np0")):
            port, counters = f"/sys/class/infiniband/{rdma}/ports/1/", f"/sys/class/infiniband/{rdma}/ports/1/counters/"
            tree.put(f"/sys/class/infiniband/{rdma}/device/net/{net}/.keep", "")
            for path, text in (("rate", "200 Gb/sec (2X NDR)"), ("state", "4: ACTIVE"), ("link_layer", "Ethernet")):
                tree.put(port + path, text + "\n")
            for counter in ("port_xmit_data", "port_rcv_data"):
                tree.put(counters + counter, f"{words}\n")
            for counter, value in (("link_downed", 255), ("port_xmit_discards", 65535), ("port_xmit_wait", 2**32 - 1)):
                tree.put(counters + counter, f"{value}\n")
            tree.put(port + "hw_counters/packet_seq_err", f"{errors}\n")
            for path, text in (("carrier", "1"), ("mtu", "9000"), ("speed", "200000")):
                tree.put(f"/sys/class/net/{net}/{path}", text + "\n")
            for way in ("tx_bytes", "rx_bytes"):
                tree.put(f"/sys/class/net/{net}/statistics/{way}", f"{sent}\n")
        found.append((scrape(tree), facts_of(Rounds(machine(tree)).snapshot().readings)))
    (before, _), (after, facts) = found
    plane = [after[one] - before[one] for one in after if one.startswith("rdma_transmit")]
    assert [one / GIGABIT for one in plane] == [72.0, 72.0]
    assert after['cage_capacity_bytes_per_second{cage="p0"}'] == 200 * GIGABIT
    assert sum(plane) / after['cage_capacity_bytes_per_second{cage="p0"}'] == 0.72
    for function in ("rocep1s0f0", "roceP2p1s0f0"):
        assert after[series("fabric_counters_at_maximum", function, "p0")] == 3
        assert facts[f"function.{function}.at_maximum"] == "link_downed, port_xmit_discards, port_xmit_wait"
        name = f'fabric_loss_total{{cage="p0",counter="packet_seq_err",function="{function}"}}'
        assert after[name] - before[name] == 7
        assert after[f'fabric_errors_total{{cage="p0",counter="link_downed",function="{function}"}}'] == 255


def test_facts_of_a_function(node: MakeNode) -> None:
    facts = facts_of(Rounds(machine(node())).snapshot().readings)
    assert facts["function.rocep1s0f1.cage"] == "p1"
    assert facts["function.rocep1s0f1.pci"] == "0000:01:00.1"
    assert facts["function.rocep1s0f1.addresses"] == "192.168.100.11"
    assert facts["function.rocep1s0f1.gid_index"] == "3"
    assert "function.rocep1s0f0.addresses" not in facts


def test_management_ports(node: MakeNode) -> None:
    found = scrape(node())
    assert found['management_transmit_bytes_total{interface="enP7s7"}'] == 765341454
    assert found['management_receive_bytes_total{interface="enP7s7"}'] == 51856679
    assert found['management_capacity_bytes_per_second{interface="enP7s7"}'] == 10 * GIGABIT
    assert found['management_up{interface="wlP9s9"}'] == 1
    assert 'management_capacity_bytes_per_second{interface="wlP9s9"}' not in found, "its speed reads EINVAL"
    assert {name.split('"')[1] for name in found if name.startswith("management_up")} == {"enP7s7", "wlP9s9"}


def test_a_management_port_without_carrier(node: MakeNode) -> None:
    tree = node()
    base = "/sys/devices/pci0007:00/0007:00:00.0/0007:01:00.0/net/enP7s7"
    tree.errors[f"{base}/carrier"] = errno.EINVAL
    found = scrape(tree)
    assert found['management_up{interface="enP7s7"}'] == 0
    assert 'management_capacity_bytes_per_second{interface="enP7s7"}' not in found
