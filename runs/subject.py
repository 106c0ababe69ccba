"""What a summary is of: a stretch of time, and the engines and nodes that it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs.sights import engine_name
from telemetry.model import Series


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """One engine of a deployment: a target, an `engine` label value, and its model ("": whatever it serves)."""

    target: str
    engine: str = ""
    model: str = ""

    @property
    def name(self) -> str:
        """What people call it: "head/0"."""
        return engine_name(self.target, self.engine)

    def owns(self, series: Series) -> bool:
        """Whether a series is this engine's."""
        mine = series.target == self.target and (series.label("engine") or "") == self.engine
        return mine and self.model in ("", series.label("model") or "")


@dataclass(frozen=True, slots=True)
class Subject:
    """deployment: its name, that episodes are kept under. start_ms ≤ t ≤ end_ms: the run, or any stretch of it.

    engines: of the deployment. nodes: names of all nodes there are. chosen: those that people say took part; None:
    found by evidence.
    """

    deployment: str
    start_ms: int
    end_ms: int
    engines: Sequence[Member]
    nodes: Sequence[str] = ()
    chosen: Sequence[str] | None = None

    @property
    def seconds(self) -> float:
        """Length of the stretch."""
        return (self.end_ms - self.start_ms) / 1000.0

    @property
    def targets(self) -> list[str]:
        """Targets of the engines."""
        return sorted({one.target for one in self.engines})

    def owns(self, series: Series) -> bool:
        """Whether a series belongs to one of the engines."""
        return any(one.owns(series) for one in self.engines)
