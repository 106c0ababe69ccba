"""What ends and comes back: the engine's process, machines, agents, memory, links."""

from __future__ import annotations

import pytest

from simulator.engine import Life
from simulator.world import World
from tests.simulator.stage import engine, node, world

GIB = 1024**3
GPU = '{gpu="0"}'
FIRST = '{cage="p1",function="rocep1s0f1"}'
NODE, OTHER = 1, 2


def tokens(looked: World) -> float:
    return engine(looked)['vllm:generation_tokens_total{engine="0",model_name="moonshotai/Kimi-K3"}']


LIVES = (
    ("engine-restart:10+60", ((12, Life.STOPPED), (30, Life.LOADING), (75, Life.SERVING)), 2),
    ("engine-stop:10+60", ((12, Life.STOPPING), (20, Life.STOPPED), (80, Life.LOADING), (120, Life.SERVING)), 2),
    ("loading:10+60", ((12, Life.STOPPED), (15, Life.LOADING), (65, Life.LOADING), (75, Life.SERVING)), 2),
    ("node-down@spark-02:10+60", ((12, Life.SERVING), (80, Life.LOADING), (120, Life.SERVING)), 2),
    ("agent-down@spark-02:10+60", ((12, Life.SERVING), (75, Life.SERVING)), 1),
)


@pytest.mark.parametrize(("fault", "stages", "lives"), LIVES)
def test_lives_of_the_process(fault: str, stages: tuple[tuple[float, Life], ...], lives: int) -> None:
    looked = world(fault)
    for second, life in stages:
        looked.advance(second)
        assert looked.engine.life is life, second
    assert looked.engine.lives == lives
    page = engine(looked)
    if lives > 1:
        assert tokens(looked) < looked.engine.ledger.totals.generated
        assert page["process_start_time_seconds"] > 1_796_000_000
    else:
        assert page["process_start_time_seconds"] == 1_796_000_000 - 60 - 7_200


def test_weights_load_at_the_reported_speed() -> None:
    looked = world("engine-restart:10+120", until=19.9)
    freed = node(looked, NODE)["memory_available_bytes"]
    assert freed > 105 * GIB
    looked.advance(30.0)
    assert freed - node(looked, NODE)["memory_available_bytes"] == pytest.approx(18 * GIB, rel=0.03)


def test_who_loads_right_after_work_begins_with_free_memory() -> None:
    looked = world("loading:10+120", until=13.9)
    freed = node(looked, NODE)["memory_available_bytes"]
    assert freed > 105 * GIB
    looked.advance(24.0)
    assert freed - node(looked, NODE)["memory_available_bytes"] == pytest.approx(18 * GIB, rel=0.03)


def test_a_machine_that_comes_back_has_been_rebooted() -> None:
    looked = world("node-down@spark-02:10+20", until=5.0)
    before = node(looked, NODE)
    looked.advance(40.0)
    after, other = node(looked, NODE), node(looked, OTHER)
    assert after["uptime_seconds"] == pytest.approx(10.0, abs=0.3)
    assert after["agent_monotonic_seconds"] == pytest.approx(10.0, abs=0.3)
    assert after[f"gpu_energy_joules_total{GPU}"] < 1000 < before[f"gpu_energy_joules_total{GPU}"]
    assert after[f"rdma_transmit_bytes_total{FIRST}"] < before[f"rdma_transmit_bytes_total{FIRST}"]
    assert other["uptime_seconds"] > 1e4
    assert looked.cluster.boots.tolist() == [0, 1, 0, 0]


def test_an_agent_that_comes_back_counts_its_own_anew() -> None:
    looked = world("memory-collapse@spark-02:0+60", "agent-down@spark-02:50+20", until=49.0)
    before = node(looked, NODE)
    assert before["kernel_driver_no_memory_total"] > 0
    looked.advance(80.0)
    after = node(looked, NODE)
    assert after["kernel_driver_no_memory_total"] <= 1
    assert after["agent_start_time_seconds"] == 1_796_000_070
    assert after[f"gpu_energy_joules_total{GPU}"] > before[f"gpu_energy_joules_total{GPU}"]


def test_memory_comes_back_after_a_collapse() -> None:
    looked = world("memory-collapse@spark-02:0+60", until=90.0)
    assert node(looked, NODE)["memory_available_bytes"] > 20 * GIB
    assert node(looked, NODE)["memory_available_min_bytes"] > 20 * GIB


def test_the_lowest_available_memory_is_remembered_for_two_seconds() -> None:
    looked = world("memory-collapse@spark-02:0+60", until=61.0)
    page = node(looked, NODE)
    assert page["memory_available_min_bytes"] < 2 * GIB < page["memory_available_bytes"]


def test_a_link_that_comes_back_is_an_event() -> None:
    looked = world("link-down@spark-02:10+20", until=40.0)
    page = node(looked, NODE)
    assert page['kernel_link_events_total{direction="down"}'] == 2
    assert page['kernel_link_events_total{direction="up"}'] == 2
    assert page["agent_event_sequence"] == 5
    assert page[f"link_up{FIRST}"] == 1
    texts = [event.text for event in looked.events.after(NODE, 1)]
    assert texts[:2] == ["Link down on enp1s0f1np1", "Link down on enP2p1s0f1np1"]
