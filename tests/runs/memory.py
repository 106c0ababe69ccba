"""A frame in memory as a reader, beside which the store's is held."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from runs.reader import Absence, Episode, Event, Wanted
from telemetry.counters import increase, window_ends
from telemetry.frame import Frame
from telemetry.model import Series


def two_points(frame: Frame, start_ms: float, end_ms: float) -> Frame:
    """The two samples of each series between which `increase` counts, on the ticks that any series needs."""
    ends = window_ends(frame, start_ms, end_ms)
    columns = np.array(sorted({place for pair in ends if pair is not None for place in pair}), dtype=np.intp)
    kept = np.zeros((len(frame.series), len(columns)), dtype=bool)
    for row, pair in enumerate(ends):
        if pair is not None:
            kept[row, np.searchsorted(columns, pair)] = True
    values = np.where(kept, frame.values[:, columns], np.nan)
    at_ms = np.where(kept, frame.at_ms[:, columns], np.nan)
    breaks = frame.breaks[:, columns] & kept
    return Frame(frame.ticks[columns], frame.series, values, at_ms, breaks, frame.gap_ms)


@dataclass(frozen=True)
class InMemory:
    """A reader of one frame in memory, and of records; prefills by deployment."""

    samples: Frame
    prefills: Mapping[str, Sequence[Episode]] = field(default_factory=dict)
    gone: Sequence[Absence] = ()
    happened: Sequence[Event] = ()

    def frame(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Samples of start ≤ tick ≤ end."""
        test = wanted if callable(wanted) else lambda series: series.metric in wanted
        chosen = self.samples.select(lambda series: test(series) and (targets is None or series.target in targets))
        return chosen.between(start_ms, end_ms)

    def ends(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Two samples of each series."""
        begin = int(self.samples.ticks[0]) if len(self.samples.ticks) else start_ms
        return two_points(self.frame(wanted, min(begin, start_ms), end_ms, targets), start_ms, end_ms)

    def still(
        self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Collection[Series]:
        """All of them."""
        both = self.ends(wanted, start_ms, end_ms, targets)
        gained = increase(both, start_ms, end_ms).tolist()
        return {series for series, value in zip(both.series, gained, strict=True) if value == 0}

    def episodes(self, deployment: str, start_ms: int, end_ms: int) -> Sequence[Episode]:
        """Prefills that overlap the range."""
        return [one for one in self.prefills.get(deployment, ()) if one.end_ms >= start_ms and one.start_ms <= end_ms]

    def absences(self, start_ms: int, end_ms: int) -> Sequence[Absence]:
        """Absences that overlap the range."""
        return [one for one in self.gone if one.start_ms <= end_ms and (one.end_ms is None or one.end_ms >= start_ms)]

    def events(self, start_ms: int, end_ms: int) -> Sequence[Event]:
        """Events in the range."""
        return [one for one in self.happened if start_ms <= one.at_ms <= end_ms]
