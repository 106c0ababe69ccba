"""The nodes as one: counters and gauges of all of them at any instant that is not in the future.

Time passes in cells of a quarter of a second, within which power by activity is constant; so energy is exactly the
integral of power, and what a page shows at an instant does not depend on who looked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.conditions import Conditions, Floats
from simulator.draws import array_stream
from simulator.fabric import Fabric
from simulator.host import Host
from simulator.memory import Memory
from simulator.power import UTILIZATION, Power
from simulator.timeline import BUSY, Activity, Timeline

CELL_S = 0.25
REMEMBERED = 5
"""Cells that make the second over which the driver averages."""
KERNEL = ("complaints", "link_down_events", "link_up_events", "agent_cpu")
"""Counters that start at 0 with the agent; all others start with the machine."""
METERS = ("gpu_joules", "cpu_joules", "package_joules")
"""Energy that an agent goes on counting over the firmware's wraps; `…_met` is where each stood when it began."""


@dataclass(frozen=True)
class Instant:
    """All readings of all nodes at one instant: name → one value per node, or per node and function.

    Counters are as a page shows them: since boot, or since the agent started.
    """

    at: float
    activity: Activity
    values: dict[str, Floats]


class Cluster:
    """State of all nodes up to `now`, the end of the last finished cell."""

    def __init__(self, seed: int, nodes: int, start: float) -> None:
        draw = array_stream(seed, "boot")
        self.nodes = nodes
        self.now = start
        self.power, self.fabric = Power(seed, nodes), Fabric(seed, nodes)
        self.memory, self.host = Memory(seed, nodes), Host(seed, nodes)
        self.booted: Floats = start - draw.uniform(4e4, 6e5, nodes)
        self.agent_started: Floats = start - draw.uniform(3e3, 3e4, nodes)
        self.boots = np.zeros(nodes, dtype=np.int64)
        self._before: dict[str, Floats] = {}
        self._counters: dict[str, Floats] = {}
        self._zero: dict[str, Floats] = {}
        self._met: dict[str, Floats] = {}
        self._trail: list[tuple[float, Floats, Floats]] = []
        self._conditions: Conditions | None = None

    def open(self, conditions: Conditions) -> None:
        """Begin the next cell under these conditions."""
        self._conditions = conditions
        for part in (self.power, self.fabric, self.memory, self.host):
            part.open(conditions.nodes)
        if not self._counters:
            self._counters = {
                name: np.zeros_like(gain) for name, gain in self._gains([0.0] * len(Activity), 0.0).items()
            }
            self._counters |= {name: np.zeros(self.nodes) for name in ("link_down_events", "link_up_events")}
            self._zero = {name: np.zeros_like(value) for name, value in self._counters.items()}
            self._met = {name: np.zeros(self.nodes) for name in METERS}
            self._remember(self._counters)

    def history(self, seed: int) -> None:
        """Give the machines a past: counters that have been running since boot."""
        draw = array_stream(seed, "history")
        scale = {"gpu_joules": 2e6, "rdma_sent": 4e13, "rdma_received": 4e13, "cpu_busy": 9e4, "tcp_sent": 3e9}
        scale |= {"tcp_received": 3e9, "management_sent": 8e8, "management_received": 6e7, "cpu_waiting": 900.0}
        scale |= {
            "cpu_joules": 4e5,
            "package_joules": 3e6,
            "system_joules": 6e6,
            "disk_read": 2e12,
            "disk_written": 4e11,
        }
        for name, size in scale.items():
            shape = self._zero[name].shape
            self._zero[name] = -np.floor(size * draw.uniform(0.5, 1.5, shape))
        self._met = {name: self._counters[name] - self._zero[name] for name in METERS}

    def pass_cell(self, timeline: Timeline) -> None:
        """Finish the cell that was opened."""
        end = self.now + CELL_S
        seconds, moved = timeline.over(self.now, end)
        gains = self._gains(seconds, moved)
        self._counters = {name: value + gains.get(name, 0.0) for name, value in self._counters.items()}
        activity, _ = timeline.current
        self.power.settle(seconds)
        self.memory.settle(activity, gains, CELL_S)
        carried = (gains["rdma_sent"] + gains["tcp_sent"]).sum(axis=1) / CELL_S
        self.host.settle(seconds, carried)
        self.now = end
        self._remember(self._counters)

    def at(self, instant: float, timeline: Timeline) -> Instant:
        """Everything at an instant within the open cell."""
        seconds, moved = timeline.over(self.now, instant)
        gains = self._gains(seconds, moved)
        totals = {name: value + gains.get(name, 0.0) for name, value in self._counters.items()}
        activity, _ = timeline.current
        values = {name: value - self._zero[name] for name, value in totals.items()}
        values |= {f"{name}_met": value.copy() for name, value in self._met.items()}
        values |= self._gauges(instant, activity, totals)
        return Instant(instant, activity, values)

    def totals(self) -> dict[str, Floats]:
        """Counters since the beginning at the end of the last cell, reboots or not."""
        return self._counters

    def count(self, name: str, node: int, times: int) -> None:
        """Some more of an event."""
        self._counters[name][node] += times

    def reboot(self, node: int) -> None:
        """The machine starts anew: everything counts from 0."""
        self.booted[node] = self.now
        self.boots[node] += 1
        for name, value in self._counters.items():
            self._zero[name][node] = value[node]
        self.restart_agent(node)

    def restart_agent(self, node: int) -> None:
        """A new agent: what it counts itself starts at 0."""
        self.agent_started[node] = self.now
        for name in KERNEL:
            self._zero[name][node] = self._counters[name][node]
        for name, met in self._met.items():
            met[node] = self._counters[name][node] - self._zero[name][node]

    def _gains(self, seconds: Sequence[float], moved: float) -> dict[str, Floats]:
        span = sum(seconds)
        gains = self.power.gains(seconds)
        gains |= self.fabric.gains(span, moved)
        gains |= self.memory.gains(span)
        gains |= self.host.gains(seconds, gains["gpu_joules"])
        return gains

    def _remember(self, totals: dict[str, Floats]) -> None:
        self._trail = [*self._trail[-REMEMBERED:], (self.now, totals["gpu_joules"], totals["busy_seconds"])]

    def _second_ago(self, instant: float) -> tuple[float, Floats, Floats]:
        """When the averaging began, and energy and busy time then."""
        past = instant - 1.0
        for (start, joules, busy), (end, more, busier) in zip(self._trail, self._trail[1:], strict=False):
            if start <= past <= end:
                share = (past - start) / (end - start)
                return past, joules + (more - joules) * share, busy + (busier - busy) * share
        return self._trail[0]

    def _gauges(self, instant: float, activity: Activity, totals: dict[str, Floats]) -> dict[str, Floats]:
        assert self._conditions is not None
        state = self._conditions.nodes
        since, joules, busy = self._second_ago(instant)
        span = max(instant - since, 1e-9)
        instantly = self.power.watts[activity]
        watts = (totals["gpu_joules"] - joules) / span if instant > since else instantly
        share = (totals["busy_seconds"] - busy) / span if instant > since else np.zeros(self.nodes)
        resident = state.taking_part & (activity is not Activity.ABSENT)
        memory = self.memory.gauges()
        memory["retained"] = np.where(resident, memory["retained"], memory["unattributed"])
        memory["process_bytes"] = np.where(resident, memory["process_bytes"], 0.0)
        shown = Activity.DECODE if activity in BUSY else activity
        return {
            **memory,
            **self.host.gauges(activity, watts, self.power.celsius),
            "watts": watts,
            "watts_instant": instantly,
            "celsius": np.floor(self.power.celsius),
            "hertz": np.round(self.power.hertz[activity], -6),
            "mask": self.power.mask[activity].astype(float),
            "utilization": np.floor(100 * UTILIZATION * np.clip(share, 0.0, 1.0) + 1e-6) / 100,
            "performance_state": np.where(self.power.hertz[shown] < 3e8, 8.0, 0.0),
            "processes": resident.astype(float),
            "link": 1.0 - state.link_down,
            "uptime": instant - self.booted,
        }
