"""What the truth log wants to know of the engine: cumulative over restarts, and the events since it was last asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Totals:
    """Since the beginning, whatever restarts lay between."""

    generated: int = 0
    prompt: int = 0
    computed: int = 0
    cached: int = 0
    drafts: int = 0
    accepted: int = 0
    finished: int = 0
    aborted: int = 0


@dataclass
class Ledger:
    """Totals, and the events of the running second.

    steps: (end, tokens generated since the beginning) of each step that had output.
    episodes: finished prefills. observed: raw observations by histogram.
    """

    totals: Totals = field(default_factory=Totals)
    steps: list[tuple[float, int]] = field(default_factory=list)
    episodes: list[dict[str, float]] = field(default_factory=list)
    observed: dict[str, list[float]] = field(default_factory=dict)

    def observe(self, name: str, value: float) -> None:
        """Remember one raw observation until the next `collect`."""
        self.observed.setdefault(name, []).append(round(value, 6))

    def collect(self) -> dict[str, Any]:
        """Everything of the second, which then is forgotten."""
        second = {
            **asdict(self.totals),
            "steps": [(round(end, 6), total) for end, total in self.steps],
            "episodes": self.episodes,
            "observed": self.observed,
        }
        self.steps, self.episodes, self.observed = [], [], {}
        return second
