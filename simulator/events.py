"""What the agents tell of the kernel log: numbered events per node."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.conditions import Floats

KEPT = 100
INTERFACES = ("enp1s0f1np1", "enP2p1s0f1np1")
BASELINE = "Link up on enp1s0f1np1"


@dataclass(frozen=True)
class Event:
    """One event; `at` in seconds of the simulated clock."""

    sequence: int
    at: float
    kind: str
    text: str
    labels: dict[str, str] = field(default_factory=dict)
    baseline: bool = False


class EventLog:
    """The last events of each node."""

    def __init__(self, nodes: int) -> None:
        self._events: list[list[Event]] = [[] for _ in range(nodes)]
        self._complaints = [0] * nodes
        for node in range(nodes):
            self.clear(node)

    def clear(self, node: int) -> None:
        """A new agent has read the log from its start: only what was there before it."""
        self._events[node] = []
        self._add(node, 0.0, "link", BASELINE, {"direction": "up", "interface": "enp1s0f1np1"}, True)

    def link(self, at: float, node: int, direction: str) -> None:
        """The cage's port went up or down; each of its functions says so."""
        for interface in INTERFACES:
            self._add(
                node, at, "link", f"Link {direction} on {interface}", {"direction": direction, "interface": interface}
            )

    def complaints(self, at: float, totals: Floats) -> None:
        """Follow the count of NV_ERR_NO_MEMORY lines, given since the beginning."""
        for node, total in enumerate(totals.tolist()):
            while self._complaints[node] < int(total):
                self._complaints[node] += 1
                self._add(node, at, "no_memory", "The driver could not get memory (NV_ERR_NO_MEMORY)", {})

    def sequence(self, node: int) -> int:
        """Number of the last event of a node."""
        return self._events[node][-1].sequence

    def after(self, node: int, sequence: int) -> list[Event]:
        """The kept events of a node with a higher number."""
        return [event for event in self._events[node] if event.sequence > sequence]

    def _add(self, node: int, at: float, kind: str, text: str, labels: dict[str, str], baseline: bool = False) -> None:
        events = self._events[node]
        number = events[-1].sequence + 1 if events else 1
        self._events[node] = [*events[-KEPT + 1 :], Event(number, at, kind, text, labels, baseline)]
