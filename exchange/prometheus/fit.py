"""Counters of hours that come before what is stored already: they must end where those that follow begin.

A stored counter counts from 0 since its series began. What is older begins below 0, so that every increase is right and
nothing that stands must change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from exchange.prometheus.hours import Counters, Merged
from storage.records import Offset
from telemetry import catalog
from telemetry.counters import FROM_ZERO, Step, judge
from telemetry.model import Kind, Series


@dataclass
class Ends:
    """Where counters stand after everything that was seen. values, offsets: of each, as unwrapped."""

    values: dict[Series, float] = field(default_factory=dict)
    offsets: dict[Series, float] = field(default_factory=dict)

    def see(self, hour: Merged) -> None:
        """One more hour."""
        for series, row in zip(hour.series, hour.values, strict=True):
            if _is_counter(series):
                self.values[series] = float(row[~np.isnan(row)][-1])
        self.offsets.update({step.series: step.offset for step in hour.offsets})


@dataclass(frozen=True)
class Fit:
    """What is done to the counters of a stretch. shift: added to a counter that begins in it. ceiling: of what follows,
    over which none may rise."""

    shift: Mapping[Series, float] = field(default_factory=dict)
    ceiling: Mapping[Series, float] = field(default_factory=dict)

    def of(self, hour: Merged) -> Merged:
        """The hour as it fits."""
        if not self.ceiling:
            return hour
        add = np.array([self.shift.get(one, 0.0) for one in hour.series]).reshape(-1, 1)
        most = np.array([self.ceiling.get(one, np.inf) for one in hour.series]).reshape(-1, 1)
        return replace(
            hour,
            values=np.minimum(hour.values + add, most),
            offsets=tuple(self._moved(step) if step.series in self.shift else step for step in hour.offsets),
        )

    def _moved(self, step: Offset) -> Offset:
        """A first use means that the series stood at 0 before, which is not so where it begins elsewhere."""
        reason = Step.FIRST_SAMPLE.value if step.reason in FROM_ZERO else step.reason
        return replace(step, offset=step.offset + self.shift[step.series], reason=reason)


def fitted(ends: Ends, before: Counters, after: Counters) -> Fit:
    """How counters that ended like this fit between what stands before and after them: (value, offset) of each.

    What a counter gained from its last number here to its first there is judged like any other step.
    """
    shift = {}
    for series, (value, offset) in after.items():
        if series in ends.values and series not in before:
            raw = ends.values[series] - ends.offsets.get(series, 0.0)
            bits = catalog.stored(series.metric).bits
            gained, _ = judge(raw, value - offset, bits=bits, restarted=False, from_zero=False)
            shift[series] = value - gained - ends.values[series]
    return Fit(shift, {series: value for series, (value, _) in after.items()})


def _is_counter(series: Series) -> bool:
    return catalog.stored(series.metric).kind is Kind.COUNTER
