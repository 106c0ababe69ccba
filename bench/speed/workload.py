"""The workload: a made-up cluster, quantised as its real readings are, the same values on every call.

16 nodes of 60 series and 2 engines of 216 (40 scalars and 8 histograms) at 1 Hz, whole hours of history and 40 minutes
of the one that is still open; before that, days of one metric of each node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from bench.speed.shapes import ENGINE, NODE, Spec, make
from telemetry import catalog
from telemetry.catalog import gpu
from telemetry.frame import Floats, Ints
from telemetry.model import Series
from telemetry.summary import HOUR_MS

OPEN_HOUR_MS = int(datetime(2026, 11, 1, 10, tzinfo=UTC).timestamp() * 1000)
"""Start of the hour that is still open. Fixed, so that a directory that was kept fits the next run."""
OPEN_TICKS = 2400
STEP_MS = 1000
PHASE_MS = 137
"""The collector began at no round second."""
HOUR_TICKS = HOUR_MS // STEP_MS
DAY_HOURS = 24
MOST_LAG_MS = 200
POWER = gpu.GPU_POWER.name
"""The metric that is asked for, and kept for days."""


@dataclass(frozen=True)
class Size:
    """How much of it: whole hours of everything, and days of one metric before them."""

    hours: int = 24
    days: int = 29
    nodes: int = 16
    engines: int = 2

    @property
    def first_ms(self) -> int:
        """Start of the first hour of everything."""
        return OPEN_HOUR_MS - self.hours * HOUR_MS

    @property
    def before_ms(self) -> int:
        """Start of the days of one metric."""
        return self.first_ms - self.days * DAY_HOURS * HOUR_MS

    @property
    def now_ms(self) -> int:
        """The instant at which questions are asked: half a second after the last tick."""
        return OPEN_HOUR_MS + PHASE_MS + (OPEN_TICKS - 1) * STEP_MS + 500

    @property
    def ticks(self) -> int:
        """Ticks of everything."""
        return self.hours * HOUR_TICKS + OPEN_TICKS

    @property
    def series(self) -> int:
        """How many series there are."""
        return sum(len(target.series) for target in targets(self))

    @property
    def samples(self) -> int:
        """Samples of everything, the days of one metric not counted."""
        return self.series * self.ticks

    def node_names(self) -> list[str]:
        """Names of the nodes."""
        return [f"spark-{number:02d}" for number in range(self.nodes)]


@dataclass(frozen=True)
class Hour:
    """An hour of a target, or as much of it as there is. ticks, at_ms: int64[n]; values: float64[series, n]."""

    start: int
    ticks: Ints
    at_ms: Ints
    values: Floats


@dataclass(frozen=True)
class Target:
    """A node or an engine. number: what its values are drawn from."""

    name: str
    kind: str
    number: int
    specs: tuple[Spec, ...]
    series: tuple[Series, ...]

    def only(self, metric: str) -> Target:
        """The same with the series of one metric alone; their values are others."""
        kept = [place for place, one in enumerate(self.series) if one.metric == metric]
        return replace(
            self,
            number=self.number + 1000,
            specs=tuple(self.specs[place] for place in kept),
            series=tuple(self.series[place] for place in kept),
        )

    def hours(self, first_ms: int, end_ms: int) -> Iterator[Hour]:
        """Hours of first ≤ tick < end, oldest first; counters go on from hour to hour."""
        state: list[float | None] = [None] * len(self.series)
        for start in range(first_ms, end_ms, HOUR_MS):
            random = np.random.default_rng((self.number, start // HOUR_MS))
            count = min(HOUR_TICKS, -(-(end_ms - start - PHASE_MS) // STEP_MS))
            ticks = start + PHASE_MS + np.arange(count, dtype=np.int64) * STEP_MS
            lags = np.minimum(3 + self.number % 7 + random.gamma(2.0, 3.0, count), MOST_LAG_MS).astype(np.int64)
            values, state = make(self.specs, state, count, random)
            yield Hour(start, ticks, ticks + lags, values)


def targets(size: Size) -> list[Target]:
    """The cluster: nodes, then engines."""
    nodes = [_target(name, "node", number, NODE) for number, name in enumerate(size.node_names())]
    engines = [_target(f"engine-{number}", "engine", 500 + number, ENGINE) for number in range(size.engines)]
    return nodes + engines


def _target(name: str, kind: str, number: int, specs: Sequence[Spec]) -> Target:
    chosen = tuple(specs)
    for spec in chosen:
        assert catalog.find(spec.metric) is not None, f"the catalogue does not know {spec.metric}"
    return Target(name, kind, number, chosen, tuple(Series(name, spec.metric, spec.labels) for spec in chosen))


def end_ms() -> int:
    """Just behind the last tick."""
    return OPEN_HOUR_MS + PHASE_MS + (OPEN_TICKS - 1) * STEP_MS + 1
