"""A cluster to which things happen: targets are silent, late, begin anew or say other things, clocks leap."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from pipeline.deployments import EngineId
from pipeline.window import Window
from telemetry.catalog import engine, gpu, network
from telemetry.counters import Step
from telemetry.frame import Floats, Frame
from telemetry.model import Series

SPAN_MS = 120_000
NODES, ENGINES = ("n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"), ("e1", "e2")
FABRIC = (network.RDMA_TRANSMIT, network.NETDEV_TRANSMIT, network.RDMA_RECEIVE, network.NETDEV_RECEIVE)
DEPLOYMENTS = {
    "M": [EngineId("e1", "0", "m"), EngineId("e2", "0", "m")],
    "N": [EngineId("e1", "1", "n")],
}


def of_node(name: str) -> tuple[Series, ...]:
    gpus = [Series(name, one.name, (("gpu", "0"),)) for one in (gpu.GPU_POWER, gpu.GPU_UTILIZATION)]
    return (*gpus, *(Series(name, one.name, (("cage", cage),)) for cage in ("p0", "p1") for one in FABRIC))


def of_engine(name: str) -> tuple[Series, ...]:
    metrics = (engine.GENERATION_TOKENS, engine.REQUESTS_RUNNING)
    return tuple(
        Series(name, one.name, (("engine", number), ("model", model)))
        for number, model in (("0", "m"), ("1", "n"))
        for one in metrics
    )


@dataclass
class World:
    """Targets that are read once a second, and what came of it."""

    chance: random.Random
    window: Window = field(default_factory=lambda: Window(SPAN_MS))
    tick: int = 1_796_000_000_000
    layouts: dict[str, tuple[Series, ...]] = field(default_factory=dict)
    levels: dict[Series, float] = field(default_factory=dict)
    silent_until: dict[str, int] = field(default_factory=dict)
    interval_ms: dict[str, int] = field(default_factory=dict)
    due_ms: dict[str, int] = field(default_factory=dict)
    late: list[tuple[str, int, float, tuple[Series, ...], Floats]] = field(default_factory=list)
    offset_ms: float = 0.0

    def __post_init__(self) -> None:
        self.layouts = {name: of_node(name) for name in NODES} | {name: of_engine(name) for name in ENGINES}
        self.interval_ms = dict.fromkeys(self.layouts, 1000)

    def second(self) -> None:
        """Read every target that is due."""
        self.tick += 1000
        coming, self.late = self.late, []
        for one in coming:
            self.window.add(*one)
        for name in self.layouts:
            if self.silent_until.get(name, 0) <= self.tick and self.due_ms.get(name, 0) <= self.tick:
                self.due_ms[name] = self.tick + self.interval_ms[name]
                self.window.set_intervals({name: self.interval_ms[name]})
                self.window.add(*self.row(name))

    def row(self, name: str) -> tuple[str, int, float, tuple[Series, ...], Floats]:
        at_ms = self.tick + self.offset_ms + self.chance.uniform(0, 300)
        return name, self.tick, at_ms, self.layouts[name], np.array([self.value(one) for one in self.layouts[name]])

    def value(self, series: Series) -> float:
        if series.metric in (gpu.GPU_POWER.name, gpu.GPU_UTILIZATION.name, engine.REQUESTS_RUNNING.name):
            return self.chance.uniform(0, 100)
        self.levels[series] = self.levels.get(series, 0.0) + self.chance.choice((0.0, 3.0, self.chance.uniform(0, 1e6)))
        return self.levels[series]

    def some(self) -> str:
        return self.chance.choice(list(self.layouts))


def silence(world: World) -> None:
    world.silent_until[world.some()] = world.tick + world.chance.choice((1, 2, 5, 14, 16, 40, 150)) * 1000


def all_silent(world: World) -> None:
    for name in world.layouts:
        world.silent_until[name] = world.tick + 4000


def comes_late(world: World) -> None:
    name = world.some()
    world.silent_until[name] = world.tick + 2000
    name, _, at_ms, series, values = world.row(name)
    world.late.append((name, world.tick + 1000, at_ms + 1000, series, values))


def comes_long_after(world: World) -> None:
    name, tick, at_ms, series, values = world.row(world.some())
    world.window.add(name, tick - world.chance.choice((500, 7000, 40_000)), at_ms, series, values)


def comes_twice(world: World) -> None:
    world.window.add(*world.row(world.some()))


def comes_early(world: World) -> None:
    name, tick, at_ms, series, values = world.row(world.some())
    world.window.add(name, tick + 2000, at_ms + 2000, series, values)


def says_less(world: World) -> None:
    name = world.some()
    whole_page = of_node(name) if name in NODES else of_engine(name)
    world.layouts[name] = tuple(one for one in whole_page if world.chance.random() < 0.8)


def says_other_things(world: World) -> None:
    name = world.some()
    world.layouts[name] = tuple(world.chance.sample(world.layouts[name], len(world.layouts[name])))


def another_object(world: World) -> None:
    name = world.some()
    world.layouts[name] = (*world.layouts[name],)


def says_no_number(world: World) -> None:
    name = world.some()
    row = world.row(name)
    row[4][world.chance.randrange(len(row[4])) if len(row[4]) else slice(None)] = np.nan
    world.silent_until[name] = world.tick + 2000
    world.late.append((name, world.tick + 1000, *row[2:]))


def begins_anew(world: World) -> None:
    name = world.some()
    reason = world.chance.choice((Step.RESTART, Step.FIRST_USE, Step.FIRST_SAMPLE, Step.LEVEL)).value
    tick = world.tick + world.chance.choice((-3000, 0, 1000))
    world.window.add_steps([(one, tick, reason) for one in world.layouts[name]])


def another_interval(world: World) -> None:
    name = world.some()
    before, world.interval_ms[name] = world.interval_ms[name], world.chance.choice((1000, 2000, 5000))
    if world.chance.random() < 0.5:
        world.window.end_stretch(name, before, world.tick)
    world.window.set_intervals({name: world.interval_ms[name]})


def clock_set_back(world: World) -> None:
    world.tick -= world.chance.choice((3000, 60_000, 200_000))


def clock_leaps(world: World) -> None:
    world.tick += world.chance.choice((2000, 20_000, 130_000))


def clock_of_nodes_set_back(world: World) -> None:
    world.offset_ms -= 5000


def forgotten(world: World) -> None:
    world.window.clear()


HAPPENS = (
    silence,
    all_silent,
    comes_late,
    comes_long_after,
    comes_twice,
    comes_early,
    says_less,
    says_other_things,
    another_object,
    says_no_number,
    begins_anew,
    another_interval,
    clock_set_back,
    clock_leaps,
    clock_of_nodes_set_back,
    forgotten,
)


HARMLESS = (silence, comes_late, another_object, says_no_number, clock_of_nodes_set_back)
"""After which frames slide on."""


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def assert_same(one: Frame, other: Frame) -> None:
    assert one.series == other.series
    for name in ("ticks", "values", "at_ms", "breaks", "gap_ms"):
        assert same_bits(getattr(one, name), getattr(other, name)), name
