"""Power, fabric, memory and host each by itself, against worked figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator.conditions import NodeStates
from simulator.fabric import Fabric
from simulator.host import BUSY_CORES, CPU_WATTS, PACKAGE_WATTS, REST_WATTS, WATTS_PER_CORE, Host
from simulator.memory import SWAP, SWAP_IN, SWAP_LEFT, SWAP_OUT, Memory
from simulator.power import POLLING_WATTS, WARMING_S, WATTS, Power
from simulator.timeline import Activity
from tests.simulator.stage import world

NODES = 8


def lasting(kind: Activity, seconds: float) -> list[float]:
    return [seconds if one is kind else 0.0 for one in Activity]


def mean_watts(state: NodeStates, kind: Activity) -> np.ndarray:
    """Mean over many cells, so that their noise is gone."""
    power, total = Power(3, NODES), np.zeros(NODES)
    for _ in range(400):
        power.open(state)
        total += power.gains(lasting(kind, 0.25))["gpu_joules"]
    return np.asarray(total / 100)


@pytest.mark.parametrize("kind", [Activity.ABSENT, Activity.READY, Activity.DECODE, Activity.PREFILL, Activity.STALL])
def test_watts_by_activity(kind: Activity) -> None:
    assert mean_watts(NodeStates(NODES), kind).mean() == pytest.approx(WATTS[kind], rel=0.03)


@pytest.mark.parametrize(("kind", "field"), [(Activity.DECODE, "decode_pace"), (Activity.PREFILL, "prefill_pace")])
def test_ranks_that_wait_for_a_slow_one_draw_less(kind: Activity, field: str) -> None:
    state = NodeStates(NODES)
    getattr(state, field)[1] = 2.0
    free, waiting = mean_watts(NodeStates(NODES), kind), mean_watts(state, kind)
    assert waiting[1] == pytest.approx(free[1], rel=0.005)
    assert waiting[2] - POLLING_WATTS == pytest.approx((free[2] - POLLING_WATTS) / 2, rel=0.06)


def test_the_die_warms_with_its_own_time() -> None:
    power = Power(3, 1)
    power.open(NodeStates(1))
    start = power.celsius[0]
    seconds = lasting(Activity.DECODE, 1.0)
    aim = power._ambient[0] + power._resistance[0] * power.gains(seconds)["gpu_joules"][0]
    power.settle(lasting(Activity.DECODE, WARMING_S))
    assert (power.celsius[0] - start) / (aim - start) == pytest.approx(1 - 1 / math.e)
    assert aim == pytest.approx(27 + 0.52 * 67, abs=6)


def test_a_lone_node_sends_nothing() -> None:
    fabric = Fabric(3, 1)
    fabric.open(NodeStates(1))
    assert fabric.gains(1.0, 1e9)["rdma_sent"].sum() == 0


def test_each_rank_sends_the_mean_in_the_mean() -> None:
    state = NodeStates(NODES)
    state.apart[0] = 1
    fabric = Fabric(3, NODES)
    fabric.open(state)
    gains = fabric.gains(1.0, 1e9)
    assert gains["rdma_sent"][0].sum() == 0
    assert gains["rdma_sent"].sum() == pytest.approx((NODES - 1) * 1e9)
    assert gains["rdma_received"].sum() == pytest.approx((NODES - 1) * 1e9)


def test_swap_fills_up_and_no_further() -> None:
    state = NodeStates(2)
    state.collapse[1] = 1
    memory = Memory(3, 2)
    memory.open(state)
    moved = np.zeros((2, 2))
    for _ in range(1200):
        gains = memory.gains(0.25)
        moved += [gains["swap_out"], gains["swap_in"]]
        memory.settle(Activity.READY, gains, 0.25)
    assert memory.swapped[0] == 0
    assert memory.swapped[1] == pytest.approx(SWAP - SWAP_LEFT, abs=1e8)
    assert moved[0, 1] - moved[1, 1] == pytest.approx(memory.swapped[1])
    last = memory.gains(1.0)
    assert (last["swap_out"][1], last["swap_in"][1]) == (pytest.approx(SWAP_IN), SWAP_IN)
    assert SWAP_OUT > SWAP_IN


def test_energy_of_the_machine_is_that_of_its_parts() -> None:
    host = Host(3, 3)
    host.open(NodeStates(3))
    gains = host.gains(lasting(Activity.READY, 10.0), np.array([110.0, 110.0, 110.0]))
    cpu = CPU_WATTS * 10 + WATTS_PER_CORE * gains["cpu_busy"]
    assert gains["cpu_busy"] == pytest.approx(BUSY_CORES[Activity.READY] * 10, rel=0.2)
    assert gains["cpu_joules"] == pytest.approx(cpu)
    assert gains["package_joules"] == pytest.approx(110 + cpu + PACKAGE_WATTS * 10)
    assert gains["system_joules"] == pytest.approx(110 + cpu + (PACKAGE_WATTS + REST_WATTS) * 10)


def test_the_head_works_more() -> None:
    host = Host(3, 3)
    host.open(NodeStates(3))
    busy = host.gains(lasting(Activity.DECODE, 1.0), np.zeros(3))["cpu_busy"]
    assert busy[0] - busy[1:].mean() == pytest.approx(1.6, abs=0.5)


def test_steps_take_as_long_as_the_slowest_rank() -> None:
    slow = world("power-delivery@spark-02:0", "straggler@spark-03:0", until=1.0)
    assert (slow.engine.pace.decode, slow.engine.pace.prefill) == (1.9, 2.6)
    assert world(until=1.0).engine.pace.decode == 1.0


def test_a_node_apart_holds_nobody_up() -> None:
    looked = world("uncabled@spark-02:0", "straggler@spark-02:0", until=1.0)
    assert looked.engine.pace.decode == 1.0
