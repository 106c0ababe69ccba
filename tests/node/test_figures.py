"""Numbers that no machine can mean: they have no line, and cost nothing but themselves."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from collectors.node.fabric import link_rate, pcie_rate
from collectors.node.figures import LARGEST, believable, count, decimal, integer
from collectors.node.lowest import Trailing, sample
from collectors.node.memory import headroom, page_cache, parse_meminfo, unattributed, used
from collectors.node.page import PageWriter
from collectors.node.processes import resident_in
from collectors.node.reading import Reading
from collectors.node.rounds import Rounds
from collectors.node.state import encode, state
from telemetry.catalog import host, memory
from tests.node.node_machine import Node, machine, values

MakeNode = Callable[..., Node]
ABSURD = (4299 * "9", 400 * "9", 20 * "9", "1e3", "1_000", "٣", "²", "-", "", "0x10", "nan", "inf", "1 2")
KNOWN = dict.fromkeys(("MemTotal", "MemFree", "Buffers", "Cached", "AnonPages", "Slab"), 1) | {"MemTotal": 100}


@pytest.mark.parametrize("text", ABSURD)
def test_what_is_no_number_is_unknown(text: str) -> None:
    assert integer(text) is None
    assert integer(text.encode()) is None
    assert count(text) is None
    assert decimal(text) is None


def test_numbers_up_to_64_bits_are_numbers() -> None:
    assert integer(" 42\n") == integer(b" 42\n") == 42
    assert integer(str(2**64)) == 2**64
    assert integer(str(2**64 + 1)) is None
    assert integer("-1") == -1
    assert integer(f"-{2**64}") == -(2**64)
    assert count("-1") is None
    assert count("0") == 0
    assert count(b"3", 1024) == 3072
    assert count(str(2**54), 1024) == 2**64
    assert count(str(2**54 + 1), 1024) is None
    assert decimal("-0.25\n") == -0.25
    assert decimal(b"3") == 3.0
    assert decimal("3.") is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 2**64 + 1, -(2**64) - 1, 10**4299, 10**400])
def test_a_number_that_cannot_be_is_not_kept_and_not_written(value: float) -> None:
    reading = Reading()
    reading.add(memory.MEMORY_TOTAL, value)
    assert reading.samples == []
    assert not believable(value)
    written = PageWriter().write([(memory.MEMORY_FREE, (), value), (memory.MEMORY_TOTAL, (), 5)])
    assert values(written) == {"memory_total_bytes": 5}
    assert PageWriter().write([(memory.MEMORY_FREE, (), value)]) == b""


def test_the_largest_numbers_and_truth_values_are_kept() -> None:
    reading = Reading()
    for rail, value in (("a", LARGEST), ("b", 2.0**64), ("c", True), ("d", -LARGEST), ("e", 0)):
        reading.add(host.SYSTEM_POWER, value, rail)
    assert [value for _, _, value in reading.samples] == [2**64, 2.0**64, True, -(2**64), 0]
    assert list(values(PageWriter().write(reading.samples)).values()) == [2**64, 2**64, 1, -(2**64), 0]


def test_only_a_counter_cannot_be_below_0() -> None:
    reading = Reading()
    reading.add(memory.OOM_KILLS, -1)
    reading.add(memory.OOM_KILLS, 0)
    reading.add(host.TEMPERATURE, -5.0, "nvme")
    assert [value for _, _, value in reading.samples] == [0, -5.0]


def test_a_name_that_is_no_text_costs_no_page() -> None:
    assert 'sensor="a?"' in PageWriter().write([(host.TEMPERATURE, ("a\udcff",), 1)]).decode()


@pytest.mark.parametrize("digits", [20, 400, 4299, 5000])
def test_one_absurd_number_costs_itself_alone(node: MakeNode, digits: int) -> None:
    tree, nines = node(), digits * "9"
    tree.meminfo(MemTotal=nines, SwapFree=nines)  # type: ignore[arg-type]
    tree.put("/sys/class/net/enp1s0f1np1/statistics/tx_bytes", nines + "\n")
    tree.put("/sys/class/net/enp1s0f1np1/speed", nines + "\n")
    rounds = Rounds(machine(tree))
    snapshot = rounds.snapshot()
    found = values(snapshot.page)
    assert "memory_total_bytes" not in found
    assert "memory_used_bytes" not in found
    assert "memory_unattributed_bytes" not in found
    assert "swap_free_bytes" not in found
    assert found["memory_free_bytes"] == 92000000 * 1024
    assert max(found.values()) < 2**64
    assert snapshot.readings["fabric"].reason == "bytes of rocep1s0f1 cannot be read"
    assert found['netdev_receive_bytes_total{cage="p1",function="rocep1s0f1"}'] > 0
    assert b"9" * 20 not in snapshot.page + encode(state(rounds, snapshot, 0))


def test_five_looks_a_second_survive_an_absurd_number(node: MakeNode) -> None:
    tree, trailing = node(), Trailing()
    tree.put("/proc/meminfo", f"MemAvailable: {4299 * '9'} kB\n")
    sample(machine(tree).tree, trailing, 1.0)
    assert trailing.lowest(1.0) is None
    tree.put("/proc/meminfo", "MemAvailable: 5")
    sample(machine(tree).tree, trailing, 1.0)
    assert trailing.lowest(1.0) == 5 * 1024


def test_the_resident_memory_of_a_process_is_a_number_or_unknown() -> None:
    assert resident_in("VmRSS:\t 7 kB\n") == 7 * 1024
    assert resident_in(f"VmRSS:\t {4299 * '9'} kB\n") is None


def test_absurd_rates_of_links_are_unknown() -> None:
    assert link_rate(None, f"{400 * '9'} Gb/sec (4X HDR)") is None
    assert pcie_rate(f"{400 * '9'} GT/s PCIe", 4) is None


def test_what_is_named_but_unreadable_makes_its_sums_unknown() -> None:
    fields = parse_meminfo(b"MemTotal: x kB\nMemFree: 1 kB\nEmpty:\n")
    assert fields == {"MemTotal": None, "MemFree": 1024}
    assert unattributed(KNOWN) == 95
    assert unattributed(KNOWN | {"Percpu": None}) is None, "not as if the kernel did not account for it"
    assert unattributed(KNOWN | {"MemTotal": None}) is None
    assert used({"MemTotal": 9, "MemAvailable": None}) is None
    assert used({"MemTotal": None, "MemAvailable": 9}) is None
    assert headroom({"HugePages_Total": None, "HugePages_Free": 0, "Hugepagesize": 1, "MemAvailable": 5}) is None
    assert headroom({"HugePages_Total": 1, "HugePages_Free": None, "Hugepagesize": 1}) is None
    assert headroom({"HugePages_Total": 1, "HugePages_Free": 1, "Hugepagesize": None}) is None
    assert page_cache({"Cached": 10, "Buffers": 1, "SReclaimable": 2, "Shmem": None}) is None
