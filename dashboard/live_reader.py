"""What numbers of runs are read from in the web: the store, with the tail in front of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from dashboard.sources import Sources
from pipeline.plans import Newest
from pipeline.tail import Tail
from runs.reader import StoreReader, Wanted
from storage.ends import NONE, Last, Told
from storage.search import Point
from telemetry.frame import Frame
from telemetry.model import Series


@dataclass(frozen=True)
class Lately:
    """Numbers of the last row of each target up to an instant, out of the tail. A series that has none there may have
    one in an earlier row."""

    tail: Tail
    at_ms: int
    _rows: dict[str, Newest | None] = field(default_factory=dict)

    def get(self, series: Series, /) -> Point | None:
        """Of one series."""
        if series.target not in self._rows:
            self._rows[series.target] = self.tail.newest(series.target, self.at_ms)
        row = self._rows[series.target]
        number = None if row is None else row.get(series)
        return None if row is None or number is None else Point(row.tick, row.at_ms, number)


class LiveReader(StoreReader):
    """The store, with the tail in front of it where samples are asked for."""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources.store)
        self._sources = sources

    def frame(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Samples of start ≤ tick ≤ end."""
        return self._sources.frame(wanted, start_ms, end_ms, targets)

    def ends(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Two samples of each series: from the tail those of rows in it, all others from the store."""
        told = Told(self._newest(start_ms), self._newest(end_ms))
        return self._sources.store.ends(wanted, None if targets is None else sorted(targets), start_ms, end_ms, told)

    def _newest(self, at_ms: int) -> Last:
        seam = self._sources.seam()
        return NONE if seam is None or at_ms < seam[0] else Lately(self._sources.tail, at_ms)

    def still(
        self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Collection[Series]:
        """Those that are at the end, by the tail, what they were at the start: by the tail, too, or at the first
        reading of the start's hour, however many hours lie between. What stood at one number twice did not move."""
        seam, tail = self._sources.seam(), self._sources.tail
        if seam is None or end_ms < seam[0]:
            return super().still(wanted, start_ms, end_ms, targets)
        names = sorted(tail.targets() if targets is None else targets)
        level = Lately(tail, end_ms)
        if start_ms < seam[0]:
            began = self._sources.store.firsts(wanted, names, start_ms)
        else:
            began = {one: number for name in names for one, number in self._lately(wanted, name, start_ms)}
        return {one for one, number in began.items() if (at := level.get(one)) is not None and at.value == number}

    def _lately(self, wanted: Wanted, target: str, at_ms: int) -> Iterator[tuple[Series, float]]:
        """Numbers of the last row of a target up to an instant that lies in the tail."""
        row = self._sources.tail.newest(target, at_ms)
        if row is not None:
            for one, place in row.places.items():
                if wanted(one) if callable(wanted) else one.metric in wanted:
                    yield one, row.numbers[place]
