"""The simulated cluster under a real collector, on a clock that runs as fast as the pages can be read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from alerts.record import Alert
from alerts.slow import work_out
from pipeline.clock import HubClock
from pipeline.collector import build
from pipeline.config import CollectorConfig, TargetConfig, TargetKind
from pipeline.membership import Membership
from pipeline.sampler import Sampler
from simulator.faults import Order
from simulator.server import Options, Simulator
from storage.store import Store, open_store

EPOCH_S = 1_796_000_000.0
SLOW_EVERY_S = 30
PLAYED = {"collector_silent": {"enabled": False}}
"""The disk has no part in the play: what a loaded machine needs for a commit are many seconds of it."""


@dataclass
class Clock:
    """Monotonic seconds that the play moves."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass(frozen=True)
class Raised:
    """An alert as a test looks at it: seconds of the play."""

    rule: str
    key: tuple[str, ...]
    fired_s: float
    ended_s: float | None
    cause: str | None
    message: str


def play(
    path: Path, seconds: int, faults: Sequence[str] = (), nodes: int = 4, seed: int = 7, step_s: int = 1
) -> list[Raised]:
    """What fires in so many seconds of the demo with these faults (NAME@NODE:START+DURATION), oldest first.

    step_s: the interval of the collector; seconds between its ticks are not played.
    """
    return asyncio.run(_play(path, seconds, [Order.parse(one) for one in faults], Options(nodes, seed), step_s))


async def _play(path: Path, seconds: int, faults: Sequence[Order], options: Options, step_s: int) -> list[Raised]:
    clock = Clock()
    simulator = Simulator(replace(options, faults=tuple(faults)), clock, lambda: EPOCH_S + clock.now_s)
    await simulator.start()
    store = open_store(str(path), writer=True, now_ms=round(EPOCH_S * 1000))
    try:
        config = replace(_config(path, simulator), interval_s=float(step_s))
        sampler, membership = build(config, store, HubClock(EPOCH_S * 1000, 0.0), clock), Membership()
        for second in range(step_s, seconds + 1, step_s):
            clock.now_s = float(second)
            simulator.advance()
            await simulator.attend()
            await sampler.tick(clock.now_s)
            if second % SLOW_EVERY_S == 0:
                await sampler.written()
                _look_far(sampler, store, membership)
        await sampler.finish()
        return _told(store.alerts())
    finally:
        await simulator.stop()
        store.close()


def _config(path: Path, simulator: Simulator) -> CollectorConfig:
    addresses = simulator.addresses()
    agents = tuple(TargetConfig(name, url, TargetKind.NODE) for name, url in addresses["nodes"].items())
    engine = TargetConfig("engine", addresses["engine"], TargetKind.ENGINE)
    return CollectorConfig(str(path), agents, (engine,), alerts=PLAYED)


def _look_far(sampler: Sampler, store: Store, membership: Membership) -> None:
    """What the collector does in a thread beside its ticks."""
    hub = sampler.hub
    seen = (hub.window, hub.deployments(), hub.chronicle.going(), sampler.last_tick)
    hub.lookout.evidence = membership.look(store, *seen)
    members = hub.lookout.members(hub.deployments())
    hub.lookout.slow = work_out(list(hub.alarms.rulebook.rules.values()), store, members, sampler.last_tick)


def _told(alerts: Sequence[Alert]) -> list[Raised]:
    rules = {alert.id: alert.rule for alert in alerts}
    found = [
        Raised(
            alert.rule,
            alert.key,
            alert.fired_ms / 1000 - EPOCH_S,
            None if alert.ended_ms is None else alert.ended_ms / 1000 - EPOCH_S,
            None if alert.cause is None else rules[alert.cause],
            alert.message,
        )
        for alert in alerts
    ]
    return sorted(found, key=lambda one: one.fired_s)
