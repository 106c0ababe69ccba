"""Window: the last while of every target, in numpy; fed row by row, read as frames."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from telemetry.counters import NOMINAL_PER_GAP, mark_steps
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Series

BLOCK_ROWS = 300
DEFAULT_INTERVAL_MS = 1000


class Block:
    """Consecutive rows of one target with one layout."""

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series = series
        self.ticks: Ints = np.zeros(BLOCK_ROWS, np.int64)
        self.at_ms: Floats = np.zeros(BLOCK_ROWS)
        self.values: Floats = np.empty((BLOCK_ROWS, len(series)))
        self.used = 0

    @property
    def last_tick(self) -> int:
        """Tick of the newest row, -1 while empty."""
        return int(self.ticks[self.used - 1]) if self.used else -1

    def takes(self, series: tuple[Series, ...], tick: int) -> bool:
        """Whether a row belongs at the end of this block."""
        same = self.series is series or self.series == series
        return self.used < BLOCK_ROWS and tick > self.last_tick and same

    def append(self, tick: int, at_ms: float, values: Floats) -> None:
        """Add a row that `takes` accepted."""
        self.ticks[self.used], self.at_ms[self.used] = tick, at_ms
        self.values[self.used] = values
        self.used += 1


class Window:
    """Rows of all targets over a span of time. One writer thread, any number of readers."""

    def __init__(self, span_ms: int) -> None:
        self._span_ms = span_ms
        self._blocks: dict[str, list[Block]] = {}
        self._steps: list[tuple[Series, int, str]] = []
        self._intervals: dict[str, int] = {}
        self._lock = threading.RLock()
        self.latest_tick: int | None = None

    def add(self, target: str, tick: int, at_ms: float, series: tuple[Series, ...], values: Floats) -> None:
        """Take in one row; `values` is float64[series]. A second row of the same target and tick is ignored."""
        with self._lock:
            blocks = self._blocks.setdefault(target, [])
            if any(block.ticks[: block.used].searchsorted(tick) < block.used and tick in block.ticks[: block.used]
                   for block in blocks if tick <= block.last_tick):  # fmt: skip
                return
            block = next((block for block in reversed(blocks) if block.takes(series, tick)), None)
            if block is None:
                block = Block(series)
                blocks.append(block)
            block.append(tick, at_ms, values)
            if self.latest_tick is None or tick > self.latest_tick:
                self.latest_tick = tick

    def add_steps(self, steps: Iterable[tuple[Series, int, str]]) -> None:
        """Take in restarts and first uses: (series, tick, reason)."""
        with self._lock:
            self._steps.extend(steps)

    def set_intervals(self, intervals: Mapping[str, int]) -> None:
        """Nominal intervals of targets in milliseconds; decide what a gap is."""
        with self._lock:
            self._intervals.update(intervals)

    def trim(self) -> None:
        """Drop what is older than the span."""
        with self._lock:
            cut = (self.latest_tick or 0) - self._span_ms
            for target, blocks in list(self._blocks.items()):
                kept = [block for block in blocks if block.last_tick >= cut]
                self._blocks[target] = kept
                if not kept:
                    del self._blocks[target]
            self._steps = [step for step in self._steps if step[1] >= cut]

    def targets(self) -> list[str]:
        """Names of the targets that have rows."""
        with self._lock:
            return sorted(self._blocks)

    def frame(
        self,
        metrics: Collection[str],
        *,
        start_ms: float | None = None,
        end_ms: float | None = None,
        targets: Collection[str] | None = None,
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end, on the ticks at which any of the targets was read."""
        with self._lock:
            chosen = [
                (target, cut)
                for target, blocks in self._blocks.items()
                if targets is None or target in targets
                for cut in (_cut(blocks, start_ms, end_ms),)
                if cut
            ]
            frame = _assemble(chosen, frozenset(metrics), self._intervals)
            wanted = frozenset(metrics)
            return mark_steps(frame, [step for step in self._steps if step[0].metric in wanted])


Cut = list[tuple[Block, int, int]]


def _cut(blocks: list[Block], start_ms: float | None, end_ms: float | None) -> Cut:
    cuts = []
    for block in blocks:
        ticks = block.ticks[: block.used]
        low = 0 if start_ms is None else int(np.searchsorted(ticks, start_ms, side="left"))
        high = block.used if end_ms is None else int(np.searchsorted(ticks, end_ms, side="right"))
        if low < high:
            cuts.append((block, low, high))
    return cuts


def _assemble(chosen: list[tuple[str, Cut]], metrics: frozenset[str], intervals: Mapping[str, int]) -> Frame:
    read = [block.ticks[low:high] for _, cut in chosen for block, low, high in cut]
    ticks = np.unique(np.concatenate(read)) if read else np.zeros(0, np.int64)
    index: dict[Series, int] = {}
    for _, cut in chosen:
        for block, _, _ in cut:
            for series in block.series:
                if series.metric in metrics:
                    index.setdefault(series, len(index))
    values = np.full((len(index), len(ticks)), np.nan)
    at_ms = np.full((len(index), len(ticks)), np.nan)
    gap_ms = np.empty(len(index))
    for target, cut in chosen:
        rows = [row for series, row in index.items() if series.target == target]
        gap_ms[rows] = NOMINAL_PER_GAP * intervals.get(target, DEFAULT_INTERVAL_MS)
        _fill(cut, ticks, index, rows, values, at_ms)
    return Frame(ticks, tuple(index), values, at_ms, np.zeros(values.shape, bool), gap_ms)


def _fill(cut: Cut, ticks: Ints, index: Mapping[Series, int], rows: list[int], values: Floats, at_ms: Floats) -> None:
    for block, low, high in cut:
        columns = np.searchsorted(ticks, block.ticks[low:high])
        picked = [(index[series], place) for place, series in enumerate(block.series) if series in index]
        if rows:
            at_ms[np.ix_(rows, columns)] = block.at_ms[low:high]
        if picked:
            mine, places = zip(*picked, strict=True)
            values[np.ix_(mine, columns)] = block.values[low:high][:, places].T
