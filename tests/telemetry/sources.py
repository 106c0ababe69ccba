"""History in memory: a frame as a source of samples and of summaries, which counts what is asked of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from telemetry.frame import Frame, Sheet
from telemetry.summary import HOUR_MS, Summaries, summarise
from tests.telemetry.hours import STEP_S


class Memory:
    """unsealed: hours of which the source has no summary. forgotten: hours of which it has no samples any more."""

    def __init__(self, frame: Frame, unsealed: Collection[int] = (), forgotten: Collection[int] = ()) -> None:
        self.all = frame
        self.open = sorted(unsealed)
        self.gone = sorted(forgotten)
        self.read: list[tuple[int, int]] = []

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples, of series that have a row in the range."""
        self.read.append((start_ms, end_ms))
        chosen = self.all.select(
            lambda series: series.metric in metrics and (targets is None or series.target in targets)
        ).between(start_ms, end_ms)
        there = ~(chosen.ticks[:, None] // HOUR_MS * HOUR_MS == self.gone).any(axis=1)
        kept = Frame(
            chosen.ticks[there],
            chosen.series,
            chosen.values[:, there],
            chosen.at_ms[:, there],
            chosen.breaks[:, there],
            chosen.gap_ms,
        )
        rows = [row for row in range(len(kept.series)) if (kept.at_ms[row] == kept.at_ms[row]).any()]
        return kept.take(rows)

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Of all hours but those that are open."""
        chosen = self.all.select(
            lambda series: series.metric in metrics and (targets is None or series.target in targets)
        )
        hours = sorted({int(tick) // HOUR_MS * HOUR_MS for tick in chosen.ticks})
        wanted = [hour for hour in hours if hour + HOUR_MS > start_ms and hour <= end_ms and hour not in self.open]
        return summarise(chosen, wanted)

    def one_state(self) -> AbstractContextManager[None]:
        """Nothing happens to it."""
        return nullcontext()

    def unsealed(self, start_ms: int, end_ms: int) -> list[int]:
        """The open hours of the range."""
        return [hour for hour in self.open if hour + HOUR_MS > start_ms and hour <= end_ms]

    def extent(self) -> tuple[int, int] | None:
        """From the first tick to the last one."""
        return (int(self.all.ticks[0]), int(self.all.ticks[-1])) if len(self.all.ticks) else None

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        """Whether one of the hours given up is in the range."""
        return any(hour + HOUR_MS > start_ms and hour <= end_ms for hour in self.gone)

    def step_ms(self) -> int:
        """Interval of the frames of `hours.frame`."""
        return STEP_S * 1000


class InSheets(Memory):
    """One that has sheets, too. given: the ranges that were asked for."""

    def __init__(self, frame: Frame, unsealed: Collection[int] = (), forgotten: Collection[int] = ()) -> None:
        super().__init__(frame, unsealed, forgotten)
        self.given: list[list[tuple[int, int]]] = []

    def sheets(
        self, metrics: Collection[str], ranges: Sequence[tuple[int, int]], targets: Collection[str] | None = None
    ) -> Iterator[tuple[int, int, Sheet]]:
        """Values of each range."""
        self.given.append(list(ranges))
        for start, end in ranges:
            found = self.frame(metrics, start, end, targets)
            yield start, end, Sheet(found.ticks, found.series, found.values)
