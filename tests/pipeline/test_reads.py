"""Why a metric is not there is said by the reading that should have given it, and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.node.reading import COLLECTORS
from collectors.node.rounds import Rounds
from pipeline.reads import APART, WHOLE_GROUPS, collector_of, why_missing
from telemetry import catalog
from telemetry.catalog import engine, gpu, host, memory, network
from telemetry.model import Metric, Scope
from tests.node.node_machine import build, machine

OWN = {"agent"}
"""Group of what the agent says of itself; no collector reads it."""


def test_every_collector_gives_what_the_table_says(tmp_path: Path) -> None:
    """Of a whole node's tree, read for real."""
    tree = build(tmp_path / "tree", "idle", 0.0)
    tree.put("/dev/kmsg", "")
    readings = Rounds(machine(tree)).snapshot().readings
    given = {(metric.name, name) for name, reading in readings.items() for metric, _, _ in reading.samples}
    assert given == {(metric, collector_of(metric)) for metric, _ in given}
    silent = {name for name, reading in readings.items() if not reading.samples}
    assert {*APART, *WHOLE_GROUPS.values()} - silent == {name for _, name in given}
    assert silent <= {"nvml", "power", "retained", "processes", "identity", "fabric identity"}


def test_every_metric_of_a_node_has_a_collector() -> None:
    metrics = [one for one in catalog.METRICS if isinstance(one, Metric) and one.scope is Scope.NODE]
    assert {one.name: collector_of(one.name) in COLLECTORS for one in metrics if one.group not in OWN} == {
        one.name: True for one in metrics if one.group not in OWN
    }
    assert {collector_of(one.name) for one in metrics if one.group in OWN} == {None}
    assert collector_of(engine.GENERATION_TOKENS.name) is None


READINGS = {
    "power": {"outcome": "nothing here", "reason": "no spbm driver"},
    "fabric": {"outcome": "failed", "reason": "bytes of a cannot be read"},
    "cpu": {"outcome": "ok", "reason": ""},
    "nvml": {"outcome": "failed", "reason": ""},
    "blocks": {"outcome": "ok", "reason": "left over"},
}


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        (host.SYSTEM_POWER, "power: no spbm driver"),
        (host.CPU_BUSY, None),
        (host.LOAD, None),
        (network.RDMA_TRANSMIT, "fabric: bytes of a cannot be read"),
        (network.FABRIC_LOSS, None),
        (gpu.GPU_POWER, None),
        (memory.FREE_BLOCKS, None),
        (host.AGENT_CPU, None),
    ],
)
def test_only_the_reading_that_feeds_a_metric_is_blamed(metric: Metric, why: str | None) -> None:
    assert why_missing(metric.name, READINGS) == why
    assert why_missing(metric.name, {}) is None
