"""One story for every rule of the product: what fires it, within what time, and what only looks like it.

Numbers are per series: one value for all of the time, or (before, from the fault on), or a function of seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alerts.given import STATES
from alerts.language import parse
from alerts.places import Key, Members
from alerts.slow import Slow
from telemetry.catalog import cluster, engine, gpu, host, network
from telemetry.frame import Frame
from telemetry.model import Metric, Scope, Series, part
from tests.alerts.samples import frame, of_engine, of_node

GIB = 1024.0**3
CLOCK_SKEW = cluster.CLOCK_SKEW
FAULT_S = 30
"""From here on something is wrong."""
NODES = ("a", "b", "c", "d")
MEMBERS = Members(
    {("head", "0", "Kimi-K3"): "k3"},
    dict.fromkeys(NODES, "k3"),
    {**dict.fromkeys(NODES, Scope.NODE), "head": Scope.ENGINE},
    {"head": "k3"},
)
Value = float | tuple[float, float] | Callable[[float], float]
Rows = Mapping[Series, Value]


def line(value: Value, seconds: int) -> list[float]:
    """A value for every second."""
    if isinstance(value, tuple):
        return [value[second >= FAULT_S] for second in range(seconds)]
    return [value(float(second)) if callable(value) else value for second in range(seconds)]


def grows(rate: float, before: float = 0.0) -> Callable[[float], float]:
    """A counter: so much a second before the fault, and from then on."""
    return lambda second: before * min(second, FAULT_S) + rate * max(second - FAULT_S, 0.0)


def leaps(by: float, times: int = 1) -> Callable[[float], float]:
    """A counter that rises once, or a few times second by second, when the fault begins."""
    return lambda second: by * min(max(second - FAULT_S + 1, 0.0), float(times))


def on(node: str, metric: Metric, value: Value, **labels: str) -> dict[Series, Value]:
    return {of_node(node, metric.name, **labels): value}


def of_gpu(node: str = "a", **values: Value) -> dict[Series, Value]:
    """A GPU's readings by their short names."""
    names = {
        "util": gpu.GPU_UTILIZATION,
        "clock": gpu.GPU_SM_CLOCK,
        "top": gpu.GPU_SM_CLOCK_MAX,
        "power": gpu.GPU_POWER,
        "temp": gpu.GPU_TEMPERATURE,
        "bits": gpu.GPU_CLOCK_EVENT_REASONS,
        "state": gpu.GPU_READING_STATE,
    }
    return {of_node(node, names[name].name, gpu="0"): value for name, value in values.items()}


def busy(**more: Value) -> dict[Series, Value]:
    """The other nodes at work."""
    found: dict[Series, Value] = {}
    for node in NODES[1:]:
        found |= of_gpu(node, **{"util": 0.96, "clock": 2.4e9, "power": 70.0, **more})
    return found


def of_function(node: str = "a", cage: str = "p1", name: str = "f0", **values: Value) -> dict[Series, Value]:
    """A NIC function's readings by their short names."""
    names = {
        "sent": network.RDMA_TRANSMIT,
        "received": network.RDMA_RECEIVE,
        "tcp_out": network.NETDEV_TRANSMIT,
        "tcp_in": network.NETDEV_RECEIVE,
        "up": network.LINK_UP,
        "lanes": network.PCIE_WIDTH,
        "mtu": network.MTU,
        "marks": network.FABRIC_CONGESTION,
    }
    return {of_node(node, names[key].name, cage=cage, function=name): value for key, value in values.items()}


def served(**values: Value) -> dict[Series, Value]:
    """An engine's readings by their short names."""
    names = {
        "phase": engine.ENGINE_PHASE,
        "running": engine.REQUESTS_RUNNING,
        "waiting": engine.REQUESTS_WAITING,
        "kv": engine.KV_CACHE_USAGE,
        "preempted": engine.PREEMPTIONS,
        "accepted": engine.ACCEPTED_TOKENS,
        "drafts": engine.DRAFTS,
    }
    return {of_engine(names[key].name): value for key, value in values.items()}


def finished(errors: Value, stops: Value) -> dict[Series, Value]:
    """Requests by how they ended."""
    return {
        of_engine(engine.REQUESTS_FINISHED.name, outcome=outcome): value
        for outcome, value in (("error", errors), ("stop", stops))
    }


def histogram(metric: Metric, edges: Mapping[str, Value]) -> dict[Series, Value]:
    """Buckets of a histogram."""
    return {of_engine(part(metric, "bucket").name, le=edge): value for edge, value in edges.items()}


@dataclass(frozen=True)
class Story:
    """within_s: so soon after the fault it fires. given: what no sample says, at the fault and before. slow: readings
    over long windows, by text."""

    what: str
    key: Key
    within_s: float
    rows: Rows = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    slow: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seconds: int = 0

    @property
    def length(self) -> int:
        """Seconds of the story."""
        return self.seconds or int(FAULT_S + self.within_s + 30)

    def but(self, what: str, rows: Rows | None = None, **changes: object) -> Story:
        """The same with other numbers: what must not fire."""
        return replace(self, what=what, rows={**self.rows, **(rows or {})}, **changes)  # type: ignore[arg-type]

    def frame(self) -> Frame:
        """Its samples, one a second; a tick at least where there are none."""
        rows = {series: line(value, self.length) for series, value in self.rows.items()}
        return frame(rows or {of_node("nobody", host.UPTIME.name): [0.0] * self.length})

    def given_lines(self) -> dict[str, dict[str, np.ndarray]]:
        """What is given, second by second."""
        return {
            name: {owner: np.array(line(value, self.length)) for owner, value in values.items()}
            for name, values in self.given.items()
        }

    def slow_values(self, place: str) -> Slow:
        """Readings over long windows for the story's instance."""
        found: Slow = {}
        for text, value in self.slow.items():
            reading = parse(f"{text} > 0").left  # type: ignore[union-attr]
            found[reading, place] = {self.key: value}
        return found


def state(name: str) -> float:
    """Code of a target's state."""
    return float(STATES.index(name))


def states(metric: Metric, name: str) -> float:
    """Code of a state of the catalogue."""
    return float(metric.states.index(name))


@dataclass(frozen=True)
class Pair:
    """What fires a rule, what must not, and what else fires it."""

    fires: Story
    quiet: Sequence[Story]
    also: Sequence[Story] = ()
