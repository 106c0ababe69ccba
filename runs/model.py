"""Run: a stretch of time in which a deployment worked, and what people say about it. Plain records, nothing moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from runs.entries import Section
from runs.fingerprint import Fingerprint
from runs.subject import Member

By = Literal["found", "hand", "benchmark", "foreign"]
"""Found by itself, started by hand; or brought from outside: a client's result alone, a run of another installation."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How a run was measured: what no counter knows, as people tell it; "" is not told."""

    concurrency: str = ""
    corpus: str = ""
    prompt_length: str = ""
    answer_length: str = ""
    tool: str = ""

    def to_json(self) -> dict[str, str]:
        """What was told, by field."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measured:
        """The reverse of `to_json`; fields that are not known here are left out."""
        return cls(**{one.name: str(data[one.name]) for one in fields(cls) if one.name in data})


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened in a run and did not end it. kind: "restart", "stop", "lost", "hole",
    or "note" of people."""

    at_ms: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a deployment. Instants are epoch milliseconds of the hub's clock.

    id: given by the store, 0 before. end_ms: last activity, None while it goes on.
    began, ended: why, in words ("" while it goes on). by: what made it a run.
    model: what it serves, as its engines name it; engines: those that were in it, also where they have gone since.
    trim_start_ms, trim_end_ms: instants that numbers are taken between, where people cut warm-up or tail off.
    nodes: names of the nodes that took part where people say so, None: by evidence.
    baseline: others are compared with it. pinned: its samples are kept from retention.
    revision: rises with each change that its numbers depend on; those of another revision are worked out anew.
    """

    id: int
    deployment: str
    name: str
    start_ms: int
    end_ms: int | None = None
    began: str = ""
    ended: str = ""
    by: By = "found"
    model: str = ""
    engines: Sequence[Member] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    note: str = ""
    trim_start_ms: int | None = None
    trim_end_ms: int | None = None
    baseline: bool = False
    pinned: bool = False
    nodes: Sequence[str] | None = None
    measured: Measured = Measured()
    revision: int = 0
    fingerprint: Fingerprint | None = None
    summary: Sequence[Section] | None = None

    @property
    def live(self) -> bool:
        """Whether it goes on."""
        return self.end_ms is None

    @property
    def own(self) -> bool:
        """Whether its samples were taken here; else it has the numbers that came with it, and no others."""
        return self.by in ("found", "hand")

    @property
    def stretch(self) -> tuple[int, int | None]:
        """Begin and end of the run as everybody is told them: of what numbers are taken of, which is the run where
        nobody trimmed it. The end is None while it goes on."""
        start = self.start_ms if self.trim_start_ms is None else max(self.start_ms, self.trim_start_ms)
        if self.end_ms is None:
            return start, None
        return start, max(start, self.end_ms if self.trim_end_ms is None else min(self.end_ms, self.trim_end_ms))

    @property
    def trimmed(self) -> bool:
        """Whether that is only a part of it."""
        return self.stretch != (self.start_ms, self.end_ms)

    def window(self, now_ms: int) -> tuple[int, int]:
        """The same, up to now while it goes on, or to where it was trimmed meanwhile. Never reversed."""
        start, end = self.stretch
        if end is None:
            end = max(start, now_ms if self.trim_end_ms is None else min(now_ms, self.trim_end_ms))
        return start, end
