"""A healthy node reads like the ones that owners published."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.pages.agent_page import energy
from simulator.timeline import Activity
from simulator.world import World
from tests.simulator.stage import node, world

GIB = 1024**3


@pytest.fixture(scope="module")
def seen() -> dict[Activity, list[dict[str, float]]]:
    """Pages of node 1 over ten minutes, by what the engine was doing for the whole second before."""
    looked, pages = world(), {kind: [] for kind in Activity}
    for second in range(1, 420):
        looked.advance(float(second))
        seconds, _ = looked.engine.timeline.over(second - 1.0, float(second))
        for kind in Activity:
            if seconds[kind] > 0.999:
                pages[kind].append(node(looked, 1))
    return pages


BANDS = (
    (Activity.READY, 'gpu_power_watts{gpu="0"}', 9.5, 12.5),
    (Activity.READY, 'gpu_utilization_ratio{gpu="0"}', 0.0, 0.0),
    (Activity.READY, 'gpu_sm_clock_hertz{gpu="0"}', 2.405e9, 2.418e9),
    (Activity.DECODE, 'gpu_power_watts{gpu="0"}', 60.0, 75.0),
    (Activity.DECODE, 'gpu_utilization_ratio{gpu="0"}', 0.96, 0.96),
    (Activity.DECODE, 'gpu_sm_clock_hertz{gpu="0"}', 2.36e9, 2.42e9),
    (Activity.DECODE, 'gpu_performance_state{gpu="0"}', 0.0, 0.0),
    (Activity.DECODE, 'gpu_clock_event_reasons{gpu="0"}', 0.0, 0.0),
    (Activity.PREFILL, 'gpu_power_watts{gpu="0"}', 76.0, 93.0),
    (Activity.PREFILL, 'gpu_utilization_ratio{gpu="0"}', 0.96, 0.96),
    (Activity.PREFILL, 'gpu_sm_clock_hertz{gpu="0"}', 2.23e9, 2.30e9),
)


@pytest.mark.parametrize(("kind", "name", "low", "high"), BANDS)
def test_readings_by_activity(
    seen: dict[Activity, list[dict[str, float]]], kind: Activity, name: str, low: float, high: float
) -> None:
    values = [page[name] for page in seen[kind]]
    assert len(values) >= 5
    assert low <= min(values)
    assert max(values) <= high


def test_every_kind_of_work_occurs(seen: dict[Activity, list[dict[str, float]]]) -> None:
    assert not seen[Activity.ABSENT]
    assert not seen[Activity.STALL]
    assert len(seen[Activity.DECODE]) > 60


def test_the_die_warms_slowly(seen: dict[Activity, list[dict[str, float]]]) -> None:
    everything = [page['gpu_temperature_celsius{gpu="0"}'] for pages in seen.values() for page in pages]
    assert min(everything) < 55
    assert 60 <= max(everything) <= 82


def test_memory_adds_up(seen: dict[Activity, list[dict[str, float]]]) -> None:
    page = seen[Activity.DECODE][0]
    total = page["memory_total_bytes"]
    assert page["memory_used_bytes"] + page["memory_available_bytes"] == pytest.approx(total, abs=2)
    assert page["memory_headroom_bytes"] == page["memory_available_bytes"] > 8 * GIB
    assert page["memory_available_min_bytes"] <= page["memory_available_bytes"]
    parts = ("free", "cached", "anonymous", "shmem", "kernel", "unattributed")
    assert sum(page[f"memory_{part}_bytes"] for part in parts) == pytest.approx(total, abs=8)
    held = page['gpu_process_memory_bytes{gpu="0"}'] + page["memory_driver_retained_bytes"]
    assert held == pytest.approx(page["memory_unattributed_bytes"], abs=4)


def test_rails_add_up(seen: dict[Activity, list[dict[str, float]]]) -> None:
    page = seen[Activity.DECODE][0]
    rail = {
        name: page[f'system_power_watts{{rail="{name}"}}'] for name in ("sys_total", "cpu_gpu", "gpu", "cpu_p", "cpu_e")
    }
    assert rail["gpu"] == page['gpu_power_watts{gpu="0"}']
    assert rail["cpu_gpu"] == pytest.approx(rail["gpu"] + rail["cpu_p"] + rail["cpu_e"], abs=1e-5)
    assert rail["sys_total"] == pytest.approx(rail["cpu_gpu"] + 18.5, abs=1e-5)


def test_energy_by_rail_follows_power() -> None:
    looked = world()
    before, rails = node(looked, 1), 0.0
    for step in range(1, 201):
        looked.advance(step * 0.1)
        rails += node(looked, 1)['system_power_watts{rail="soc_pkg"}'] * 0.1
    after = node(looked, 1)
    grown = after['system_energy_joules_total{rail="pkg"}'] - before['system_energy_joules_total{rail="pkg"}']
    assert grown == pytest.approx(rails, rel=0.06)
    parts = [
        after[f'system_energy_joules_total{{rail="{rail}"}}'] - before[f'system_energy_joules_total{{rail="{rail}"}}']
        for rail in ("cpu_p", "cpu_e")
    ]
    assert parts[0] / parts[1] == pytest.approx(7 / 3, rel=1e-3)
    gpu = after['system_energy_joules_total{rail="gpu"}'] - before['system_energy_joules_total{rail="gpu"}']
    assert gpu == pytest.approx(after['gpu_energy_joules_total{gpu="0"}'] - before['gpu_energy_joules_total{gpu="0"}'])


@pytest.mark.parametrize(
    ("met", "now", "share", "told"),
    [
        (4_294_900.0, 4_295_000.0, 1.0, 100.0),  # the firmware wraps at 4,294,967.296; the agent counts on
        (4_294_967.5, 4_294_970.0, 1.0, 2.5),
        (10_000_000.0, 10_000_010.0, 0.7, 7.0),
    ],
)
def test_energy_on_a_page_goes_on_over_the_firmwares_wrap(met: float, now: float, share: float, told: float) -> None:
    values = {"rail": np.array([0.0, now]), "rail_met": np.array([0.0, met])}
    assert energy(values, "rail", 1, share) == pytest.approx(told, abs=1e-6)


def test_only_a_new_agent_asks_the_firmware_where_it_stands() -> None:
    looked = world("agent-down@spark-02:10+5", until=9.0)
    before, energy_before = looked.look().values["package_joules_met"], node(looked, 1)[PACKAGE]
    looked.advance(20.0)
    after = looked.look().values["package_joules_met"]
    at_restart = looked.look().values["package_joules"][1] - after[1]
    assert (before[[0, 2, 3]] == after[[0, 2, 3]]).all()
    assert 0 < at_restart < 5 * 200 < after[1] - before[1], "the meter at second 15, five seconds ago"
    assert 0 < node(looked, 1)[PACKAGE] == pytest.approx(at_restart)
    assert energy_before > 0


PACKAGE = 'system_energy_joules_total{rail="pkg"}'


def test_capacity_and_lanes() -> None:
    page = node(world(), 0)
    assert page['cage_capacity_bytes_per_second{cage="p1"}'] == 25e9
    assert page['link_capacity_bytes_per_second{cage="p1",function="rocep1s0f1"}'] == 25e9
    assert page['link_up{cage="p0",function="rocep1s0f0"}'] == 0
    assert 'cage_capacity_bytes_per_second{cage="p0"}' not in page, "a link that is down has no rate"
    assert page['pcie_capacity_bytes_per_second{cage="p1",function="rocep1s0f1"}'] == pytest.approx(15.7538e9, rel=1e-4)


def test_prefill_loads_the_fabric_and_fits_it() -> None:
    looked = world("long-prefill:10+120")
    rates = [rate(looked, second) for second in range(40, 60)]
    assert min(rates) > 5e9
    assert max(rates) < 8e9


def rate(looked: World, second: int) -> float:
    """Bytes sent by node 1 in a second over both functions."""
    looked.advance(float(second))
    before = looked.look().values["rdma_sent"][1].sum()
    looked.advance(second + 1.0)
    return float(looked.look().values["rdma_sent"][1].sum() - before)


def test_nodes_differ_a_little() -> None:
    watts = world(nodes=16, until=30.0).look().values["watts"]
    assert 0.01 < np.std(watts) / np.mean(watts) < 0.08
