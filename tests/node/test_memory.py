"""Memory: /proc/meminfo, /proc/vmstat, /proc/buddyinfo, pressure, and the lowest of the last two seconds."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from collectors.node.blocks import free_blocks
from collectors.node.lowest import Trailing, sample
from collectors.node.memory import available_in, cma_defect, headroom, page_cache, parse, parse_meminfo, unattributed
from collectors.node.paging import parse_vmstat
from collectors.node.pressure import parse as parse_pressure
from collectors.node.rounds import Rounds
from collectors.node.tree import Tree
from tests.node.node_machine import Clock, Node, machine, scrape, values

KIB = 1024
GIB = 1024**3
MakeNode = Callable[..., Node]


def test_a_line_of_meminfo_is_kibibytes_or_a_count() -> None:
    fields = parse_meminfo(b"MemTotal:  127600748 kB\nHugePages_Total:       8\nBroken line\nBad: x kB\n")
    assert fields == {"MemTotal": 127600748 * KIB, "HugePages_Total": 8, "Bad": None}


def test_an_idle_node(node: MakeNode) -> None:
    found = scrape(node())
    assert found["memory_total_bytes"] == 127600748 * KIB
    assert found["memory_used_bytes"] == (127600748 - 118566368) * KIB
    assert found["memory_available_bytes"] == found["memory_headroom_bytes"] == 118566368 * KIB
    assert found["memory_free_bytes"] == 92000000 * KIB
    assert found["memory_cached_bytes"] == (24000000 - 45000 + 410000 + 2350000) * KIB
    assert found["memory_shmem_bytes"] == 45000 * KIB
    assert found["memory_anonymous_bytes"] == 5200000 * KIB
    assert found["memory_kernel_bytes"] == (550000 + 24000 + 62000 + 18000 + 27520) * KIB
    assert found["memory_unattributed_bytes"] == 2959228 * KIB
    assert found["swap_total_bytes"] == found["swap_free_bytes"] == 16777212 * KIB
    assert found["memory_cma_defect"] == 0


def test_the_parts_of_memory_add_up(node: MakeNode) -> None:
    found = scrape(node("serving"))
    parts = ("free", "cached", "shmem", "anonymous", "kernel", "unattributed", "hugepages_total")
    assert sum(found[f"memory_{part}_bytes"] for part in parts) == found["memory_total_bytes"]


def test_huge_pages_are_the_headroom_where_some_are_reserved(node: MakeNode) -> None:
    found = scrape(node("hugetlb"))
    assert found["memory_headroom_bytes"] == found["memory_hugepages_free_bytes"] == 3 * GIB
    assert found["memory_hugepages_total_bytes"] == 8 * GIB
    assert found["memory_unattributed_bytes"] == 0, "more is explained than there is: not below 0"
    assert headroom({"MemAvailable": 5, "HugePages_Total": 0}) == 5
    assert headroom({"MemAvailable": 5, "HugePages_Total": 2}) is None


def test_the_driver_pool_is_unattributed(node: MakeNode) -> None:
    found = scrape(node("driver-pool"))
    assert found["memory_used_bytes"] == (127600816 - 40174336) * KIB
    assert found["memory_unattributed_bytes"] == 82009984 * KIB


def test_contiguous_memory_that_is_freer_than_large_is_a_defect(node: MakeNode) -> None:
    assert scrape(node("kho-defect"))["memory_cma_defect"] == 1
    assert cma_defect({"CmaTotal": 4, "CmaFree": 4}) == 0
    assert cma_defect({"CmaFree": 4}) is None


@pytest.mark.parametrize("missing", ["MemTotal", "MemFree", "Buffers", "Cached", "AnonPages", "Slab"])
def test_what_is_missing_makes_the_rest_unknown(missing: str) -> None:
    fields = dict.fromkeys(("MemTotal", "MemFree", "Buffers", "Cached", "AnonPages", "Slab"), 1) | {"MemTotal": 100}
    assert unattributed(fields) == 95
    assert unattributed(fields | {"Percpu": 2, "Hugetlb": 3}) == 90
    assert unattributed({name: value for name, value in fields.items() if name != missing}) is None


def test_page_cache_without_shared_memory_is_unknown() -> None:
    assert page_cache({"Cached": 10, "Buffers": 1, "SReclaimable": 2, "Shmem": 4}) == 9
    assert page_cache({"Cached": 10, "Buffers": 1, "SReclaimable": 2}) is None


def test_an_absent_field_has_no_line() -> None:
    names = {metric.name for metric, _, _ in parse(b"MemTotal: 10 kB\nMemFree: 4 kB\n", None).samples}
    assert names == {"memory_total_bytes", "memory_free_bytes"}


def test_the_lowest_of_two_seconds() -> None:
    trailing = Trailing()
    assert trailing.lowest(0.0) is None
    for at_s, value in ((0.0, 30), (0.25, 12), (0.5, 40), (2.375, 50)):
        trailing.add(at_s, value)
    assert trailing.lowest(2.375) == 40, "12 was 2.125 s ago"
    assert trailing.lowest(2.5) == 40
    assert trailing.lowest(2.625) == 50
    assert trailing.lowest(9.0) is None


def test_a_dip_between_two_scrapes_is_seen(node: MakeNode) -> None:
    tree, clock, trailing = node(), Clock(), Trailing()
    tree.meminfo(MemAvailable=13_000_000)
    sample(Tree(tree.root), trailing, clock.now)
    tree.meminfo(MemAvailable=35_000_000)
    clock.now += 0.4
    watched = machine(tree, clock)
    watched.lowest_available = trailing.lowest
    found = values(Rounds(watched).snapshot().page)
    assert found["memory_available_bytes"] == 35_000_000 * KIB
    assert found["memory_available_min_bytes"] == 13_000_000 * KIB


def test_the_value_of_the_scrape_itself_can_be_the_lowest() -> None:
    found = {metric.name: value for metric, _, value in parse(b"MemAvailable: 10 kB\n", 20 * KIB).samples}
    assert found["memory_available_min_bytes"] == 10 * KIB


def test_sampling_where_nothing_can_be_read_keeps_nothing(node: MakeNode) -> None:
    tree, trailing = node(), Trailing()
    tree.put("/proc/meminfo", "MemTotal: 1 kB\n")
    sample(Tree(tree.root), trailing, 1.0)
    sample(Tree(tree.root + "/nowhere"), trailing, 1.0)
    assert trailing.lowest(1.0) is None
    assert available_in(b"MemFree: 1 kB\nMemAvailable:   118566368 kB\n") == 118566368 * KIB


def test_swap_and_compaction() -> None:
    found = parse_vmstat(b"pswpin 3\npswpout 5\nallocstall_dma 1\nallocstall_normal 2\noom_kill 1\nnr_free_pages 9\n")
    assert found == {"pswpin": 3, "pswpout": 5, "allocstall": 3, "oom_kill": 1}


def test_swap_is_counted_in_bytes(node: MakeNode) -> None:
    tree = node("fragmented")
    tree.put("/proc/vmstat", tree.get("/proc/vmstat").replace("pswpin 0", "pswpin 7").replace("pswpout 0", "pswpout 9"))
    found = scrape(tree)
    assert (found["swap_in_bytes_total"], found["swap_out_bytes_total"]) == (7 * 4096, 9 * 4096)
    assert found["memory_compaction_stalls_total"] == 2700000
    assert found["memory_compaction_failures_total"] == 1350000
    assert found["oom_kills_total"] == 0


def test_free_blocks_by_size(node: MakeNode) -> None:
    fresh, fragmented = scrape(node()), scrape(node("fragmented"))
    assert fresh['memory_free_blocks{at_least="16MiB"}'] == 1417 + 782
    assert fresh['memory_free_blocks{at_least="4MiB"}'] == 610 + 480 + 1417 + 782
    assert fragmented['memory_free_blocks{at_least="16MiB"}'] == 27
    assert fragmented['memory_free_blocks{at_least="4MiB"}'] == 610 + 480 + 27


BUDDY = "Node 0, zone Normal 9 8 7 6\nNode 0, zone DMA 1 1 1 1\nNode 1, zone Normal 5 4 3 2\n"


@pytest.mark.parametrize(
    ("page_bytes", "at_least", "expected"),
    [(4096, 16384, 7 + 6 + 3 + 2), (65536, 262144, 7 + 6 + 3 + 2), (4096, 1 << 20, None)],
    ids=["orders 2 and 3 of 4 KiB", "the same orders of 64 KiB", "no such order"],
)
def test_an_order_is_a_power_of_the_page(page_bytes: int, at_least: int, expected: int | None) -> None:
    assert free_blocks(BUDDY, page_bytes, at_least) == expected


def test_no_zone_normal_is_unknown() -> None:
    assert free_blocks("Node 0, zone DMA 1 1 1 1\n", 4096, 4096) is None


def test_pressure_in_seconds(node: MakeNode) -> None:
    assert parse_pressure("some avg10=0.00 total=1821334\nfull avg10=0.00 total=1502771\nelse total=1\n") == {
        "some": 1.821334,
        "full": 1.502771,
    }
    found = scrape(node())
    assert found['pressure_waiting_seconds_total{resource="memory"}'] == 1.821334
    assert found['pressure_stalled_seconds_total{resource="memory"}'] == 1.502771
    assert found['pressure_waiting_seconds_total{resource="io"}'] == 40.322871


@pytest.mark.parametrize(("code", "outcome"), [(errno.EOPNOTSUPP, "nothing here"), (errno.EACCES, "failed")])
def test_a_kernel_without_pressure_has_nothing(node: MakeNode, code: int, outcome: str) -> None:
    tree = node()
    for resource in ("cpu", "memory", "io"):
        tree.errors[f"/proc/pressure/{resource}"] = code
    readings = Rounds(machine(tree)).snapshot().readings
    assert readings["pressure"].outcome == outcome
    assert readings["pressure"].samples == []
    assert readings["memory"].outcome == "ok"
