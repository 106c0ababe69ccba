"""Each fault changes what it should, on the node it names, and nothing else; afterwards all is as before."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from simulator.faults import FAULTS, Reach, describe
from simulator.timeline import Activity
from simulator.world import WARM_UP_S, World
from tests.simulator.stage import engine, node, record, world

GIB = 1024**3
GPU = '{gpu="0"}'
FIRST, SECOND = '{cage="p1",function="rocep1s0f1"}', '{cage="p1",function="roceP2p1s0f1"}'
NODE, OTHER = 1, 2
Page = dict[str, float]


@dataclass(frozen=True)
class Look:
    """What to see of a fault that began at 10 s: at which second, on which node, what must hold of its page."""

    fault: str
    second: float
    holds: Callable[[Page], bool]
    node: int = NODE


def power(page: Page) -> float:
    return page[f"gpu_power_watts{GPU}"]


def clock(page: Page) -> float:
    return page[f"gpu_sm_clock_hertz{GPU}"]


def mask(page: Page) -> int:
    return int(page[f"gpu_clock_event_reasons{GPU}"])


def celsius(page: Page) -> float:
    return page[f"gpu_temperature_celsius{GPU}"]


def busy(page: Page) -> float:
    return page[f"gpu_utilization_ratio{GPU}"]


LOOKS = (
    Look("power-delivery", 20, lambda page: 12 <= power(page) <= 19 and 0.6e9 <= clock(page) <= 0.8e9),
    Look("power-delivery", 20, lambda page: busy(page) >= 0.95 and mask(page) == 0 and celsius(page) < 75),
    Look("power-delivery", 90, lambda page: celsius(page) < 45),
    Look("power-delivery", 20, lambda page: power(page) > 50 and clock(page) > 2.2e9, OTHER),
    Look("thermal", 150, lambda page: celsius(page) >= 85 and mask(page) == 0x20),
    Look("thermal", 150, lambda page: clock(page) < 2.2e9 and power(page) < 66),
    Look("thermal", 150, lambda page: page['gpu_throttle_seconds_total{gpu="0",reason="thermal_software"}'] > 20),
    Look("thermal", 150, lambda page: celsius(page) < 80 and mask(page) == 0, OTHER),
    Look("straggler", 20, lambda page: 1.7e9 <= clock(page) <= 1.95e9 and 45 <= power(page) <= 72 and mask(page) == 0),
    Look("straggler", 20, lambda page: busy(page) >= 0.95),
    Look("straggler", 20, lambda page: clock(page) > 2.2e9, OTHER),
    Look("link-down", 20, lambda page: page[f"link_up{FIRST}"] == page[f"link_up{SECOND}"] == 0),
    Look(
        "link-down",
        20,
        lambda page: not any("capacity" in name and "p1" in name for name in page if "pcie" not in name),
    ),
    Look("link-down", 20, lambda page: page['kernel_link_events_total{direction="down"}'] == 2),
    Look("link-down", 20, lambda page: page[f"link_up{FIRST}"] == 1, OTHER),
    Look("link-down", 20, lambda page: busy(page) >= 0.95, OTHER),
    Look("wedge", 20, lambda page: busy(page) >= 0.95 and 50 <= power(page) <= 72),
    Look("memory-collapse", 15, lambda page: 10 * GIB < page["memory_available_bytes"] < 18 * GIB),
    Look("memory-collapse", 40, lambda page: page["memory_available_bytes"] < 2 * GIB),
    Look("memory-collapse", 60, lambda page: page["swap_out_bytes_total"] - page["swap_in_bytes_total"] > 1e9),
    Look("memory-collapse", 60, lambda page: page["swap_free_bytes"] < page["swap_total_bytes"] - 1e9),
    Look("memory-collapse", 60, lambda page: page['pressure_stalled_seconds_total{resource="memory"}'] > 5),
    Look("memory-collapse", 60, lambda page: page["kernel_driver_no_memory_total"] >= 3),
    Look("memory-collapse", 60, lambda page: page["memory_free_bytes"] < 4 * GIB),
    Look("memory-collapse", 60, lambda page: page["memory_available_bytes"] > 20 * GIB, OTHER),
    Look("fragmentation", 90, lambda page: page['memory_free_blocks{at_least="16MiB"}'] < 64),
    Look("fragmentation", 90, lambda page: page["memory_compaction_stalls_total"] > 3000),
    Look("fragmentation", 90, lambda page: page["memory_available_bytes"] > 20 * GIB),
    Look(
        "clock-skew", 20, lambda page: page["agent_time_seconds"] == pytest.approx(1_796_000_000 + 20 + 4.2, abs=1e-3)
    ),
    Look("clock-skew", 20, lambda page: page["agent_time_seconds"] == pytest.approx(1_796_000_020, abs=1e-3), OTHER),
    Look("uncabled", 20, lambda page: not any("cage" in name or "mlx5" in name for name in page)),
    Look("uncabled", 20, lambda page: busy(page) == 0 and clock(page) == 208e6 and power(page) < 6),
    Look("uncabled", 20, lambda page: page[f"gpu_processes{GPU}"] == 0 == page[f"gpu_process_memory_bytes{GPU}"]),
    Look("uncabled", 20, lambda page: busy(page) >= 0.95 and f"link_up{FIRST}" in page, OTHER),
    Look("loading", 20, lambda page: busy(page) == 0 and 11 < power(page) < 15),
    Look("engine-stop", 60, lambda page: power(page) < 6 and page["memory_available_bytes"] > 105 * GIB),
    Look("engine-stop", 60, lambda page: page[f"gpu_processes{GPU}"] == 0 and clock(page) == 208e6),
)
START = {"uncabled": 0}


LOADED = {"thermal": ("long-prefill:10+600",)}
"""What is needed beside a fault for it to be seen."""


def named(fault: str) -> str:
    target = f"@spark-{NODE + 1:02d}" if FAULTS[fault].reach in (Reach.NODE, Reach.ANY) else ""
    return f"{fault}{target}:{START.get(fault, 10)}+600"


@pytest.mark.parametrize("fault", sorted({look.fault for look in LOOKS}))
def test_what_is_seen_of_a_fault(fault: str) -> None:
    looked = world(named(fault), *LOADED.get(fault, ()))
    for look in sorted((look for look in LOOKS if look.fault == fault), key=lambda look: look.second):
        looked.advance(look.second)
        page = node(looked, look.node)
        assert look.holds(page), (look.second, look.node, {name: page[name] for name in page if "gpu" in name})


LOAD = (
    r"gpu_(utilization|temperature|power|power_instant|sm_clock|energy|performance)\w*|rdma_\w+|fabric_congestion_total"
    r"|cpu_busy\w+|load_average|temperature_celsius|system_\w+|disk_\w+|memory_available\w*|memory_headroom\w*"
)
"""What moves when the engine's steps come at other times."""
MEMORY = r"memory_\w+|gpu_process_memory_bytes|swap_\w+|pressure_\w+"
ONLY = {
    "power-delivery": LOAD,
    "thermal": LOAD + r"|gpu_clock_event_reasons|gpu_throttle_seconds_total",
    "straggler": LOAD,
    "one-rail": LOAD,
    "degraded-link": LOAD,
    "link-down": LOAD + r"|link_\w+|cage_\w+|kernel_link_events_total|agent_event_sequence|netdev_\w+",
    "tcp-fallback": LOAD + r"|netdev_\w+",
    "wedge": LOAD,
    "node-down": LOAD + "|.*",
    "agent-down": r"(?!)",
    "memory-collapse": LOAD + "|" + MEMORY + r"|kernel_driver_no_memory_total|agent_event_sequence",
    "fragmentation": r"memory_free_blocks|memory_compaction_\w+",
    "engine-restart": LOAD + "|" + MEMORY + r"|gpu_\w+",
    "engine-stop": LOAD + "|" + MEMORY + r"|gpu_\w+",
    "loading": LOAD + "|" + MEMORY + r"|gpu_\w+",
    "slow-scrape": r"(?!)",
    "clock-skew": r"agent_time_seconds|agent_start_time_seconds",
    "long-prefill": LOAD,
    "weight-copy": r"netdev_\w+|temperature_celsius",
    "idle-power-cap": LOAD + r"|gpu_clock_event_reasons|gpu_throttle_seconds_total",
    "uncabled": ".*",
}
BYSTANDERS = {
    "tcp-fallback": LOAD + r"|netdev_\w+",
    "link-down": LOAD,
    "memory-collapse": LOAD,
    "engine-restart": ONLY["engine-restart"],
    "engine-stop": ONLY["engine-stop"],
    "loading": ONLY["loading"],
    "clock-skew": r"(?!)",
    "fragmentation": r"(?!)",
    "weight-copy": r"(?!)",
    "idle-power-cap": r"(?!)",
    "node-down": LOAD,
    "uncabled": LOAD,
}
"""What may change on a node that the fault does not name, where it is not the same."""


@pytest.fixture(scope="module")
def healthy() -> World:
    return world(until=45.0)


def changed(page: Page, before: Page) -> set[str]:
    """Families of which some line is new, gone or another number."""
    lines = {name for name in page.keys() | before.keys() if page.get(name) != before.get(name)}
    return {name.partition("{")[0] for name in lines}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_changes_nothing_else(fault: str, healthy: World) -> None:
    looked = world(named(fault), until=45.0)
    own = changed(node(looked, NODE), node(healthy, NODE))
    assert not {name for name in own if not re.fullmatch(ONLY[fault], name)}
    other = changed(node(looked, OTHER), node(healthy, OTHER))
    allowed = BYSTANDERS.get(fault, LOAD if "|" in ONLY[fault] else ONLY[fault])
    assert not {name for name in other if not re.fullmatch(allowed, name)}


def test_both_tables_know_all_faults() -> None:
    assert set(ONLY) == set(FAULTS)
    rows = describe()
    assert [row["name"] for row in rows] == list(FAULTS)
    assert {row["name"] for row in rows if row["look_alike"]} == {
        "long-prefill",
        "weight-copy",
        "idle-power-cap",
        "uncabled",
    }
    assert all(row["text"] and row["reach"] in {reach.value for reach in Reach} for row in rows)


def test_a_clock_that_is_ahead_dates_the_start_ahead_too(healthy: World) -> None:
    ahead = node(world("clock-skew@spark-02:10", until=45.0), NODE)["agent_start_time_seconds"]
    assert ahead - node(healthy, NODE)["agent_start_time_seconds"] == pytest.approx(4.2, abs=1e-4)


def sent(looked: World, start: float, end: float, name: str = "rdma_sent") -> np.ndarray:
    """Bytes per second and function of all nodes between two instants."""
    looked.advance(start)
    before = looked.look().values[name]
    looked.advance(end)
    return (looked.look().values[name] - before) / (end - start)


def test_one_rail_carries_nearly_everything_and_much() -> None:
    rates = sent(world("one-rail@spark-02:10+600"), 30, 90)
    assert rates[NODE, 0] / rates[NODE].sum() > 0.9
    assert rates[NODE, 0] > 5.2e9
    assert 0.45 < rates[OTHER, 0] / rates[OTHER].sum() < 0.55


def test_a_degraded_link_stands_at_thirteen_gigabits_and_others_do_not() -> None:
    looked = world("degraded-link@spark-02:10+600")
    for start, name in ((40, "rdma_sent"), (60, "rdma_received"), (80, "rdma_sent")):
        rates = sent(looked, start, start + 15, name).sum(axis=1) * 8
        assert 12e9 <= rates[NODE] <= 14e9
        assert rates[OTHER] > 20e9


def test_all_that_is_sent_over_a_degraded_link_is_received() -> None:
    lines = record(world("degraded-link@spark-02:10+600", until=19.0), 80)
    grown = [
        np.array(lines[-1][name]).sum() - np.array(lines[0][name]).sum() for name in ("rdma_sent", "rdma_received")
    ]
    assert grown[0] == pytest.approx(grown[1], rel=1e-9)


def test_sockets_carry_what_rdma_does_not() -> None:
    looked = world("tcp-fallback:10+600", until=12.0)
    looked.engine.ask(12.0, 100_000, 10)
    assert sent(looked, 20, 40).sum() == 0
    netdev = sent(looked, 40, 60, "tcp_sent")
    assert netdev[:, 0].min() > 1e9
    assert netdev[:, 1].max() < 1e4
    assert sent(looked, 60, 70, "tcp_received")[:, 0].min() > 1e9


def test_a_copy_goes_one_way() -> None:
    looked = world("weight-copy@spark-02:10+600")
    out, back = sent(looked, 20, 30, "tcp_sent"), sent(looked, 30, 40, "tcp_received")
    assert out[0, 0] == pytest.approx(2.4e9, rel=0.01)
    assert back[NODE, 0] == pytest.approx(2.4e9, rel=0.01)
    assert out[NODE].max() < 1e4
    assert back[0].max() < 1e4


def test_a_copy_to_the_head_comes_from_its_neighbour() -> None:
    assert sent(world("weight-copy@spark-01:0+100"), 20, 30, "tcp_sent")[1, 0] == pytest.approx(2.4e9, rel=0.01)


def tokens(looked: World) -> float:
    return engine(looked)['vllm:generation_tokens_total{engine="0",model_name="moonshotai/Kimi-K3"}']


def running(looked: World) -> float:
    return engine(looked)['vllm:num_requests_running{engine="0",model_name="moonshotai/Kimi-K3"}']


@pytest.mark.parametrize("fault", ["wedge", "link-down@spark-02", "node-down@spark-02"])
def test_a_hang_stops_tokens_and_fabric_while_requests_run(fault: str) -> None:
    looked = world(f"{fault}:10+300", until=60.0)
    before = tokens(looked)
    assert sent(looked, 60.0, 120.0).sum() == 0
    assert tokens(looked) == before
    assert running(looked) >= 1
    assert looked.engine.timeline.current[0] is Activity.STALL


def test_a_wedge_that_ends_lets_the_engine_go_on() -> None:
    looked = world("wedge:10+50", until=50.0)
    before, lives = tokens(looked), looked.engine.lives
    looked.advance(130.0)
    assert tokens(looked) > before
    assert looked.engine.lives == lives


@pytest.mark.parametrize(("fault", "least"), [("power-delivery", 1.6), ("straggler", 1.15), ("tcp-fallback", 1.4)])
def test_one_slow_rank_slows_all(fault: str, least: float) -> None:
    healthy, slow = world(nodes=4), world(named(fault))
    lines = [record(one, 240.0)[150:] for one in (healthy, slow)]
    steps = [
        [value for line in part for value in line["observed"].get("inter_token_latency_seconds", ())] for part in lines
    ]
    middle = [float(np.median(values)) for values in steps]
    assert middle[1] / middle[0] > least


def test_a_long_prefill_looks_like_a_hang_but_works() -> None:
    looked = world("long-prefill:10+240")
    looked.advance(150.0)
    before = tokens(looked)
    rates = sent(looked, 150.0, 200.0)
    assert tokens(looked) - before == 0
    assert running(looked) >= 1
    assert rates.sum(axis=1).min() > 5e9
    assert power(node(looked, NODE)) > 75
    looked.advance(340.0)
    episode = [one for line in record(looked, 420.0) for one in line["episodes"]]
    assert tokens(looked) > before
    assert all(one["prompt"] > 0 for one in episode)


def test_a_hot_rank_slows_all() -> None:
    looked = world(named("thermal"), *LOADED["thermal"], until=150.0)
    assert 1.05 < looked.engine.pace.decode == looked.engine.pace.prefill < 1.5


def test_an_idle_power_cap_flaps_and_nothing_else() -> None:
    """Asleep when idle, at full clock when not; the others stay awake."""
    looked, masks, clocks = world("idle-power-cap@spark-02:0+900"), set(), set()
    for second in range(1, 400, 2):
        looked.advance(float(second))
        values = looked.look().values
        if looked.engine.timeline.current[0] is Activity.READY:
            masks.add(int(values["mask"][NODE]))
            clocks.add(float(values["hertz"][NODE]))
            assert values["hertz"][OTHER] > 2.4e9
            assert values["watts_instant"][NODE] < 6
        elif looked.engine.timeline.current[0] is Activity.DECODE:
            assert values["hertz"][NODE] > 2.3e9
    assert masks == {0x1, 0x5}
    assert clocks == {208e6}
    assert node(looked, NODE)['gpu_throttle_seconds_total{gpu="0",reason="power_cap"}'] > 15
    assert node(looked, OTHER)['gpu_throttle_seconds_total{gpu="0",reason="power_cap"}'] == 0


def test_an_uncabled_node_does_not_hold_the_others_up() -> None:
    looked = world("uncabled@spark-02:0", until=30.0)
    before = tokens(looked)
    rates = sent(looked, 30.0, 60.0)
    assert tokens(looked) > before
    assert rates[NODE].sum() == 0
    assert rates[OTHER].sum() > 0
    assert looked.incidents[0].start == -WARM_UP_S, "it has always been so"
