"""A world with runs whose speeds are known: closed loops, one after the other, with noise that is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runs.model import Measured
from telemetry.catalog import cluster, engine, gpu
from telemetry.frame import Floats
from telemetry.model import Series, part
from tests.runs.compare_worlds import noise
from tests.web.test_runs import keep, run
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, Value, World

REQUEST_S = 10.0
PAUSE_S = 30


@dataclass(frozen=True)
class Loop:
    """A run: how long, how many at once, tokens per second and request, tokens per step and request; watts."""

    seconds: int
    running: float
    speed: float
    accepted: float = 4.0
    watts: float = 50.0


LOOPS = (Loop(600, 4, 5.0), Loop(600, 4, 6.0, 4.8, 56.0), Loop(600, 4, 5.0), Loop(60, 4, 9.0), Loop(600, 12, 3.0))
"""Runs 1 to 5: the second a fifth faster, the third like the first, the fourth too short, the fifth under another
load."""


def spans(loops: Sequence[Loop]) -> list[tuple[int, int]]:
    """First and last tick of each run."""
    found, now = [], PAUSE_S
    for one in loops:
        found.append((now, now + one.seconds))
        now += one.seconds + PAUSE_S
    return found


def course(loops: Sequence[Loop]) -> dict[str, Floats]:
    """What happens in each second: running, tokens, steps × requests, finished requests, watts."""
    generator, ends = np.random.default_rng(3), spans(loops)
    length = ends[-1][1] + PAUSE_S
    found = {name: np.zeros(length) for name in ("running", "tokens", "steps", "finished")}
    found["watts"] = np.full(length, 5.0)
    for one, (first, last) in zip(loops, ends, strict=True):
        here = slice(first, last)
        speed = one.speed * (1.0 + 0.1 * noise(generator, one.seconds, 0.5))
        found["running"][here] = one.running
        found["tokens"][here] = speed * one.running
        found["steps"][here] = speed * one.running / one.accepted
        found["finished"][here] = one.running / REQUEST_S
        found["watts"][here] = one.watts
    return found


def counted(gained: Floats) -> Value:
    """A counter that has gained so much in each second."""
    total = np.concatenate((np.zeros(1), np.cumsum(gained)))
    return lambda number: float(total[number])


def held(values: Floats) -> Value:
    """A gauge that stands so in the second that a tick ends."""
    return lambda number: float(values[max(number - 1, 0)])


def compared(world: World, loops: Sequence[Loop] = LOOPS) -> World:
    """Let the runs happen, and keep them as runs 1, 2, …"""
    happened = course(loops)
    rates = {engine.GENERATION_TOKENS: "tokens", part(engine.ITL, "count"): "steps"}
    for metric, name in rates.items():
        world.set(HEAD, metric, counted(happened[name]))
    world.set(HEAD, part(engine.ITL, "sum"), counted(happened["running"]))
    world.set(HEAD, engine.REQUESTS_RUNNING, held(happened["running"]))
    world.set(HEAD, engine.REQUESTS_WAITING, held(np.zeros(len(happened["running"]))))
    world.set(HEAD, engine.DRAFTS, counted(happened["steps"]))
    own = world.series[HEAD]
    for name in ("sum", "count"):
        scale = REQUEST_S if name == "sum" else 1.0
        own[Series(HEAD, part(engine.E2E, name).name, ENGINE)] = counted(happened["finished"] * scale)
    outcome = tuple(sorted((*ENGINE, ("outcome", "stop"))))
    own[Series(HEAD, engine.REQUESTS_FINISHED.name, outcome)] = counted(happened["finished"])
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE, held(happened["tokens"]))
    world.set(DEPLOYMENT, cluster.DEPLOYMENT_RUNNING, held(happened["running"]))
    for place in range(1, 5):
        world.set(f"spark-{place:02}", gpu.GPU_POWER, held(happened["watts"] + place))
    world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_POWER, held(4 * happened["watts"]))
    world.run(0, len(happened["running"]) - 1)
    told = [Measured("4 at once", tool="vllm bench serve"), Measured("4 at once", tool="llama-benchy")]
    for number, (first, last) in enumerate(spans(loops), 1):
        keep(world, run(number, first, last, **({"measured": told[number - 1]} if number <= len(told) else {})))
    return world
