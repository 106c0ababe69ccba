"""What can go wrong, and what only looks like it: one row per fault, and the schedule of those that were asked for.

A row says what the fault changes; `simulator.conditions` folds the rows in force into the state of each node and of the
engine. Sources of the figures: public reports of GB10 owners.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

ENGINE_TARGET = "engine"
FOREVER = float("inf")


class Reach(Enum):
    """What a fault befalls."""

    NODE = "node"
    CLUSTER = "cluster"
    ENGINE = "engine"
    ANY = "node or engine"


@dataclass(frozen=True)
class Fault:
    """node: changes to `NodeState` of the node it names (of all nodes for CLUSTER). engine: to `EngineState`."""

    name: str
    reach: Reach
    text: str
    node: Mapping[str, float] = field(default_factory=dict)
    engine: Mapping[str, float | str] = field(default_factory=dict)
    look_alike: bool = False
    inborn: bool = False
    """Holds for the past as well when it is given from the start."""


HEAVY_LOAD = 200_000
"""Tokens of the prompt that loads the fabric while a fault of the fabric is on, so that there is something to see."""
_TABLE = (
    Fault(
        "power-delivery",
        Reach.NODE,
        "power negotiation failed: 96 % busy at 600–800 MHz and 12–19 W, cool, no throttle bit; all ranks wait for it",
        {"decode_pace": 1.9, "prefill_pace": 2.6, "fixed_watts": 15.5, "fixed_hertz": 0.7e9},
    ),
    Fault(
        "thermal",
        Reach.NODE,
        "cooling fails: the die climbs to 87 °C, thermal bits are set, clock and power fall, all ranks wait",
        {"cooling": 2.1},
    ),
    Fault(
        "straggler",
        Reach.NODE,
        "one node at 80 % of its clock and power for no stated reason; all ranks wait for it",
        {"decode_pace": 1.25, "prefill_pace": 1.3, "clock": 0.79, "power": 0.78},
    ),
    Fault(
        "one-rail",
        Reach.NODE,
        "the second function of the cage carries next to nothing, the first one all; a long prompt loads the fabric",
        {"second_rail": 0.03, "prefill_pace": 1.05},
        {"load_tokens": HEAVY_LOAD},
    ),
    Fault(
        "degraded-link",
        Reach.NODE,
        "the NIC moves 13 Gb/s each way, link and counters look clean; a long prompt loads the fabric",
        {"limit": 1.65e9, "prefill_pace": 1.7, "decode_pace": 1.05},
        {"load_tokens": HEAVY_LOAD},
    ),
    Fault(
        "link-down",
        Reach.NODE,
        "the cage lost its link: no carrier, no traffic anywhere, every rank waits in a collective",
        {"link_down": 1},
        {"hangs": 1},
    ),
    Fault(
        "tcp-fallback",
        Reach.CLUSTER,
        "NCCL runs over sockets: RDMA stands still on all nodes, the same bytes go through TCP, slower",
        {"sockets": 1, "decode_pace": 1.6, "prefill_pace": 1.5},
    ),
    Fault(
        "wedge",
        Reach.ENGINE,
        "a collective never ends: requests running, no token, GPUs spin at 96 %, the fabric stands still",
        {},
        {"hangs": 1},
    ),
    Fault(
        "node-down",
        Reach.NODE,
        "the machine is gone: connections time out, all ranks wait; it comes back rebooted and the engine starts anew",
        {"gone": 1},
        {"hangs": 1},
    ),
    Fault(
        "agent-down",
        Reach.NODE,
        "only the agent is gone: connections are refused; it comes back with counters of its own at 0",
        {"agent_gone": 1},
    ),
    Fault(
        "memory-collapse",
        Reach.NODE,
        "something eats 2.2 GiB/s until 1.6 GiB are available; then swapping, memory pressure, NV_ERR_NO_MEMORY",
        {"collapse": 1, "decode_pace": 1.3, "prefill_pace": 1.3},
    ),
    Fault(
        "fragmentation",
        Reach.NODE,
        "memory is free but in small pieces: 27 blocks of 16 MiB left and compaction stalls rising",
        {"fragmented": 1},
    ),
    Fault(
        "engine-restart",
        Reach.ENGINE,
        "the engine dies, loads its weights again and answers with counters at 0; the second half is loading",
        {},
        {"process": "restart"},
    ),
    Fault(
        "engine-stop",
        Reach.ENGINE,
        "stopped by hand: requests aborted, 5 s later the process is gone and memory is free; then it is started again",
        {},
        {"process": "stop"},
    ),
    Fault(
        "loading",
        Reach.ENGINE,
        "the engine loads its weights anew: no answer, memory falls by 1.8 GiB/s, GPUs idle with a context",
        {},
        {"process": "load"},
    ),
    Fault(
        "slow-scrape",
        Reach.ANY,
        "the target answers 2.5 s late",
        {"delay_s": 2.5},
        {"delay_s": 2.5},
    ),
    Fault("clock-skew", Reach.NODE, "the node's wall clock is 4.2 s ahead", {"skew_s": 4.2}),
    Fault(
        "long-prefill",
        Reach.ENGINE,
        "a very long prompt: no token for minutes, but power is high and the fabric moves",
        {},
        {"one_prompt": 1},
        look_alike=True,
    ),
    Fault(
        "weight-copy",
        Reach.NODE,
        "weights are copied from the head over TCP, one way; nothing waits for it",
        {"copies": 2.4e9},
        look_alike=True,
    ),
    Fault(
        "idle-power-cap",
        Reach.NODE,
        "the node falls to 208 MHz and 5 W when idle and its software power cap bit flaps, which is harmless",
        {"sleeps": 1},
        look_alike=True,
    ),
    Fault(
        "uncabled",
        Reach.NODE,
        "no cable and so no RDMA device; the node takes no part in the deployment; meant to be given from the start",
        {"uncabled": 1, "apart": 1},
        look_alike=True,
        inborn=True,
    ),
)
FAULTS = {fault.name: fault for fault in _TABLE}
SYNTAX = re.compile(r"([a-z-]+)(?:@([\w.-]+))?(?::(\d+(?:\.\d+)?))?(?:\+(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Incident:
    """One fault that was asked for: in force from `start` up to `end`, seconds of the simulated clock."""

    number: int
    fault: Fault
    target: str
    start: float
    end: float

    def state(self, now: float) -> str:
        """Where it stands: "planned", "on" or "over"."""
        return "planned" if now < self.start else "on" if now < self.end else "over"

    def public(self) -> dict[str, Any]:
        """As the truth log and the control page write it."""
        return {
            "id": self.number,
            "name": self.fault.name,
            "target": self.target,
            "start": self.start,
            "end": None if self.end == FOREVER else self.end,
        }


@dataclass(frozen=True)
class Order:
    """What somebody asks for: `node` is a node's name, "engine" or None; seconds, None for now and for ever."""

    name: str
    node: str | None = None
    start: float | None = None
    duration_s: float | None = None

    @staticmethod
    def parse(text: str) -> Order:
        """NAME@NODE:START+DURATION, each part but the first optional; ValueError with a sentence otherwise."""
        match = SYNTAX.fullmatch(text)
        if not match:
            raise ValueError(f"{text!r} is not NAME@NODE:START+DURATION, such as thermal@spark-03:60+120")
        name, node, start, duration = match.groups()
        return Order(name, node, float(start or 0), float(duration) if duration else None)


def target_of(order: Order, nodes: tuple[str, ...]) -> str:
    """The target of an order, checked against the fault's reach; ValueError with a sentence when they do not fit."""
    fault = FAULTS.get(order.name)
    if fault is None:
        raise ValueError(f"there is no fault {order.name!r}; known: {', '.join(FAULTS)}")
    node = (
        nodes[int(order.node)] if order.node and order.node.isdigit() and int(order.node) < len(nodes) else order.node
    )
    if fault.reach is Reach.ENGINE:
        return ENGINE_TARGET
    if fault.reach is Reach.CLUSTER:
        return "cluster"
    if node in nodes or (node == ENGINE_TARGET and fault.reach is Reach.ANY):
        return str(node)
    raise ValueError(f"{order.name} wants a node, one of {nodes[0]} … {nodes[-1]}, not {order.node!r}")


def describe() -> list[dict[str, Any]]:
    """The table, for people."""
    rows = []
    for fault in _TABLE:
        row = asdict(fault)
        rows.append(
            {"name": row["name"], "reach": fault.reach.value, "text": row["text"], "look_alike": row["look_alike"]}
        )
    return rows
