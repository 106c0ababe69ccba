"""The parts of the fabric's collectors that need no machine: rates, states, names, widths of counters, addresses."""

from __future__ import annotations

import pytest

from collectors.node.addresses import ipv4
from collectors.node.counters import BITS, TOLD, at_maximum
from collectors.node.fabric import link_rate, link_up, pcie_rate
from collectors.node.functions import nic_identity, port_of

GIGABIT = 1e9 / 8


@pytest.mark.parametrize(
    ("speed", "lanes", "expected"),
    [
        ("32.0 GT/s PCIe", 4, 32e9 * 128 / 130 * 4 / 8),
        ("8.0 GT/s PCIe", 1, 8e9 * 128 / 130 / 8),
        ("5.0 GT/s PCIe", 2, 1e9),
        ("Unknown", 4, None),
        (None, 4, None),
        ("32.0 GT/s PCIe", None, None),
    ],
)
def test_pcie_rate(speed: str | None, lanes: int | None, expected: float | None) -> None:
    assert pcie_rate(speed, lanes) == (None if expected is None else pytest.approx(expected, rel=1e-12))


@pytest.mark.parametrize(
    ("speed", "rate", "gigabits"),
    [
        (200000, "40 Gb/sec (4X QDR)", 200),
        (None, "200 Gb/sec (2X NDR)", 200),
        (-1, "100 Gb/sec (4X EDR)", 100),
        (0, "2.5 Gb/sec (1X SDR)", 2.5),
        (None, "N/A", None),
        (None, None, None),
    ],
)
def test_link_rate(speed: int | None, rate: str | None, gigabits: float | None) -> None:
    assert link_rate(speed, rate) == (None if gigabits is None else gigabits * GIGABIT)


@pytest.mark.parametrize(
    ("state", "carrier", "expected"),
    [
        ("4: ACTIVE", None, True),
        ("1: DOWN", 1, False),
        (None, 1, True),
        (None, 0, False),
        (None, None, None),
    ],
)
def test_link_up(state: str | None, carrier: int | None, expected: bool | None) -> None:
    assert link_up(state, carrier) is expected


@pytest.mark.parametrize(
    ("port_name", "names", "device", "expected"),
    [
        ("p1", ("enp1s0f0np0", "rocep1s0f0"), "/sys/devices/0000:01:00.0", "p1"),
        (None, ("enP2p1s0f1np1", "mlx5_3"), "/x/0002:01:00.0", "p1"),
        (None, (None, "rocep1s0f1"), "/x/0000:01:00.0", "p1"),
        (None, ("eth7", "mlx5_3"), "/x/0002:01:00.1", "p1"),
        (None, ("eth7", "mlx5_3"), "/x/nothing", "p0"),
    ],
    ids=["the driver's word", "netdev", "RDMA device", "PCI function", "nothing"],
)
def test_which_port_a_function_is(
    port_name: str | None, names: tuple[str | None, ...], device: str, expected: str
) -> None:
    assert port_of(port_name, names, device) == expected


def test_one_identity_in_two_spellings() -> None:
    assert nic_identity("161a2d000347bb4c", None) == nic_identity(None, "4cbb:4703:002d:1a16") == "161a2d000347bb4c"
    assert nic_identity(None, None) == ""
    assert nic_identity(None, "not hex") == "not hex"


@pytest.mark.parametrize("counter", sorted(BITS))
def test_every_classic_counter_stops_at_its_width(counter: str) -> None:
    assert at_maximum({counter: 2 ** BITS[counter] - 2}) == []
    assert at_maximum({counter: 2 ** BITS[counter] - 1}) == [counter]


WIDTHS = {
    4: {"local_link_integrity_errors", "excessive_buffer_overrun_errors"},
    8: {"link_downed", "link_error_recovery", "port_rcv_constraint_errors", "port_xmit_constraint_errors"},
    16: {"symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors"}
    | {"port_xmit_discards", "VL15_dropped"},
    32: {"port_xmit_wait"},
}


def test_the_widths() -> None:
    assert {name: bits for bits, names in WIDTHS.items() for name in names} == BITS
    assert set(TOLD) < set(BITS)
    assert at_maximum({}) is None
    assert at_maximum({"packet_seq_err": 2**32 - 1}) is None


@pytest.mark.parametrize(
    ("gid", "expected"),
    [
        ("0000:0000:0000:0000:0000:ffff:c0a8:c811", "192.168.200.17"),
        ("fe80:0000:0000:0000:4ebb:47ff:fe2d:1a16", None),
        ("0000:0000:0000:0000:0000:ffff:zz", None),
        ("0000:0000:0000:0000:0000:ffff:c0a8", None),
    ],
)
def test_ipv4_of_a_gid(gid: str, expected: str | None) -> None:
    assert ipv4(gid) == expected
