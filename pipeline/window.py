"""Window: the last while of every target, in numpy; fed row by row, read as frames."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline import sheet
from pipeline.block import BLOCK_ROWS, Block
from pipeline.plans import Newest, Plan, Plans
from pipeline.slide import Slide, State
from storage.intervals import Stretch, own_gaps
from telemetry.counters import BREAKING, FROM_ZERO, NOMINAL_PER_GAP, mark_steps
from telemetry.frame import Floats, Frame, Ints, Sheet
from telemetry.gaps import keep
from telemetry.model import Series

DEFAULT_INTERVAL_MS = 1000
SHOWN = BREAKING | FROM_ZERO
"""Steps that frames show."""

Cut = list[tuple[Block, int, int]]
"""Rows low ≤ row < high of blocks."""


@dataclass(frozen=True)
class Chosen:
    """What a frame of these metrics is made of. picked: targets with their rows, and the wanted series in those, each
    with its place among them. ticks: of the frame; even: whether each target was read at all of them."""

    metrics: frozenset[str]
    picked: Sequence[tuple[str, Cut, Mapping[Series, int]]]
    ticks: Ints
    even: bool

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """Of all targets."""
        return tuple(one for _, _, rows in self.picked for one in rows)

    def blank(self) -> Frame:
        """A frame for them, still to be filled."""
        shape = (len(self.series), len(self.ticks))
        return Frame(
            self.ticks, self.series, np.empty(shape), np.empty(shape), np.zeros(shape, bool), np.empty(shape[0])
        )


class Window:
    """Rows of all targets over a span of time. One writer thread, any number of readers."""

    def __init__(self, span_ms: int) -> None:
        self._span_ms = span_ms
        self._blocks: dict[str, list[Block]] = {}
        self._steps: list[tuple[Series, int, str]] = []
        self._intervals: dict[str, int] = {}
        self._stretches: dict[str, list[Stretch]] = {}
        self._plans = Plans()
        self._edition = 0
        self._oldest: int | None = None
        self._stepped: dict[str, int] = {}
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
            for step in steps:
                self._steps.append(step)
                if step[2] in SHOWN:
                    name = step[0].metric
                    self._stepped[name] = max(step[1], self._stepped.get(name, step[1]))

    def set_intervals(self, intervals: Mapping[str, int]) -> None:
        """Nominal intervals of targets in milliseconds; decide what a gap is."""
        with self._lock:
            if any(self._intervals.get(target) != interval_ms for target, interval_ms in intervals.items()):
                self._intervals.update(intervals)
                self._edition += 1

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
                if any(block.last_tick < cut for block in blocks):
                    self._blocks[target] = [block for block in blocks if block.last_tick >= cut]
                    if not self._blocks[target]:
                        del self._blocks[target]
            oldest = min((block.first_tick for kept in self._blocks.values() for block in kept), default=cut)
            if oldest == self._oldest:
                return
            self._oldest = oldest
            self._steps = [step for step in self._steps if step[1] >= oldest]
            still = {target: [one for one in own if one[1] > oldest] for target, own in self._stretches.items()}
            self._stretches = {target: own for target, own in still.items() if own}

    def clear(self) -> None:
        """Forget all rows."""
        with self._lock:
            self._blocks, self._steps, self.latest_tick = {}, [], None
            self._stepped = {}
            self._edition += 1

    def targets(self) -> list[str]:
        """Names of the targets that have rows."""
        with self._lock:
            return sorted(self._blocks)

    def metrics(self, wanted: Callable[[Series], bool]) -> frozenset[str]:
        """Names of the metrics of the series that are wanted."""
        with self._lock:
            layouts = {id(block.series): block.series for blocks in self._blocks.values() for block in blocks}
        return frozenset(series.metric for layout in layouts.values() for series in layout if wanted(series))

    def newest(self, target: str, at_ms: int) -> Newest | None:
        """The last row of a target up to an instant; None where none is in it."""
        with self._lock:
            begun = [one for one in self._blocks.get(target, ()) if one.first_tick <= at_ms]
            rows = [(one, int(one.ticks[: one.used].searchsorted(at_ms, side="right")) - 1) for one in begun]
            if not rows:
                return None
            block, row = max(rows, key=lambda one: int(one[0].ticks[one[1]]))
            numbers = block.read(range(len(block.series)), row, row + 1)[:, 0].tolist()
            places = self._plans.places(block.series)
            return Newest(int(block.ticks[row]), float(block.at_ms[row]), places, numbers)

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
        with self._lock:
            return self.fill(self.choose(metrics, start_ms=start_ms, end_ms=end_ms, targets=targets, before=before))

    def slide(self, slide: Slide, tick: int) -> Frame:
        """`frame` of the metrics and targets of a slide from so far back on up to this tick, which mostly goes on from
        the last one that was asked for. It holds until the next is."""
        with self._lock:
            start_ms = tick - slide.back_ms
            rows = [(target, own) for target, own in self._blocks.items() if slide.wants(target)]
            even, state = self._is_even(slide, tick), State(self._edition, tick, self._disturbed(start_ms))
            found = slide.next(rows, state) if even else None
            if found is None:
                found = self.frame(slide.metrics, start_ms=start_ms, end_ms=tick, targets=slide.targets)
                slide.stop()
                if even:
                    slide.begin(found, rows, state)
            return found

    def _is_even(self, slide: Slide, tick: int) -> bool:
        """Whether a frame up to this tick can go on: it holds all newest rows, and no step of a counter."""
        if self.latest_tick is None or self.latest_tick > tick or slide.back_ms > self._span_ms:
            return False
        start_ms = tick - slide.back_ms
        return not any(self._stepped.get(name, start_ms - 1) >= start_ms for name in slide.metrics)

    def _disturbed(self, start_ms: float) -> Collection[str]:
        """Targets that were read at another interval after a start."""
        return [target for target, own in self._stretches.items() if any(one[1] > start_ms for one in own)]

    def choose(
        self,
        metrics: Collection[str],
        *,
        start_ms: float | None = None,
        end_ms: float | None = None,
        targets: Collection[str] | None = None,
        before: bool = False,
    ) -> Chosen:
        """What `frame` would be made of."""
        wanted = frozenset(metrics)
        with self._lock:
            found = [
                (target, cut, _pick(cut, wanted, self._plans))
                for target, blocks in self._blocks.items()
                if targets is None or target in targets
                for cut in (_cut(blocks, start_ms, end_ms, before),)
                if cut
            ]
        read = [np.concatenate([block.ticks[low:high] for block, low, high in cut]) for _, cut, _ in found]
        ticks = _union(read)
        return Chosen(wanted, found, ticks, bool(read) and ticks is read[0])

    def fill(self, chosen: Chosen, into: Frame | None = None) -> Frame:
        """Samples that were chosen. into: a frame of their ticks, whose arrays are written; it has their series, and
        maybe others."""
        with self._lock:
            frame = chosen.blank() if into is None else into
            _assemble(chosen, frame, self._intervals, self._plans)
            _judge_gaps(frame, self._stretches)
            return mark_steps(frame, [step for step in self._steps if step[0].metric in chosen.metrics])


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


def _assemble(chosen: Chosen, into: Frame, intervals: Mapping[str, int], plans: Plans) -> None:
    """Write what was chosen into a frame's arrays."""
    recorded = max(DEFAULT_INTERVAL_MS, min(intervals.values(), default=0))  # see `storage.history.gaps`
    if len(into.series) > len(chosen.series):
        into.values[:], into.at_ms[:] = np.nan, np.nan
    first = 0
    for target, cut, rows in chosen.picked:
        at = range(first, first + len(rows)) if into.series is chosen.series else _rows_in(into, rows)
        first += len(rows)
        if not rows:
            continue
        low, high = min(at), max(at) + 1
        if high - low == len(rows):
            order = [one - low for one in at]
            _fill_target(chosen, cut, rows, order, plans, into.values[low:high], into.at_ms[low:high])
            into.gap_ms[low:high] = NOMINAL_PER_GAP * intervals.get(target, recorded)
        else:
            values, at_ms = np.empty((2, len(rows), len(into.ticks)))
            _fill_target(chosen, cut, rows, range(len(rows)), plans, values, at_ms)
            into.values[at], into.at_ms[at] = values, at_ms
            into.gap_ms[at] = NOMINAL_PER_GAP * intervals.get(target, recorded)


def _rows_in(frame: Frame, series: Iterable[Series]) -> list[int]:
    """Rows of series that a frame has."""
    return [row for one in series if (row := frame.row(one)) is not None]


def _fill_target(
    chosen: Chosen,
    cut: Cut,
    rows: Mapping[Series, int],
    order: Sequence[int],
    plans: Plans,
    values: Floats,
    at_ms: Floats,
) -> None:
    """Write one target's samples. order: the line of each of its rows."""
    as_they_are = all(place == line for place, line in enumerate(order))
    if chosen.even and len({id(block.series) for block, _, _ in cut}) == 1:
        places = plans.of(cut[0][0].series, chosen.metrics)[0]
        _fill_evenly(cut, places if as_they_are else [places[at] for at in np.argsort(order)], values, at_ms)
        return
    lines = rows if as_they_are else dict(zip(rows, order, strict=True))
    _fill(cut, chosen.ticks, lines, lambda series: plans.of(series, chosen.metrics), values, at_ms)


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
