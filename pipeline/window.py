"""Window: the last while of every target, in numpy; fed row by row, read as frames."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np

from pipeline import sheet
from pipeline.block import BLOCK_ROWS, Block
from storage.intervals import Stretch, own_gaps
from telemetry.counters import NOMINAL_PER_GAP, mark_steps
from telemetry.frame import Floats, Frame, Ints, Sheet
from telemetry.gaps import keep
from telemetry.model import Series

DEFAULT_INTERVAL_MS = 1000


Plan = tuple[list[int], dict[Series, int]]
"""Where a layout holds some metrics, and the rows that they make in a frame."""

MOST_PLANS = 4096


class Plans:
    """Plans, worked out once per layout object and question.

    By identity, since hashing a layout of hundreds of series costs more than the work that is saved; an entry keeps
    its layout alive, so that the identity is not given to another.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, frozenset[str]], tuple[tuple[Series, ...], Plan]] = {}

    def of(self, series: tuple[Series, ...], metrics: frozenset[str]) -> Plan:
        """The plan for these metrics of a layout."""
        known = self._known.get((id(series), metrics))
        if known is not None:
            return known[1]
        places = [place for place, one in enumerate(series) if one.metric in metrics]
        plan = (places, {series[place]: row for row, place in enumerate(places)})
        if len(self._known) >= MOST_PLANS:
            self._known.clear()
        self._known[id(series), metrics] = (series, plan)
        return plan


class Window:
    """Rows of all targets over a span of time. One writer thread, any number of readers."""

    def __init__(self, span_ms: int) -> None:
        self._span_ms = span_ms
        self._blocks: dict[str, list[Block]] = {}
        self._steps: list[tuple[Series, int, str]] = []
        self._intervals: dict[str, int] = {}
        self._stretches: dict[str, list[Stretch]] = {}
        self._plans = Plans()
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
            if block.used == BLOCK_ROWS:
                block.share(own[-1] for own in self._blocks.values())
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

    def set_stretches(self, stretches: Mapping[str, Sequence[Stretch]]) -> None:
        """Where targets were read at another interval than now: that decides there what a gap is. For all targets."""
        with self._lock:
            self._stretches = {target: list(own) for target, own in stretches.items()}

    def end_stretch(self, target: str, interval_ms: float, tick: int) -> None:
        """Up to this tick a target was read at this interval, and is at another one from now on."""
        with self._lock:
            known = self._stretches.setdefault(target, [])
            known.append((known[-1][1] if known else 0, tick, NOMINAL_PER_GAP * interval_ms, True))

    def trim(self) -> None:
        """Drop what is older than the span."""
        with self._lock:
            cut = (self.latest_tick or 0) - self._span_ms
            for target, blocks in list(self._blocks.items()):
                kept = [block for block in blocks if block.last_tick >= cut]
                self._blocks[target] = kept
                if not kept:
                    del self._blocks[target]
            oldest = min((int(block.ticks[0]) for kept in self._blocks.values() for block in kept), default=cut)
            self._steps = [step for step in self._steps if step[1] >= oldest]
            still = {target: [one for one in own if one[1] > oldest] for target, own in self._stretches.items()}
            self._stretches = {target: own for target, own in still.items() if own}

    def targets(self) -> list[str]:
        """Names of the targets that have rows."""
        with self._lock:
            return sorted(self._blocks)

    def metrics(self, wanted: Callable[[Series], bool]) -> frozenset[str]:
        """Names of the metrics of the series that are wanted."""
        with self._lock:
            layouts = {id(block.series): block.series for blocks in self._blocks.values() for block in blocks}
        return frozenset(series.metric for layout in layouts.values() for series in layout if wanted(series))

    def standing(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> dict[Series, float]:
        """Series of these metrics that were one and the same number at every reading from the last one at or before the
        start up to the end, and that number. Not all, for they are judged by the block."""
        wanted, found = frozenset(metrics), dict[Series, float]()
        with self._lock:
            for target, blocks in self._blocks.items():
                begin = max((one.first_tick for one in blocks if one.first_tick <= start_ms), default=None)
                if begin is not None and (targets is None or target in targets):
                    mine = [one for one in blocks if one.last_tick >= begin and one.first_tick <= end_ms]
                    found |= _standing(mine, wanted, self._plans)
        return found

    def sheet(
        self, metrics: Collection[str], *, start_ms: float, end_ms: float, targets: Collection[str] | None = None
    ) -> Sheet:
        """The values of `frame` alone, of gauges and states: of a counter the zeros before its first use are not in."""
        wanted = frozenset(metrics)
        with self._lock:
            blocks = [own for target, own in self._blocks.items() if targets is None or target in targets]
            cuts = [cut for own in blocks if (cut := _cut(own, start_ms, end_ms))]
            found = sheet.laid(cuts, lambda series: self._plans.of(series, wanted)[0])
            if found is not None:
                return found
            frame = self.frame(metrics, start_ms=start_ms, end_ms=end_ms, targets=targets).watched()
        return Sheet(frame.ticks, frame.series, frame.values)

    def frame(
        self,
        metrics: Collection[str],
        *,
        start_ms: float | None = None,
        end_ms: float | None = None,
        targets: Collection[str] | None = None,
        before: bool = False,
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end, on the ticks at which any of the targets was read.

        before: with the last of each target before the start, however old.
        """
        wanted = frozenset(metrics)
        with self._lock:
            chosen = [
                (target, cut)
                for target, blocks in self._blocks.items()
                if targets is None or target in targets
                for cut in (_cut(blocks, start_ms, end_ms, before),)
                if cut
            ]
            frame = _assemble(chosen, wanted, self._intervals, self._plans)
            _judge_gaps(frame, self._stretches)
            return mark_steps(frame, [step for step in self._steps if step[0].metric in wanted])


def _standing(blocks: Sequence[Block], metrics: frozenset[str], plans: Plans) -> dict[Series, float]:
    """Series that are one and the same number in all of these blocks."""
    found: dict[Series, float] | None = None
    for _, some in groupby(blocks, key=lambda block: id(block.series)):
        own = list(some)
        places, rows = plans.of(own[0].series, metrics)
        levels = np.array([block.same(places) for block in own])
        stood = np.flatnonzero(np.asarray((levels == levels[0]).all(axis=0))).tolist()
        names, values = list(rows), levels[0].tolist()
        mine = {names[at]: values[at] for at in stood}
        found = mine if found is None else {one: level for one, level in found.items() if mine.get(one) == level}
    return found or {}


def _judge_gaps(frame: Frame, stretches: Mapping[str, Sequence[Stretch]]) -> None:
    """Each stretch by the interval at which it was read, as the store has it."""
    if not len(frame.ticks) or not stretches:
        return
    first, last = int(frame.ticks[0]), int(frame.ticks[-1])
    for row, series in enumerate(frame.series):
        inside = [one for one in stretches.get(series.target, ()) if one[0] <= last and one[1] > first]
        if inside:
            own = own_gaps(frame.ticks, float(frame.gap_ms[row]), inside)
            frame.gap_ms[row] = float(np.max(own))
            keep(frame, row, own)


Cut = list[tuple[Block, int, int]]


def _cut(blocks: list[Block], start_ms: float | None, end_ms: float | None, before: bool = False) -> Cut:
    cuts, last = [], list[tuple[int, Block, int]]()
    for block in blocks:
        if start_ms is not None and block.last_tick < start_ms and not before:
            continue
        low, high = 0, block.used
        if start_ms is not None and block.first_tick < start_ms:
            low = high if block.last_tick < start_ms else int(block.ticks[:high].searchsorted(start_ms))
            if before and low:
                last.append((int(block.ticks[low - 1]), block, low - 1))
        if end_ms is not None and block.last_tick > end_ms:
            high = low if block.first_tick > end_ms else int(block.ticks[:high].searchsorted(end_ms, side="right"))
        if low < high:
            cuts.append((block, low, high))
    if last:
        _, block, place = max(last, key=lambda one: one[0])
        if cuts and cuts[0][0] is block:
            cuts[0] = (block, place, cuts[0][2])
        else:
            cuts.insert(0, (block, place, place + 1))
    return cuts


def _assemble(
    chosen: list[tuple[str, Cut]], metrics: frozenset[str], intervals: Mapping[str, int], plans: Plans
) -> Frame:
    read = [np.concatenate([block.ticks[low:high] for block, low, high in cut]) for _, cut in chosen]
    ticks = _union(read)
    even = bool(read) and ticks is read[0]
    picked = [(target, cut, _pick(cut, metrics, plans)) for target, cut in chosen]
    series = tuple(one for _, _, rows in picked for one in rows)
    values, at_ms = np.empty((len(series), len(ticks))), np.empty((len(series), len(ticks)))
    gap_ms = np.empty(len(series))
    recorded = max(DEFAULT_INTERVAL_MS, min(intervals.values(), default=0))  # see `storage.history.gaps`
    first = 0
    for target, cut, rows in picked:
        mine = slice(first, first + len(rows))
        first += len(rows)
        gap_ms[mine] = NOMINAL_PER_GAP * intervals.get(target, recorded)
        if rows and even and len({id(block.series) for block, _, _ in cut}) == 1:
            _fill_evenly(cut, plans.of(cut[0][0].series, metrics)[0], values[mine], at_ms[mine])
        elif rows:
            _fill(cut, ticks, rows, lambda series: plans.of(series, metrics), values[mine], at_ms[mine])
    return Frame(ticks, series, values, at_ms, np.zeros(values.shape, bool), gap_ms)


def _union(read: list[Ints]) -> Ints:
    """All ticks, rising; nearly always those of each target, which need not be sorted then: the first one's own."""
    if not read:
        return np.zeros(0, np.int64)
    first = read[0]
    if (np.diff(first) > 0).all() and all(np.array_equal(first, one) for one in read[1:]):
        return first
    return np.unique(np.concatenate(read))


def _pick(cut: Cut, metrics: frozenset[str], plans: Plans) -> Mapping[Series, int]:
    """The wanted series of one target's blocks, each with its row among them."""
    layouts = {id(block.series): block.series for block, _, _ in cut}
    if len(layouts) == 1:
        return plans.of(next(iter(layouts.values())), metrics)[1]
    rows: dict[Series, int] = {}
    for series in layouts.values():
        for one in plans.of(series, metrics)[1]:
            rows.setdefault(one, len(rows))
    return rows


def _fill_evenly(cut: Cut, places: Sequence[int], values: Floats, at_ms: Floats) -> None:
    """Of a target that was read at every tick, with one layout."""
    np.concatenate([block.at_ms[low:high] for block, low, high in cut], out=at_ms[0])
    at_ms[1:] = at_ms[0]
    if len(places) == 1:
        np.concatenate([block.line(places[0], low, high) for block, low, high in cut], out=values[0])
        return
    done = 0
    for block, low, high in cut:
        block.put(places, low, high, values[:, done : done + high - low])
        done += high - low


def _fill(
    cut: Cut,
    ticks: Ints,
    rows: Mapping[Series, int],
    plan: Callable[[tuple[Series, ...]], Plan],
    values: Floats,
    at_ms: Floats,
) -> None:
    values[:], at_ms[:] = np.nan, np.nan
    for block, low, high in cut:
        columns = _columns(ticks, block.ticks[low:high])
        at_ms[:, columns] = block.at_ms[low:high]
        places, own = plan(block.series)
        if not places:
            continue
        read = block.read(places, low, high)
        if own is rows:
            values[:, columns] = read
            continue
        for row, line in zip((rows[one] for one in own), read, strict=True):
            values[row, columns] = line


def _columns(ticks: Ints, own: Ints) -> Ints | slice:
    """Places of a block's ticks among all; as a slice where they stand together, which is the cheap and usual case."""
    first = int(ticks.searchsorted(own[0]))
    end = first + len(own)
    if end <= len(ticks) and ticks[end - 1] == own[-1]:  # both rise, and all of the one are in the other
        return slice(first, end)
    return np.searchsorted(ticks, own)
