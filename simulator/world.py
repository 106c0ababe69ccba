"""The whole imaginary cluster on its own clock: engine, nodes and faults, moved forward event by event.

What holds at an instant depends on the seed and the faults alone, not on how often or by whom it was asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from simulator.cluster import CELL_S, Cluster, Instant
from simulator.conditions import Conditions, fold
from simulator.engine import Engine, Life
from simulator.events import INTERFACES, EventLog
from simulator.faults import FAULTS, FOREVER, Incident, Order, target_of
from simulator.process import ProcessPlan

WARM_UP_S = 60.0
OPENING_S, OPENING_TOKENS = 24.0, (6_000, 1_100)
"""A request of its own shortly before 0, prompt and answer, so that whoever looks first sees the cluster at work."""
CELLS_PER_SECOND = round(1 / CELL_S)


def node_names(count: int) -> tuple[str, ...]:
    """spark-01, spark-02, …; the first is the head."""
    return tuple(f"spark-{number:02d}" for number in range(1, count + 1))


class World:
    """Everything, from `-WARM_UP_S` on; 0 is the instant at which the pages are first served."""

    def __init__(self, seed: int, nodes: int, orders: Iterable[Order] = ()) -> None:
        self.names = node_names(nodes)
        self.now = -WARM_UP_S
        self.engine = Engine(seed, self.now)
        self.cluster = Cluster(seed, nodes, self.now)
        self.events = EventLog(nodes)
        self.incidents: list[Incident] = []
        self.on_second: Callable[[int, dict[str, Any]], None] = lambda _second, _record: None
        self.conditions = fold((), self.names)
        self._cells = 0
        self._process = ProcessPlan(self.engine)
        for order in orders:
            self.add(order)
        self.cluster.open(self.conditions)
        self.cluster.history(seed)
        self._change()

    def add(self, order: Order) -> Incident:
        """Put a fault on the schedule; it begins with the next cell at the earliest. ValueError with a sentence."""
        target = target_of(order, self.names)
        if order.duration_s is not None and not 0 < order.duration_s < math.inf:
            raise ValueError(f"a duration is a positive number of seconds, not {order.duration_s}")
        earliest = self.cluster.now + (CELL_S if self._cells else 0.0)
        start = max(earliest, _ceil(order.start)) if order.start is not None else earliest
        if FAULTS[order.name].inborn and order.start == 0:
            start = earliest
        end = FOREVER if order.duration_s is None else max(start + CELL_S, _ceil(start + order.duration_s))
        incident = Incident(len(self.incidents) + 1, FAULTS[order.name], target, start, end)
        self.incidents.append(incident)
        return incident

    def remove(self, number: int) -> Incident:
        """End a fault with the present cell. KeyError when there is none of this number that is not over."""
        found = next((at for at, one in enumerate(self.incidents) if one.number == number), None)
        boundary = self.cluster.now + CELL_S
        if found is None or self.incidents[found].end <= boundary:
            raise KeyError(number)
        old = self.incidents[found]
        self.incidents[found] = Incident(old.number, old.fault, old.target, min(old.start, boundary), boundary)
        return self.incidents[found]

    def advance(self, instant: float) -> None:
        """Let everything happen that is due up to an instant; earlier instants are gone."""
        while True:
            boundary = self.cluster.now + CELL_S
            if self.engine.next_event <= min(boundary, instant):
                self.engine.act()
            elif boundary <= instant:
                self._pass_cell()
            else:
                break
        self.now = max(self.now, instant)

    def look(self) -> Instant:
        """All nodes now."""
        return self.cluster.at(self.now, self.engine.timeline)

    def _pass_cell(self) -> None:
        self.cluster.pass_cell(self.engine.timeline)
        self._cells += 1
        self.engine.timeline.forget(self.cluster.now - 2.0)
        record = self._record() if self._cells % CELLS_PER_SECOND == 0 else None
        self._change()
        if record is not None:
            self.on_second(round(self.cluster.now), record)

    def _change(self) -> None:
        """Apply the faults that begin or end now, then open the next cell."""
        now = self.cluster.now
        active = tuple(one for one in self.incidents if one.start <= now < one.end)
        if active != self.conditions.incidents:
            before, self.conditions = self.conditions, fold(active, self.names)
            self._transitions(before)
        if now == -OPENING_S:
            self.engine.ask(now, *OPENING_TOKENS)
        self._process.tick(now)
        self.engine.hang(now, self.conditions.engine.hangs)
        taking_part = self.conditions.nodes.taking_part
        slow = self.cluster.power.slowdown
        self.engine.pace.decode = float(np.max((self.conditions.nodes.decode_pace * slow)[taking_part], initial=1.0))
        self.engine.pace.prefill = float(np.max((self.conditions.nodes.prefill_pace * slow)[taking_part], initial=1.0))
        self.cluster.open(self.conditions)
        complaints = self.cluster.totals()["complaints"]
        self.events.complaints(now, complaints)

    def _transitions(self, before: Conditions) -> None:
        now, state = self.cluster.now, self.conditions.nodes
        for node in range(len(self.names)):
            if state.link_down[node] != before.nodes.link_down[node]:
                direction = "down" if state.link_down[node] else "up"
                self.cluster.count(f"link_{direction}_events", node, len(INTERFACES))
                self.events.link(now, node, direction)
            if before.nodes.gone[node] and not state.gone[node]:
                self.cluster.reboot(node)
                self._process.rebooted(now)
                self.events.clear(node)
            if before.nodes.agent_gone[node] and not state.agent_gone[node]:
                self.cluster.restart_agent(node)
                self.events.clear(node)
        self._process.change(now, before.engine, self.conditions)
        if self.engine.life is Life.SERVING:
            self.engine.offer_load(now, self.conditions.engine.load_tokens)

    def _record(self) -> dict[str, Any]:
        """The truth of the second that ends now."""
        instant, totals = self.cluster.at(self.cluster.now, self.engine.timeline), self.cluster.totals()
        tally = self.engine.tally
        return {
            **self.engine.ledger.collect(),
            "engine": self.engine.life.value,
            "lives": self.engine.lives,
            "running": tally.running,
            "waiting": tally.waiting,
            "joules": totals["gpu_joules"].round(3).tolist(),
            "watts": instant.values["watts"].round(2).tolist(),
            "rdma_sent": totals["rdma_sent"].round().tolist(),
            "rdma_received": totals["rdma_received"].round().tolist(),
            "tcp_sent": totals["tcp_sent"].round().tolist(),
            "tcp_received": totals["tcp_received"].round().tolist(),
            "boots": self.cluster.boots.tolist(),
            "faults": [one.number for one in self.conditions.incidents],
        }


def _ceil(instant: float) -> float:
    return math.ceil(instant / CELL_S - 1e-9) * CELL_S
