"""Which series are wanted, where a test says so and names of metrics narrow down what it is asked of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from telemetry.model import Series


@dataclass(frozen=True, slots=True)
class Some:
    """A test of a series. metrics: names of those whose series may pass it, so that nobody need ask of thousands."""

    metrics: frozenset[str]
    test: Callable[[Series], bool]

    def __call__(self, series: Series) -> bool:
        """Whether a series is wanted."""
        return series.metric in self.metrics and self.test(series)
