"""Long stretches in slices, so that they take no more memory than short ones; each with what it needs of its edges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from runs.reader import LEAD_MS, Reader, Wanted
from telemetry.frame import Bools, Frame
from telemetry.model import Series
from telemetry.seam import joined

READINGS = 130_000
"""Readings of all targets that are in memory at once: two hours of sixteen nodes at one a second; an hour of them where
the stretch is longer."""
HOUR_MS, SHORTEST_MS = 3_600_000, 60_000


def slices(start_ms: int, end_ms: int, targets: int, readings: int = READINGS) -> list[tuple[int, int]]:
    """Closed ranges that follow each other: one where that is few readings, else parts of at most half as many, which
    begin at whole hours, or at even parts of them. targets: how many are read, once a second."""
    length = max(readings // max(targets, 1) * 1000, SHORTEST_MS)
    if end_ms - start_ms <= length:
        return [(start_ms, end_ms)]
    length = max(length // 2, SHORTEST_MS)
    step = length // HOUR_MS * HOUR_MS if length >= HOUR_MS else HOUR_MS // -(-HOUR_MS // length)
    begins = [start_ms, *range((start_ms // step + 1) * step, end_ms + 1, step)]
    return list(zip(begins, [*(begin - 1 for begin in begins[1:]), end_ms], strict=True))


def walk(
    reader: Reader,
    wanted: Wanted,
    parts: Sequence[tuple[int, int]],
    targets: Collection[str],
    before: Frame | None = None,
) -> Iterator[tuple[Frame, int, int]]:
    """(samples, start, end) of each part; before its start stand those of a minute, and each series' last one.

    before: those of the part before the first, where it is not the first of all.
    """
    frame = before
    for start, end in parts:
        before = None if frame is None else tail(frame, start - LEAD_MS)
        frame = None  # one slice at a time is in memory
        frame = reader.frame(wanted, start - LEAD_MS if before is None else start, end, targets)
        if before is not None:
            frame = joined(before, frame)
        yield frame, start, end


def tail(frame: Frame, since_ms: float) -> Frame:
    """The samples since an instant, and before it the newest one of each series."""
    late = int(np.searchsorted(frame.ticks, since_ms))
    known = ~np.isnan(frame.values[:, :late])
    some = np.asarray(known.any(axis=1))
    newest = late - 1 - np.argmax(known[some][:, ::-1], axis=1) if late and some.any() else np.zeros(0, dtype=np.intp)
    columns = np.concatenate((np.unique(newest), np.arange(late, len(frame.ticks)))).astype(np.intp)
    arrays = (frame.values[:, columns], frame.at_ms[:, columns], frame.breaks[:, columns])
    return Frame(frame.ticks[columns], frame.series, *arrays, frame.gap_ms)


@dataclass(frozen=True)
class Piece:
    """Samples of a part of a stretch, with those of a while before and after it.

    Its own are the ticks of low_ms ≤ tick ≤ high_ms. first, last: whether the stretch begins, and ends, in it.
    """

    frame: Frame
    low_ms: int
    high_ms: int
    first: bool = True
    last: bool = True

    @property
    def own(self) -> slice:
        """Columns of its own ticks; those of the first piece are also the ones before, of which something may last
        into the stretch."""
        ticks = self.frame.ticks
        low = 0 if self.first else int(np.searchsorted(ticks, self.low_ms))
        return slice(low, int(np.searchsorted(ticks, self.high_ms, side="right")))

    @property
    def steps_own(self) -> Bools:
        """Which steps from a tick to the next begin with one of its own: bool[tick − 1]."""
        found = np.zeros(max(len(self.frame.ticks) - 1, 0), dtype=bool)
        found[self.own] = True
        return found


def pieces(
    reader: Reader,
    wanted: Wanted,
    parts: Sequence[tuple[int, int]],
    targets: Collection[str],
    own: Callable[[Series], bool],
    around_ms: int = LEAD_MS,
) -> Iterator[Piece]:
    """A stretch as pieces that follow each other. own: the series that count. around_ms: how much of the time before
    and after each piece has beside it, at least twice what is a gap; before the stretch it is a minute.

    What a tick means depends on the readings around it: a reading counts until the next one, a counter that is read
    rarely rises evenly between two. So a part is read first and dealt with once what follows it is read, too.
    """
    frame: Frame | None = None
    done: int | None = None
    for start, end in parts:
        frame = _more(frame, reader.frame(wanted, start - LEAD_MS if frame is None else start, end, targets), own)
        around = max(around_ms, 2 * int(max(frame.gap_ms.tolist(), default=0.0)))
        last = end == parts[-1][1]
        until = end if last else end - around
        low = parts[0][0] if done is None else done + 1
        if until < low:
            continue
        yield Piece(frame, low, until, done is None, last)
        frame, done = tail(frame, until - around), until


def _more(before: Frame | None, after: Frame, own: Callable[[Series], bool]) -> Frame:
    frame = _read(_only(after, own))
    return frame if before is None else joined(before, frame)


def _only(frame: Frame, own: Callable[[Series], bool]) -> Frame:
    """The wanted rows; the same frame where that is all of them, since a copy of a cluster's samples takes its time."""
    rows = [row for row, series in enumerate(frame.series) if own(series)]
    return frame if len(rows) == len(frame.series) else frame.take(rows)


def _read(frame: Frame) -> Frame:
    """The ticks at which any of the targets was read."""
    read = np.asarray((frame.at_ms == frame.at_ms).any(axis=0))
    if read.all():
        return frame
    values, at_ms, breaks = frame.values[:, read], frame.at_ms[:, read], frame.breaks[:, read]
    return Frame(frame.ticks[read], frame.series, values, at_ms, breaks, frame.gap_ms)
