"""Nodes, energy and interconnect of a stretch."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu, host, network
from telemetry.model import Series, Unit
from tests.runs.answers import entry, value
from tests.runs.worlds import Line, World, engine, node, ramp

TOKENS = engine(catalog.GENERATION_TOKENS)
DECODE = {TOKENS: ramp((10, 0), (30, 10), (20, 0))}
A, B, IDLE = "spark-01", "spark-02", "spark-03"


def busy(name: str, watts: float) -> dict[Series, Line]:
    """A node that draws so much while tokens come, and 5 W else."""
    return {node(name, gpu.GPU_POWER): [5.0] * 11 + [watts] * 30 + [5.0]}


def world(*rows: dict[Series, Line], **more: object) -> World:
    every = {series: line for part in (DECODE, *rows) for series, line in part.items()}
    names = sorted({series.target for series in every} - {"head"})
    return World(61, every, nodes=names, **more)  # type: ignore[arg-type]


class TestWhoTookPart:
    def test_by_power(self) -> None:
        stretch = world(busy(A, 80), busy(B, 29.9)).stretch()
        assert stretch.took_part == {A: "power 78 W"}

    def test_a_node_busy_at_other_times_did_not(self) -> None:
        before = {node(B, gpu.GPU_POWER): [90.0] * 9 + [5.0] * 40 + [90.0]}
        assert world(busy(A, 80), before).stretch().nodes == [A]

    def test_by_utilisation(self) -> None:
        rows = {node(A, gpu.GPU_UTILIZATION): [0.96], node(B, gpu.GPU_UTILIZATION): [0.19]}
        assert world(rows).stretch().took_part == {A: "utilisation 96%"}

    def test_by_rdma(self) -> None:
        sent, received = (
            {node(name, metric, cage="p0", function="f"): ramp((60, rate)) for name, rate in ((A, 6e5), (B, 4e5))}
            for metric in (network.RDMA_TRANSMIT, network.RDMA_RECEIVE)
        )
        assert world(sent, received).stretch().took_part == {A: "RDMA 1.2 MB/s"}

    def test_all_evidence_is_told(self) -> None:
        rows = {
            node(A, gpu.GPU_POWER): [60.0],
            node(A, gpu.GPU_UTILIZATION): [0.5],
            node(A, network.RDMA_TRANSMIT, cage="p0", function="f"): ramp((60, 5e6)),
        }
        assert world(rows).stretch().took_part == {A: "power 60 W, utilisation 50%, RDMA 5 MB/s"}

    def test_as_people_say(self) -> None:
        stretch = world(busy(A, 80), busy(B, 5), chosen=[B]).stretch()
        assert stretch.took_part == {B: "named by hand"}
        assert stretch.machines.readings[gpu.GPU_POWER.name].extent(stretch.nodes).nodes == [B]

    def test_while_no_token_came_the_whole_stretch_counts(self) -> None:
        assert world(busy(A, 80), busy(B, 5)).stretch(45, 60).nodes == []
        assert world({node(A, gpu.GPU_POWER): [70.0]}).stretch(45, 60).nodes == [A]

    def test_traffic_of_which_nothing_is_known_at_the_edges(self) -> None:
        rows = {node(A, network.RDMA_TRANSMIT, cage="p0", function="f"): [None] * 61}
        assert world(rows).stretch().nodes == []


def test_of_equal_nodes_none_is_lowest() -> None:
    for rows in ({A: [40.0] * 61, B: [40.0] * 61}, {A: [40.0] * 61}):
        found = world({node(name, gpu.GPU_POWER): values for name, values in rows.items()}).summary()
        mean = entry(found, "nodes.power_mean")
        assert (mean.value, mean.note) == (40, "")


def test_extents_of_nodes() -> None:
    rows = {node(A, gpu.GPU_POWER): [40.0] * 30 + [80.0] * 31, node(B, gpu.GPU_POWER): [50.0] * 60 + [20.0]}
    found = world(rows).summary()
    assert value(found, "nodes.took_part") == 2
    low = entry(found, "nodes.power_min")
    assert (low.value, low.note, low.count, low.unit) == (20, B, 122, Unit.WATTS)
    mean_a, mean_b = (30 * 40 + 31 * 80) / 61, (60 * 50 + 20) / 61
    mean = entry(found, "nodes.power_mean")
    assert mean.value == pytest.approx((mean_a + mean_b) / 2)
    assert mean.note == f"lowest on {B}, highest on {A}"
    high = entry(found, "nodes.power_max")
    assert (high.value, high.note) == (80, A)
    assert value(found, "nodes.power_mean_on", A) == pytest.approx(mean_a)
    assert value(found, "nodes.power_min_on", A) == 40
    assert value(found, "nodes.power_max_on", B) == 50
    assert entry(found, "nodes.power_max_on", B).count == 61


def test_one_node_has_no_other_to_be_compared_with() -> None:
    assert entry(world(busy(A, 80)).summary(), "nodes.power_mean").note == ""


def test_readings_outside_the_stretch_do_not_count() -> None:
    rows = {node(A, gpu.GPU_TEMPERATURE): [90.0] * 20 + [60.0] * 11 + [95.0]}
    found = world(busy(A, 80), rows).summary(20, 30)
    assert value(found, "nodes.temperature_max") == value(found, "nodes.temperature_min") == 60
    assert entry(found, "nodes.temperature_max").count == 11


def test_several_gpus_of_a_node_are_folded() -> None:
    second = {"gpu": "1"}
    rows = {
        node(A, gpu.GPU_POWER): [40.0],
        node(A, gpu.GPU_POWER, **second): [60.0],
        node(A, gpu.GPU_TEMPERATURE): [50.0],
        node(A, gpu.GPU_TEMPERATURE, **second): [70.0],
        node(A, gpu.GPU_UTILIZATION): [0.5],
        node(A, gpu.GPU_UTILIZATION, **second): [1.0],
        node(A, gpu.GPU_SM_CLOCK): [2e9],
        node(A, gpu.GPU_SM_CLOCK, **second): [1e9],
    }
    found = world(rows).summary()
    for key, folded in (("power", 100), ("temperature", 70), ("utilization", 0.75), ("clock", 1.5e9)):
        assert value(found, f"nodes.{key}_mean") == value(found, f"nodes.{key}_max_on", A) == folded


def test_nothing_known_of_a_metric() -> None:
    found = world(busy(A, 80), {node(A, gpu.GPU_SM_CLOCK): [None]}).summary()
    for key in ("clock_min", "clock_mean", "clock_max", "temperature_mean"):
        told = entry(found, f"nodes.{key}")
        assert (key, told.value, told.note) == (key, None, "no node tells it")
    section = next(one for one in found if one.key == "nodes")
    assert not [one for one in section.entries if one.key.endswith("_on") and one.key.startswith("clock")]


def test_gaps_of_nodes_are_told() -> None:
    found = world(busy(A, 80), busy(B, 60), unread={A: range(20, 30)}).summary()
    assert entry(found, "nodes.power_mean").note.endswith("; 1 gap of the nodes, 11 s in all")
    assert entry(found, "nodes.power_mean_on", A).note == "1 gap of the node, 11 s in all"
    assert entry(found, "nodes.power_mean_on", B).note == ""


def test_throttling() -> None:
    rows = {
        node(A, gpu.GPU_THROTTLE, reason="power_cap"): ramp((20, 0.5)),
        node(A, gpu.GPU_THROTTLE, reason="thermal_software"): ramp((4, 1)),
        node(B, gpu.GPU_THROTTLE, reason="power_cap"): [3.0],
    }
    found = world(busy(A, 80), busy(B, 60), rows).summary()
    assert value(found, "nodes.throttled") == 14
    assert value(found, "nodes.throttled_by", "power_cap") == 10
    assert value(found, "nodes.throttled_by", "thermal_software") == 4
    assert value(found, "nodes.throttled_on", A) == 14
    assert value(found, "nodes.throttled_on", B) == 0
    told = entry(world(busy(A, 80)).summary(), "nodes.throttled")
    assert (told.value, told.note) == (None, "no node tells it")


ENERGY = {node(name, gpu.GPU_ENERGY): ramp((60, watts)) for name, watts in ((A, 40.0), (B, 20.0))}
WHOLE = {node(name, host.SYSTEM_ENERGY, rail="sys_total"): ramp((60, watts)) for name, watts in ((A, 90), (B, 60))}
PARTS = {node(A, host.SYSTEM_ENERGY, rail="gpu"): ramp((60, 40))}


class TestEnergy:
    def test_of_gpus(self) -> None:
        found = world(busy(A, 80), busy(B, 60), ENERGY).summary()
        energy = entry(found, "energy.energy")
        assert (energy.value, energy.count, energy.note) == (3600, 2, "GPUs only, by counter")
        power = entry(found, "energy.power_mean")
        assert (power.value, power.unit) == (60, Unit.WATTS)
        assert value(found, "energy.energy_per_token") == 12
        assert value(found, "energy.energy_on", A) == 2400
        assert not [one for part in found for one in part.entries if one.key == "gpu_energy"]

    def test_of_whole_machines_where_all_measure_it(self) -> None:
        found = world(busy(A, 80), busy(B, 60), ENERGY, WHOLE, PARTS).summary()
        energy = entry(found, "energy.energy")
        assert (energy.value, energy.note) == (9000, "whole machines, by counter")
        assert value(found, "energy.energy_per_token") == 30
        inner = entry(found, "energy.gpu_energy")
        assert (inner.value, inner.note) == (3600, "GPUs only, by counter")

    def test_whole_machines_of_some_are_no_sum(self) -> None:
        half = {series: line for series, line in WHOLE.items() if series.target == A}
        energy = entry(world(busy(A, 80), busy(B, 60), ENERGY, half).summary(), "energy.energy")
        assert energy.value == 3600
        assert energy.note == "GPUs only, by counter; whole machines are measured on 1 of 2 nodes only"

    def test_power_over_time_where_nothing_counts_energy(self) -> None:
        """5 W for 10 s, up to 80 W, 80 W for 29 s, down again, 5 W for 19 s."""
        energy = entry(world(busy(A, 80)).summary(), "energy.energy")
        assert energy.value == pytest.approx(5 * 10 + 42.5 + 80 * 29 + 42.5 + 5 * 19)
        assert energy.note == "GPUs only, power over time"

    def test_power_of_whole_machines_over_time(self) -> None:
        rows = {node(A, host.SYSTEM_POWER, rail="sys_total"): [100.0], node(A, host.SYSTEM_POWER, rail="gpu"): [50.0]}
        energy = entry(world(busy(A, 80), rows).summary(), "energy.energy")
        assert (energy.value, energy.note) == (6000, "whole machines, power over time")

    def test_the_counter_counts_more_than_power_over_time(self) -> None:
        rows = {node(A, host.SYSTEM_POWER, rail="sys_total"): [100.0]}
        half = {series: line for series, line in WHOLE.items() if series.target == A}
        energy = entry(world(busy(A, 80), rows, half).summary(), "energy.energy")
        assert (energy.value, energy.note) == (5400, "whole machines, by counter")

    def test_known_of_some_nodes_only(self) -> None:
        rows = {node(B, gpu.GPU_UTILIZATION): [0.9]}
        found = world(busy(A, 80), rows).summary()
        for key in ("energy", "power_mean", "energy_per_token"):
            told = entry(found, f"energy.{key}")
            assert (key, told.value, told.note) == (key, None, "known of 1 of 2 nodes only")

    def test_no_node(self) -> None:
        told = entry(world(busy(A, 5)).summary(), "energy.energy")
        assert (told.value, told.note) == (None, "no node is known to have taken part")

    def test_nothing_told(self) -> None:
        told = entry(world({node(B, gpu.GPU_UTILIZATION): [0.9]}).summary(), "energy.energy")
        assert (told.value, told.note) == (None, "no node tells energy or power")

    def test_without_tokens_there_is_no_energy_per_token(self) -> None:
        found = world({node(A, gpu.GPU_POWER): [70.0]}).summary(45, 60)
        told = entry(found, "energy.energy_per_token")
        assert (told.value, told.note) == (None, "no output token came")
        assert value(found, "energy.energy") == 70 * 15

    def test_gaps_are_told(self) -> None:
        found = world(busy(A, 80), ENERGY, unread={A: range(20, 30)}, chosen=[A]).summary()
        assert entry(found, "energy.energy").note == "GPUs only, by counter; 1 gap of the nodes, 11 s in all"


def traffic(name: str, cage: str, sent: Line, received: Line | None = None, function: str = "f0") -> dict[Series, Line]:
    """What a function sends and receives by RDMA."""
    place = {"cage": cage, "function": function}
    rows = {node(name, network.RDMA_TRANSMIT, **place): sent}
    return rows if received is None else {**rows, node(name, network.RDMA_RECEIVE, **place): received}


class TestFabric:
    def test_functions_and_kinds_of_a_cage_are_added(self) -> None:
        rows = {
            **traffic(A, "p0", ramp((10, 0), (30, 2e6)), ramp((10, 0), (30, 1e6))),
            **traffic(A, "p0", ramp((10, 0), (30, 3e6)), function="f1"),
            node(A, network.NETDEV_TRANSMIT, cage="p0", function="f0"): ramp((10, 0), (30, 1e6)),
        }
        found = world(busy(A, 80), rows).summary()
        mean = entry(found, "fabric.cage_sent_mean", f"{A} p0")
        assert mean.value == pytest.approx(6e6 * 30 / 60)
        assert mean.unit is Unit.NETWORK_BYTES_PER_SECOND
        assert value(found, "fabric.cage_sent_peak", f"{A} p0") == pytest.approx(6e6)
        assert value(found, "fabric.cage_received_mean", f"{A} p0") == pytest.approx(1e6 * 30 / 60)
        assert value(found, "fabric.cage_received_peak", f"{A} p0") == pytest.approx(1e6)

    def test_all_nodes(self) -> None:
        rows = traffic(A, "p0", ramp((60, 4e6))) | traffic(B, "p1", ramp((60, 2e6)), ramp((30, 0), (10, 9e6)))
        found = world(busy(A, 80), busy(B, 80), rows).summary()
        assert value(found, "fabric.sent") == 6e6 * 60
        assert value(found, "fabric.sent_mean") == 6e6
        assert value(found, "fabric.per_token") == pytest.approx(6e6 * 60 / 300)
        busiest = entry(found, "fabric.busiest_peak")
        assert busiest.value == pytest.approx(9e6)
        assert busiest.note == f"{B} p1, received"

    def test_windows_that_touch_a_gap_are_no_candidates(self) -> None:
        rows = traffic(A, "p0", ramp((30, 1e6), (10, 5e6)))
        found = world(busy(A, 80), rows, unread={A: range(33, 37)}).summary()
        peak = entry(found, "fabric.cage_sent_peak", f"{A} p0")
        assert peak.value == pytest.approx((1e6 * 8 + 5e6 * 2) / 10)
        assert peak.note == "1 gap of the node, 5 s in all"
        assert value(found, "fabric.sent") == 1e6 * 30 + 5e6 * 10

    def test_a_function_that_came_later_does_not_hide_the_others(self) -> None:
        rows = traffic(A, "p0", ramp((60, 1e6))) | traffic(A, "p0", [None] * 61, function="f1")
        assert value(world(busy(A, 80), rows).summary(), "fabric.sent") == 1e6 * 60

    def test_cages_without_traffic_are_left_out(self) -> None:
        rows = traffic(A, "p0", ramp((60, 1e6))) | traffic(A, "p1", [7.0], [8.0])
        section = next(one for one in world(busy(A, 80), rows).summary() if one.key == "fabric")
        assert {one.of for one in section.entries if one.key.startswith("cage")} == {f"{A} p0"}

    def test_shorter_than_a_window(self) -> None:
        rows = traffic(A, "p0", ramp((60, 1e6)))
        found = world(busy(A, 80), rows).summary(15, 20)
        told = entry(found, "fabric.cage_sent_peak", f"{A} p0")
        assert (told.value, told.note) == (None, "shorter than 10 s")
        told = entry(found, "fabric.busiest_peak")
        assert (told.value, told.note) == (None, "shorter than 10 s")
        assert value(found, "fabric.cage_sent_mean", f"{A} p0") == 1e6

    def test_windows_lie_in_the_stretch(self) -> None:
        rows = traffic(A, "p0", ramp((20, 9e6), (40, 1e6)))
        assert value(world(busy(A, 80), rows).summary(20, 40), "fabric.busiest_peak") == pytest.approx(1e6)

    def test_nothing_known(self) -> None:
        found = world(busy(A, 80)).summary()
        for key in ("sent", "sent_mean", "per_token", "busiest_peak"):
            told = entry(found, f"fabric.{key}")
            assert (key, told.value, told.note) == (key, None, "no traffic is known")

    def test_no_token_no_bytes_per_token(self) -> None:
        rows = traffic(A, "p0", ramp((60, 1e6)))
        told = entry(world({node(A, gpu.GPU_POWER): [70.0]}, rows).summary(45, 60), "fabric.per_token")
        assert (told.value, told.note) == (None, "no output token came")

    def test_trouble(self) -> None:
        rows = {
            node(A, network.FABRIC_LOSS, cage="p0", counter="packet_seq_err", function="f0"): ramp((5, 2)),
            node(A, network.FABRIC_LOSS, cage="p0", counter="out_of_sequence", function="f1"): ramp((5, 1)),
            node(B, network.FABRIC_LOSS, cage="p0", counter="packet_seq_err", function="f0"): [8.0],
            node(B, network.FABRIC_CONGESTION, cage="p0", counter="np_cnp_sent", function="f0"): ramp((5, 3)),
        }
        found = world(busy(A, 80), busy(B, 80), rows).summary()
        assert value(found, "fabric.fabric_loss") == 15
        assert value(found, "fabric.fabric_loss_on", A) == 15
        assert value(found, "fabric.fabric_congestion_on", B) == 15
        section = next(one for one in found if one.key == "fabric")
        assert section.find("fabric_loss_on", B) is None, "it had none"
        told = entry(found, "fabric.fabric_errors")
        assert (told.value, told.note) == (None, "no node tells it")
