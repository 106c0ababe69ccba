"""Every scenario's page: accepted by promtool, whole, and with nothing in it that the catalogue does not know."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

from collectors.node.rounds import Rounds
from telemetry import catalog
from tests.node.conftest import Stub
from tests.node.node_machine import DATA, SCENARIOS, Node, machine

MakeNode = Callable[..., Node]
FAMILIES = 80
WITHOUT_FABRIC = 65
SERIES = re.compile(r"^tachograph_(\w+?)(?:\{(.*)\})? (\S+)$")
DIFFERENT = {
    "idle": set(),
    "hugetlb": {"memory_headroom_bytes", "memory_hugepages_free_bytes", "memory_hugepages_total_bytes"}
    | {"memory_unattributed_bytes", "memory_driver_retained_bytes"},
    "kho-defect": {"memory_cma_defect", "memory_free_bytes"}
    | {"memory_unattributed_bytes", "memory_driver_retained_bytes"},
    "link-100g": {"link_capacity_bytes_per_second", "cage_capacity_bytes_per_second"},
    "link-down": {"link_up", "link_capacity_bytes_per_second", "cage_capacity_bytes_per_second"},
    "fragmented": {"memory_free_blocks", "memory_compaction_stalls_total", "memory_compaction_failures_total"}
    | {"memory_used_bytes", "memory_available_bytes", "memory_available_min_bytes", "memory_headroom_bytes"},
    "wrap": {"fabric_loss_total"},
    "nccl-busy": {"rdma_transmit_bytes_total", "rdma_receive_bytes_total"},
    "one-rail": {"rdma_transmit_bytes_total", "rdma_receive_bytes_total"},
    "degraded": {"rdma_transmit_bytes_total", "rdma_receive_bytes_total"},
    "tcp-fallback": {"netdev_transmit_bytes_total", "netdev_receive_bytes_total"},
    "loss": {"rdma_transmit_bytes_total", "rdma_receive_bytes_total", "fabric_loss_total", "fabric_congestion_total"},
}
"""Families in which a scenario, 10 s in, differs from the idle node. Each line of all others is the golden one."""


def page(tree: Node) -> str:
    return Rounds(machine(tree)).snapshot().page.decode()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_promtool_accepts_the_page(node: MakeNode, nvml: Stub, scenario: str) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed")
    text = page(node(scenario, 10.0))
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    families = text.count("# TYPE ")
    assert families == text.count("# HELP ")
    assert families == {"uncabled": WITHOUT_FABRIC, "link-down": FAMILIES - 2}.get(scenario, FAMILIES)


@pytest.mark.parametrize("scenario", DIFFERENT)
def test_a_scenario_differs_from_idle_only_where_it_should(node: MakeNode, nvml: Stub, scenario: str) -> None:
    golden = set((DATA / "idle.metrics").read_text().splitlines())
    changed = golden ^ set(page(node(scenario, 10.0)).splitlines())
    names = {match[1] for match in map(SERIES.match, changed) if match}
    assert names == DIFFERENT[scenario]


@pytest.mark.parametrize("scenario", ["idle", "uncabled"])
def test_every_line_is_a_catalogue_metric_with_its_labels(node: MakeNode, nvml: Stub, scenario: str) -> None:
    lines = [line for line in page(node(scenario)).splitlines() if not line.startswith("#")]
    seen = set()
    for line in lines:
        match = SERIES.match(line)
        assert match, line
        metric = catalog.stored(match[1])
        assert tuple(re.findall(r'(\w+)="', match[2] or "")) == metric.by
        assert float(match[3]) == float(match[3]), "never NaN"
        seen.add(line.rpartition(" ")[0])
    assert len(seen) == len(lines), "no series twice"
