"""Means and amounts per token of nodes that were not watched from end to end: both sides are of the same time."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu, host, network
from telemetry.model import Metric
from tests.runs.answers import entry, value
from tests.runs.worlds import Line, World, engine, node, ramp

A, B = "spark-01", "spark-02"
SECONDS = 61


def world(lines: dict[str, Line], metric: Metric, *, seconds: int = SECONDS, **more: object) -> World:
    """Ten tokens a second, and a line of each of two nodes that took part."""
    labels = {"rail": "sys_total"} if "rail" in metric.by else {"cage": "p0", "function": "f0"}
    labels = {} if metric.scope is gpu.GPU_POWER.scope and "gpu" in metric.by else labels
    rows = {node(name, metric, **labels): line for name, line in lines.items()}
    rows |= {node(name, gpu.GPU_UTILIZATION): [0.9] for name in lines}
    tokens = {engine(catalog.GENERATION_TOKENS): ramp((seconds, 10))}
    return World(seconds, tokens | rows, nodes=(A, B), chosen=(A, B), **more)  # type: ignore[arg-type]


COUNTED = {A: ramp((400, 40)), B: ramp((400, 20))}
NOTE = "of the time in which each node was watched, spark-02 50 %"


@pytest.mark.parametrize("away", [range(30), range(31, SECONDS)])
def test_energy_by_counter(away: range) -> None:
    """40 W and 20 W; the second node is watched for half the time, and 300 tokens came in that."""
    found = world(COUNTED, gpu.GPU_ENERGY, unread={B: away}).summary()
    assert value(found, "energy.energy") == 3000
    assert value(found, "energy.power_mean") == pytest.approx(60)
    assert value(found, "energy.energy_per_token") == pytest.approx(6)
    for key in ("power_mean", "energy_per_token"):
        assert entry(found, f"energy.{key}").note == f"GPUs only, by counter; 1 gap of the nodes, 30 s in all; {NOTE}"
    assert NOTE not in entry(found, "energy.energy").note


def test_energy_of_nodes_that_were_watched_says_no_share() -> None:
    found = world(COUNTED, gpu.GPU_ENERGY, unread={B: range(20, 40)}).summary()
    assert (value(found, "energy.power_mean"), value(found, "energy.energy_per_token")) == (60, 6)
    assert entry(found, "energy.power_mean").note == "GPUs only, by counter; 1 gap of the nodes, 21 s in all"


@pytest.mark.parametrize(("metric", "what"), [(gpu.GPU_POWER, "GPUs only"), (host.SYSTEM_POWER, "whole machines")])
def test_power_over_time(metric: Metric, what: str) -> None:
    found = world({A: [40.0], B: [20.0]}, metric, unread={B: range(30)}).summary()
    assert value(found, "energy.power_mean") == pytest.approx(60)
    assert value(found, "energy.energy_per_token") == pytest.approx(6)
    assert entry(found, "energy.power_mean").note == (
        f"{what}, power over time; 1 gap of the nodes, 30 s in all; {NOTE}"
    )


def test_a_gap_over_the_start_counts_from_the_reading_before() -> None:
    """Of 100 … 160, with nothing of the second node from 91 to 129: its joules since 90 are of 70 s, and 700 tokens."""
    seconds = 161
    for metric, lines in ((gpu.GPU_ENERGY, COUNTED), (gpu.GPU_POWER, {A: [40.0], B: [20.0]})):
        found = world(lines, metric, seconds=seconds, unread={B: range(91, 130)}).summary(100)
        assert value(found, "energy.energy") == pytest.approx(2400 + 1400)
        assert value(found, "energy.power_mean") == pytest.approx(60)
        assert value(found, "energy.energy_per_token") == pytest.approx(6)


def test_a_reading_of_long_before_has_its_tokens_beside_it() -> None:
    """It counts since second 20: 20 W and ten tokens a second from then on, however far before the stretch."""
    found = world(COUNTED, gpu.GPU_ENERGY, seconds=261, unread={B: range(21, 230)}).summary(200)
    assert value(found, "energy.power_mean") == pytest.approx(60)
    assert value(found, "energy.energy_per_token") == pytest.approx(4 + 2)


def test_no_token_came_while_a_node_was_watched() -> None:
    """The second node is watched for the last 20 s, and no token came in those."""
    rows = {engine(catalog.GENERATION_TOKENS): ramp((40, 10), (20, 0))}
    rows |= {node(name, gpu.GPU_ENERGY): ramp((60, 40)) for name in (A, B)}
    found = World(SECONDS, rows, nodes=(A, B), chosen=(A, B), unread={B: range(40)}).summary()
    told = entry(found, "energy.energy_per_token")
    assert (told.value, told.note) == (None, "no output token is known to have come while a node was watched")


def test_a_node_that_tells_nothing_but_its_energy() -> None:
    """Nothing else says when it was watched: by counter it is known all the same, power is taken for the whole."""
    tokens = {engine(catalog.GENERATION_TOKENS): ramp((60, 10))}
    for metric, line, watts in ((gpu.GPU_ENERGY, ramp((60, 40)), 40), (host.SYSTEM_POWER, [40.0], 20)):
        rows = tokens | {node(A, metric, **({"rail": "sys_total"} if "rail" in metric.by else {})): line}
        found = World(SECONDS, rows, nodes=(A,), chosen=(A,), unread={A: range(30)}).summary()
        assert value(found, "energy.power_mean") == pytest.approx(watts)


def test_a_single_reading_is_no_time() -> None:
    found = world(COUNTED, gpu.GPU_ENERGY, unread={B: [*range(30), *range(31, SECONDS)]}).summary()
    told = entry(found, "energy.power_mean")
    assert (told.value, told.note) == (None, "the nodes were not watched long enough")


def test_bytes() -> None:
    found = world({A: ramp((60, 4e6)), B: ramp((60, 2e6))}, network.RDMA_TRANSMIT, unread={B: range(30)}).summary()
    assert value(found, "fabric.sent") == 3e8
    assert value(found, "fabric.sent_mean") == pytest.approx(6e6)
    assert value(found, "fabric.per_token") == pytest.approx(6e5)
    assert value(found, "fabric.cage_sent_mean", f"{B} p0") == pytest.approx(2e6)
    for key in ("sent_mean", "per_token"):
        assert entry(found, f"fabric.{key}").note == f"1 gap of the nodes, 30 s in all; {NOTE}"
