"""Which of a stretch's slices are settled: whoever asks again, and for more of it, goes on behind them.

A run that goes on is asked for again and again, and of all but its last hour the same slices would be added up in the
same order. Where everything up to the end of a slice is sealed, what was added up is kept with what it rests on, and
the next question goes on from there: to the last bit what it would come to from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from runs.activity import Window
from runs.reader import LEAD_MS
from runs.slices import HOUR_MS

Span = tuple[int, int]
States = Callable[[int, int, Collection[str]], Mapping[int, Hashable]]
"""(start, end, targets) → of each hour that overlaps the range and is sealed for all, what changes when its samples
do."""


@dataclass(frozen=True)
class Ground:
    """What is added up of slices rests on. states: of their hours; windows: in which tokens came, as far as they lie in
    them."""

    nodes: tuple[str, ...]
    slices: tuple[Span, ...]
    states: tuple[Hashable, ...]
    windows: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Settled:
    """Slices of a stretch from `start_ms` on, and what is known of their hours."""

    start_ms: int
    nodes: Sequence[str]
    slices: Sequence[Span]
    active: Sequence[Window]
    known: Mapping[int, Hashable]

    @classmethod
    def of(
        cls, states: States, start_ms: int, nodes: Sequence[str], slices: Sequence[Span], active: Sequence[Window]
    ) -> Settled:
        """Of these slices; the last one ends with the stretch, and is not settled."""
        known = states(start_ms - LEAD_MS, slices[-1][0] - 1, nodes) if len(slices) > 1 else {}
        return cls(start_ms, nodes, slices, active, known)

    @property
    def count(self) -> int:
        """Slices from the first on in whose hours all is sealed."""
        count = 0
        for _, high in self.slices[:-1]:
            if any(hour not in self.known for hour in self._hours(high)):
                break
            count += 1
        return count

    def _hours(self, high_ms: int) -> range:
        return range((self.start_ms - LEAD_MS) // HOUR_MS * HOUR_MS, high_ms + 1, HOUR_MS)

    def rests_on(self, count: int) -> Ground:
        """What the first slices rest on."""
        high = self.slices[count - 1][1]
        states = tuple(self.known.get(hour) for hour in self._hours(high))
        windows = tuple((one.start_ms, min(one.end_ms, high)) for one in self.active if one.start_ms <= high)
        return Ground(tuple(self.nodes), tuple(self.slices[:count]), states, windows)

    def stands(self, ground: Ground) -> bool:
        """Whether what rests on it may be gone on from."""
        count = len(ground.slices)
        return 0 < count <= self.count and self.rests_on(count) == ground
