"""What alert rules cost: `python -m bench.alerts [--days 30] [--profile]`.

Live: 100 rules (those of the product, all but the last few twice, the second time with other numbers) over 64 nodes and
one engine, one tick after another out of samples at hand, as the collector does it. CPU time of a tick, the median of
many.

Replay: one rule over 30 days of 16 nodes, one sample a second in sealed hours; a node is hot for ten minutes a day.
Making them takes minutes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from alerts import expression as ex
from alerts.defaults import defaults, merged
from alerts.places import Place
from alerts.record import RuleChange
from alerts.replay import replay
from alerts.rulebook import Rulebook
from alerts.slow import Slow
from bench.summary import series_of
from pipeline.alarms import Alarms
from pipeline.clock import HubClock
from pipeline.config import TargetConfig, TargetKind
from pipeline.deployments import EngineId
from pipeline.desk import Desk
from pipeline.lookout import Lookout
from pipeline.past import StoredPast
from pipeline.pulse import Pulse
from pipeline.resume import Left
from pipeline.targets import Target
from storage.imports import ImportedHour, Imports
from storage.store import Store, open_store
from telemetry import catalog
from telemetry.catalog import engine, gpu, host, memory, network
from telemetry.frame import Floats
from telemetry.model import Kind, Scope, Series

NODES, RULES, WARM, TICKS = 64, 100, 620, 60
BUDGET_MS = 20.0
DAYS, REPLAY_NODES, REPLAY_S = 30, 16, 2.0
HOUR_MS = 3_600_000
START_MS = 1_796_000_400_000
START_HOUR = START_MS // HOUR_MS * HOUR_MS
GIB = 1024.0**3
WELL = {
    gpu.GPU_UTILIZATION.name: 0.95,
    gpu.GPU_POWER.name: 60.0,
    gpu.GPU_TEMPERATURE.name: 60.0,
    gpu.GPU_SM_CLOCK.name: 2.4e9,
    gpu.GPU_SM_CLOCK_MAX.name: 3e9,
    memory.MEMORY_HEADROOM.name: 30 * GIB,
    memory.MEMORY_AVAILABLE.name: 30 * GIB,
    memory.MEMORY_FREE.name: 20 * GIB,
    memory.FREE_BLOCKS.name: 1000.0,
    network.LINK_UP.name: 1.0,
    network.CAGE_CAPACITY.name: 25e9,
    network.PCIE_WIDTH.name: 4.0,
    host.DISK_AVAILABLE.name: 500 * GIB,
    host.DISK_SIZE.name: 900 * GIB,
    engine.REQUESTS_RUNNING.name: 1.0,
    engine.KV_CACHE_USAGE.name: 0.3,
}
BUSY = {one.name for one in (network.RDMA_TRANSMIT, network.RDMA_RECEIVE, engine.GENERATION_TOKENS)}
ENGINES = {"model": [EngineId("head", "0", "org/model")]}


def rulebook(count: int = RULES) -> Rulebook:
    """Rules of the product, and copies of them with other numbers, all on."""
    first = merged(defaults(), {name: {"enabled": True} for name in defaults()})
    names = list(first)
    copies = {f"{name}_{turn}": first[name] for turn in range(1, count) for name in names}
    changes = list({**first, **copies}.items())[:count]
    book = Rulebook({}, [RuleChange(place, name, table, 0) for place, (name, table) in enumerate(changes)])
    for name in book.rules.keys() & copies.keys():
        rule, turn = book.rules[name], int(name.rpartition("_")[2])
        book.rules[name] = replace(rule, condition=_shifted(rule.condition, 1 + turn / 1000))
    return book


def _shifted(of: Any, factor: float) -> Any:
    """A condition, or part of one, with its numbers multiplied."""
    if isinstance(of, ex.Number):
        return replace(of, value=of.value * factor)
    if isinstance(of, tuple):
        return tuple(_shifted(one, factor) for one in of)
    if not is_dataclass(of) or isinstance(of, (ex.Reading, Place)):
        return of
    return replace(of, **{one.name: _shifted(getattr(of, one.name), factor) for one in fields(of)})  # type: ignore[type-var]


def targets(nodes: int) -> list[Target]:
    """Targets that are never asked."""
    desk, pulse, clock = Desk(), Pulse(time.monotonic), HubClock(0.0, 0.0)
    configs = [TargetConfig(f"node-{place:02}", "http://127.0.0.1:1", TargetKind.NODE) for place in range(nodes)]
    configs.append(TargetConfig("head", "http://127.0.0.1:1", TargetKind.ENGINE))
    return [Target(one, clock, time.monotonic, 1.0, Left(), desk, pulse) for one in configs]


class World:
    """Rows of all targets, second by second: counters that rise, gauges that waver and are well, as they mostly are."""

    def __init__(self, nodes: int) -> None:
        names = [f"node-{place:02}" for place in range(nodes)]
        self.layouts = {name: series_of(name, Scope.NODE) for name in names} | {"head": series_of("head", Scope.ENGINE)}
        self._counters = {name: _are_counters(series) for name, series in self.layouts.items()}
        self._well = {
            name: np.array([WELL.get(one.metric, 0.0) for one in series]) for name, series in self.layouts.items()
        }
        self._noise = np.random.default_rng(1)

    def rows(self, second: int) -> Iterator[tuple[str, tuple[Series, ...], Floats]]:
        """One tick."""
        for name, series in self.layouts.items():
            noise = 1 + self._noise.random(len(series)) / 50
            rising = np.where([one.metric in BUSY for one in series], second * 1e6, 0.0)
            yield name, series, np.where(self._counters[name], rising, self._well[name] * noise)


def _are_counters(series: tuple[Series, ...]) -> np.ndarray:
    return np.array([catalog.stored(one.metric).kind is Kind.COUNTER for one in series])


class Collector:
    """The part of a collector that reads rules."""

    def __init__(self, nodes: int, book: Rulebook) -> None:
        self.targets = targets(nodes)
        self.lookout, self.alarms, self.world = Lookout(self.targets, 1000.0), Alarms(book), World(nodes)
        self.lookout.read(book.rules.values())
        self.lookout.slow = Slow()
        for target in self.targets:
            for name in ("kernel", "driver_version", "gpu.0.vbios", "function.rocep1s0f1.firmware"):
                self.lookout.fact(target.name, name, "1", 0)

    def feed(self, second: int) -> None:
        """Take in the rows of a second."""
        for name, series, values in self.world.rows(second):
            self.lookout.add(name, START_MS + second * 1000, START_MS + second * 1000, series, values)

    def tick(self, second: int) -> None:
        """Read all rules."""
        tick = START_MS + second * 1000
        self.alarms.tick(tick, self.lookout.view(tick, self.lookout.members(ENGINES)), {})


def live(nodes: int = NODES, rules: int = RULES, ticks: int = TICKS, warm: int = WARM) -> list[float]:
    """CPU milliseconds of each tick."""
    collector = Collector(nodes, rulebook(rules))
    for second in range(warm):
        collector.feed(second)
    collector.tick(warm)
    spent = []
    for second in range(warm + 1, warm + 1 + ticks):
        collector.feed(second)
        began = time.process_time()
        collector.tick(second)
        spent.append((time.process_time() - began) * 1000)
    return spent


def fill(store: Store, days: int, nodes: int) -> None:
    """Temperatures of so many days, sealed."""
    imports, noise = Imports(store), np.random.default_rng(2)
    for hour in range(START_HOUR, START_HOUR + days * 24 * HOUR_MS, HOUR_MS):
        ticks = np.arange(hour, hour + HOUR_MS, 1000)
        for place in range(nodes):
            name = f"node-{place:02}"
            values = 60.0 + np.round(10 * noise.random((1, len(ticks))))
            if place == hour // HOUR_MS % 24:  # one after the other, so that each hour of the day has one
                values[0, 600:1200] = 92.0 if place == 0 else values[0, 600:1200]
            series = (Series(name, gpu.GPU_TEMPERATURE.name, (("gpu", "0"),)),)
            imports.write(ImportedHour(name, hour, ticks, series, values, [], 1000))


def replayed(days: int = DAYS, nodes: int = REPLAY_NODES) -> tuple[float, int]:
    """(CPU seconds of a replay, how often the rule fired)."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"{folder}/store.db", writer=True, now_ms=START_HOUR)
        fill(store, days, nodes)
        rule = rulebook(50).rules["gpu_hot"]
        began = time.process_time()
        past = StoredPast(store, rule, START_HOUR, START_HOUR + days * 24 * HOUR_MS)
        found = replay(rule, past, past.hold_ms)
        spent = time.process_time() - began
        store.close()
    return spent, len(found.fired)


def main() -> int:
    """Measure and print; 1 where a budget is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--profile", action="store_true")
    options.add_argument("--days", type=int, default=DAYS)
    given = options.parse_args()
    profile = cProfile.Profile()
    if given.profile:
        profile.enable()
    spent = live()
    if given.profile:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)
    middle = statistics.median(spent)
    print(f"{RULES} rules x {NODES} nodes: {middle:.1f} ms of CPU per tick, at most {max(spent):.1f}, of {BUDGET_MS:g}")
    seconds, times = replayed(given.days)
    print(f"{given.days} days x {REPLAY_NODES} nodes replayed: {seconds:.2f} s of CPU of {REPLAY_S:g}, {times} alerts")
    return int(middle > BUDGET_MS or seconds > REPLAY_S)


if __name__ == "__main__":
    sys.exit(main())
