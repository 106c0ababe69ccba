"""Time, determinism and conservation: what a page says follows from the seed, the faults and the instant alone."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from simulator.cluster import CELL_S
from simulator.timeline import Activity, Timeline
from tests.simulator.stage import engine, node, record, world

UNTIL = 90.0


@pytest.fixture(scope="module")
def truth() -> list[dict[str, Any]]:
    return record(world(until=-1.0), UNTIL)


def test_same_seed_same_truth_however_often_one_looks(truth: list[dict[str, Any]]) -> None:
    watched, lines = world(until=-1.0), []
    watched.on_second = lambda at, line: lines.append({"t": at, **line})
    draw, now = random.Random(1), -1.0
    while now < UNTIL:
        now = min(now + draw.uniform(0.01, 3.0), UNTIL)
        watched.advance(now)
        watched.look()
        node(watched, 1)
    assert [line for line in lines if line["t"] >= 0] == truth
    assert record(world(until=-1.0, seed=8), UNTIL) != truth


def test_a_page_does_not_depend_on_earlier_looks() -> None:
    once, often = world(), world()
    for now in np.arange(0.0, 33.3, 0.37):
        often.advance(float(now))
        often.look()
    once.advance(33.3)
    often.advance(33.3)
    assert node(once, 2) == node(often, 2)
    assert engine(once) == engine(often)


def test_seconds_add_up(truth: list[dict[str, Any]]) -> None:
    assert [line["t"] for line in truth] == list(range(int(UNTIL) + 1))
    steps = [step for line in truth[1:] for step in line["steps"]]
    assert steps[-1][1] == truth[-1]["generated"]
    for earlier, later in itertools.pairwise(truth):
        assert all(earlier["t"] < end <= later["t"] for end, _ in later["steps"])
        last = later["steps"][-1][1] if later["steps"] else earlier["generated"]
        assert last == later["generated"] >= earlier["generated"]
    prompts = sum(episode["prompt"] for line in truth[1:] for episode in line["episodes"])
    assert prompts == truth[-1]["prompt"] - truth[0]["prompt"] > 0
    observed = sum(len(line["observed"].get("inter_token_latency_seconds", ())) for line in truth[1:])
    assert observed == truth[-1]["drafts"] - truth[0]["drafts"]


def test_energy_is_the_integral_of_power(truth: list[dict[str, Any]]) -> None:
    for earlier, later in itertools.pairwise(truth):
        grown = np.array(later["joules"]) - np.array(earlier["joules"])
        assert grown == pytest.approx(np.array(later["watts"]), abs=0.02), "power is the mean over the last second"


def test_energy_between_two_pages_is_power_times_time() -> None:
    looked = world()
    joules, seconds = 0.0, 0.05
    start = looked.look().values["gpu_joules"][1]
    for step in range(1, 401):
        looked.advance(step * seconds)
        seen = looked.look().values
        joules += seen["watts_instant"][1] * seconds
    assert seen["gpu_joules"][1] - start == pytest.approx(joules, rel=0.01)


def test_what_is_sent_is_received(truth: list[dict[str, Any]]) -> None:
    sent = np.array(truth[-1]["rdma_sent"]) - np.array(truth[0]["rdma_sent"])
    received = np.array(truth[-1]["rdma_received"]) - np.array(truth[0]["rdma_received"])
    assert sent.sum() > 1e9
    assert sent.sum() == pytest.approx(received.sum(), rel=1e-9)
    shares = sent[:, 0] / sent.sum(axis=1)
    assert np.all(np.abs(shares - 0.5) < 0.03), "both functions of the cage carry about the same"
    assert np.array(truth[-1]["tcp_sent"]).max() < 1.9e3 * (UNTIL + 61), "RDMA does not show on the netdev"


def test_bytes_follow_the_tokens() -> None:
    """What the nodes send in a decode: so much for each of nine tokens in a verified draft."""
    lines = record(world(until=-1.0), UNTIL)
    sent = np.array(lines[-1]["rdma_sent"]).sum(axis=1).mean() - np.array(lines[0]["rdma_sent"]).sum(axis=1).mean()
    drafts = lines[-1]["drafts"] - lines[0]["drafts"]
    computed = lines[-1]["computed"] - lines[0]["computed"]
    assert sent == pytest.approx(drafts * 9 * 5e6 + computed * 8e6, rel=0.10), "prompts cut by the ends of the window"


def test_the_page_of_the_engine_is_the_truth_at_its_instant() -> None:
    looked = world(until=-1.0)
    lines = record(looked, 120.0)
    page = engine(looked)
    name = 'vllm:generation_tokens_total{engine="0",model_name="moonshotai/Kimi-K3"}'
    assert page[name] == lines[-1]["generated"]
    steps = [step for line in lines for step in line["steps"]]
    end, total = steps[len(steps) // 2]
    again = world()
    again.advance(end + 1e-6)
    assert engine(again)[name] == total
    before = world()
    before.advance(end - 1e-5)
    assert engine(before)[name] < total


def test_the_page_of_a_node_is_the_truth_at_its_instant() -> None:
    looked = world()
    start = node(looked, 1)
    lines = record(looked, 60.0)
    end = node(looked, 1)
    assert len(lines) == 60
    for at, function in enumerate(("rocep1s0f1", "roceP2p1s0f1")):
        labels = f'{{cage="p1",function="{function}"}}'
        for metric, name in (("rdma_transmit", "rdma_sent"), ("netdev_receive", "tcp_received")):
            grown = end[f"{metric}_bytes_total{labels}"] - start[f"{metric}_bytes_total{labels}"]
            first = record(world(until=-1.0), 0.0)[0][name][1][at]
            assert grown == pytest.approx(lines[-1][name][1][at] - first, abs=8)
    grown = end['gpu_energy_joules_total{gpu="0"}'] - start['gpu_energy_joules_total{gpu="0"}']
    assert grown == pytest.approx(lines[-1]["joules"][1] - record(world(until=-1.0), 0.0)[0]["joules"][1], abs=0.01)


def test_at_work_from_the_first_second() -> None:
    lines = record(world(until=-1.0), 10.0)
    assert lines[10]["generated"] > lines[0]["generated"]


def test_timeline_integrates_pieces() -> None:
    line = Timeline(0.0, Activity.READY)
    line.switch(1.0, Activity.DECODE, 100.0)
    line.switch(3.0, Activity.PREFILL, 1000.0)
    line.switch(3.0, Activity.STALL)
    seconds, moved = line.over(0.5, 4.0)
    assert [seconds[kind] for kind in (Activity.READY, Activity.DECODE, Activity.PREFILL, Activity.STALL)] == [
        0.5,
        2.0,
        0.0,
        1.0,
    ]
    assert moved == 200.0
    assert line.over(2.0, 2.0) == ([0.0] * len(Activity), 0.0)


def test_timeline_forgets_only_what_is_over() -> None:
    line = Timeline(0.0, Activity.READY)
    for second in range(1, 201):
        line.switch(float(second), Activity.DECODE, float(second))
    line.forget(150.5)
    assert line.over(150.0, 152.0) == ([0.0, 0.0, 0.0, 2.0, 0.0, 0.0], 301.0)


def test_cells_divide_a_second() -> None:
    assert (1 / CELL_S).is_integer()
