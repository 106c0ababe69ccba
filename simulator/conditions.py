"""The faults in force, folded into the state of each node and of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.faults import ENGINE_TARGET, Incident, Reach

Floats = npt.NDArray[np.float64]


@dataclass
class NodeStates:
    """One array per field, one entry per node; what a healthy node has is the field's metadata."""

    nodes: int
    decode_pace: Floats = field(metadata={"healthy": 1.0}, init=False)
    prefill_pace: Floats = field(metadata={"healthy": 1.0}, init=False)
    clock: Floats = field(metadata={"healthy": 1.0}, init=False)
    power: Floats = field(metadata={"healthy": 1.0}, init=False)
    cooling: Floats = field(metadata={"healthy": 1.0}, init=False)
    second_rail: Floats = field(metadata={"healthy": 0.5}, init=False)
    limit: Floats = field(metadata={"healthy": np.inf}, init=False)
    fixed_watts: Floats = field(metadata={"healthy": 0.0}, init=False)
    fixed_hertz: Floats = field(metadata={"healthy": 0.0}, init=False)
    link_down: Floats = field(metadata={"healthy": 0.0}, init=False)
    sockets: Floats = field(metadata={"healthy": 0.0}, init=False)
    gone: Floats = field(metadata={"healthy": 0.0}, init=False)
    agent_gone: Floats = field(metadata={"healthy": 0.0}, init=False)
    collapse: Floats = field(metadata={"healthy": 0.0}, init=False)
    fragmented: Floats = field(metadata={"healthy": 0.0}, init=False)
    delay_s: Floats = field(metadata={"healthy": 0.0}, init=False)
    skew_s: Floats = field(metadata={"healthy": 0.0}, init=False)
    copies: Floats = field(metadata={"healthy": 0.0}, init=False)
    sleeps: Floats = field(metadata={"healthy": 0.0}, init=False)
    uncabled: Floats = field(metadata={"healthy": 0.0}, init=False)
    apart: Floats = field(metadata={"healthy": 0.0}, init=False)

    def __post_init__(self) -> None:
        for state in fields(self):
            if state.metadata:
                setattr(self, state.name, np.full(self.nodes, state.metadata["healthy"]))

    @property
    def taking_part(self) -> npt.NDArray[np.bool_]:
        """Nodes that are ranks of the deployment."""
        return np.equal(self.apart, 0)


@dataclass
class EngineState:
    """process: "", "restart", "stop" or "load", with the incident that says so; then: what follows when it is over."""

    hangs: bool = False
    delay_s: float = 0.0
    load_tokens: int = 0
    process: str = ""
    cause: Incident | None = None


@dataclass
class Conditions:
    """What holds until the next change of the faults in force."""

    nodes: NodeStates
    engine: EngineState
    incidents: tuple[Incident, ...]


def fold(incidents: Iterable[Incident], names: Sequence[str]) -> Conditions:
    """The conditions under these incidents; where two change the same thing, the later one counts."""
    active = tuple(incidents)
    nodes, engine = NodeStates(len(names)), EngineState()
    for incident in active:
        fault = incident.fault
        if incident.target in names or fault.reach is Reach.CLUSTER:
            where: Any = slice(None) if fault.reach is Reach.CLUSTER else names.index(incident.target)
            for name, value in fault.node.items():
                getattr(nodes, name)[where] = value
        _engine(engine, incident)
    return Conditions(nodes, engine, active)


def _engine(state: EngineState, incident: Incident) -> None:
    changes = incident.fault.engine
    state.hangs = state.hangs or bool(changes.get("hangs"))
    state.load_tokens = max(state.load_tokens, int(changes.get("load_tokens", 0)))
    if incident.target == ENGINE_TARGET:
        state.delay_s = max(state.delay_s, float(changes.get("delay_s", 0.0)))
    if "process" in changes:
        state.process, state.cause = str(changes["process"]), incident
