"""From a page to a row: counters unwrapped line by line, then lines folded into stored series."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from collectors.scrape.page import Layout, Page
from pipeline.doubts import HELD_S, QUICK_S, Doubts, Number, Point
from pipeline.first_use import Before, from_zero, plausible
from pipeline.ladders import Ladders
from pipeline.ranges import limits_of_lines
from pipeline.shape import Falls, Shape
from storage.records import Offset
from telemetry import catalog
from telemetry.counters import Step, judge
from telemetry.frame import Bools, Floats
from telemetry.model import Kind, Scope, Series

STARTED_TOLERANCE_S = 2.0
"""Start times that differ by less are one start, written with a different rounding."""


@dataclass(frozen=True)
class Reading:
    """values: float64[series] of the page's layout, counters unwrapped. offsets: steps that are no plain progress.
    nonsense: numbers of the page that cannot be, and count as unknown; why: metric → reason for one of them."""

    values: Floats
    offsets: tuple[Offset, ...]
    restarted: bool
    nonsense: int = 0
    why: Mapping[str, str] = field(default_factory=dict)


NEVER_WRAPS = 64
"""Bits of a counter that never wraps."""
MOST_STARTS = 64
"""Earlier starts of one target that are remembered: one that comes back is of another server at the same address, whose
counters did not begin anew; what each had counted since its last page is not known."""
MOST_LINES = 20_000
"""Lines of one target that are remembered; a page of 16 engines has about 6,000."""
OUTSIDE = "its number on the page is beyond all that it can be"
LEAP = "its number on the page cannot follow from the one before"
BROKEN = "its buckets on the page contradict each other"
TWICE = "the page gives it twice, with different numbers"
_NEVER_SEEN = (float("nan"), 0.0, False, float("nan"))
_WEIGHT = (
    Step.FIRST_SAMPLE,
    Step.FIRST_USE,
    Step.LINES_CHANGED,
    Step.WRAP,
    Step.LEVEL,
    Step.FIRST_USE_AFTER_RESTART,
    Step.RESTART,
)
"""Of the steps that a series' lines make at once, the last one here is told: no rate may cross a restart."""


class Ingest:
    """One target's counters across pages, layouts, restarts of the target and of the collector.

    resumed: last stored (value, offset) of each counter, as an earlier collector left them in the store.
    started_s: start of the target's process, as far as an earlier collector knew it. left_ms: tick of the oldest of
    the resumed values, from which on they may have grown.
    """

    def __init__(
        self,
        target: str,
        resumed: Mapping[Series, tuple[float, float]] | None = None,
        started_s: float | None = None,
        left_ms: float = float("-inf"),
    ) -> None:
        self._target = target
        self._known: dict[str, tuple[float, float, bool, float]] = {}
        self._doubts = Doubts()
        self._left_ms = left_ms
        self._home: dict[str, Series] = {}
        self._left: dict[Series, float] = {}
        self._copies: dict[Series, str] = {}
        self._resumed = dict(resumed or {})
        self._stated = {series: offset for series, (_, offset) in self._resumed.items()}
        self._started_s = started_s
        self._starts: dict[str, float] = {}
        self._former: deque[float] = deque(maxlen=MOST_STARTS)
        self._returned, self._start_before = False, started_s
        self._created_s: float | None = None
        self._shape: Shape | None = None
        self._before: Before | None = None
        self._was_empty = self._same_process = False
        self._fell_ms = float("-inf")

    def take(self, page: Page, tick: int, asked_ms: float | None = None, arrived_ms: float | None = None) -> Reading:
        """Unwrap and fold one page; `tick` is when it was to be asked for, the others when it was, and when it came."""
        span = (tick if asked_ms is None else asked_ms, tick if arrived_ms is None else arrived_ms)
        restarted = self._restarted(page)
        changed = self._shape is None or self._shape.layout is not page.layout
        shape = self._learn(page.layout) if changed or self._shape is None else self._shape
        self._shape = shape
        self._doubts.expire(span[1])
        if not (restarted or changed or self._doubts or page.contradicted) and shape.goes_on(page.raw):
            values = shape.go_on(page.raw, span[0])
            self._before = _before(page, shape, span[0])
            return Reading(values, (), restarted=False)
        raw = np.where(shape.limits.holds(page.raw), page.raw, np.nan)
        outside = np.isnan(raw) & ~np.isnan(page.raw)
        broken = shape.ladders.broken(raw) & ~np.isnan(raw)
        raw[broken] = np.nan
        if restarted and not self._returned and self._goes_on(shape, raw, span[1]):
            restarted, self._same_process = False, True
        if restarted:
            if self._start_before is not None and self._start_before not in self._former:
                self._former.append(self._start_before)
            shape.reborn |= shape.counters
            self._known = {line: (raw, offset, True, at) for line, (raw, offset, _, at) in self._known.items()}
        self._resume(shape, raw)
        if shape.from_zero.any() and self._before is not None:
            shape.from_zero &= plausible(shape.limits, raw, (span[1] - self._before.asked_ms) / 1000.0)
        steps = self._advance(shape, raw, span)
        doubted = np.isnan(raw) & ~np.isnan(page.raw) & ~outside & ~broken
        shape.settle()
        self._before = _before(page, shape, span[0])
        values = page.layout.fold(np.where(shape.counters, raw + shape.offset, raw)) + shape.gone
        began_again = any(step is Step.RESTART and _of_engine(shape, place) for place, step in steps.items())
        nonsense = {LEAP: doubted, OUTSIDE: outside, BROKEN: broken, TWICE: page.twice}
        return Reading(
            values,
            tuple(self._offsets(shape, steps, tick, changed)),
            (restarted and not self._returned) or began_again,
            sum(int(np.count_nonzero(lines)) for lines in nonsense.values()),
            {metric: reason for reason, lines in nonsense.items() for metric in _metrics(page.layout, lines)},
        )

    def _restarted(self, page: Page) -> bool:
        """Whether the process behind this page is another one than behind the page before.

        Its start time says so, later or earlier (clocks are set), compared with the last that was told in the same way.
        Where it says nothing: an engine that had series and then said that it has served nothing (Rust front end).
        A start time that is missing on some pages and new after them leaves open on which side of them the restart was:
        it counts where it is told, so that those pages' own progress may be counted twice, never more.
        """
        before = self._starts.get(page.started_by, self._started_s)
        known = before is not None and page.started_s is not None
        moved = abs(page.started_s - before) if before is not None and page.started_s is not None else 0.0
        if page.started_s is not None:
            self._starts[page.started_by] = page.started_s
        made_anew = self._made_anew(page.created_s)
        self._same_process = known and moved <= STARTED_TOLERANCE_S and not made_anew
        began = page.started_s if moved > STARTED_TOLERANCE_S else None
        self._returned = began is not None and any(abs(began - one) <= STARTED_TOLERANCE_S for one in self._former)
        self._start_before = before if began is not None else None
        return moved > STARTED_TOLERANCE_S or (self._emptied(page) and not self._same_process)

    def _goes_on(self, shape: Shape, raw: Floats, arrived_ms: float) -> bool:
        """Whether what is told of a restart is wrong: within seconds no process begins anew and overtakes all that the
        one before had counted."""
        quick = arrived_ms - self._before_ms() <= 1000.0 * QUICK_S
        return quick and Falls(shape, raw, shape.counters & ~np.isnan(raw)).none()

    def _made_anew(self, created_s: float | None) -> bool:
        """Whether the metrics were made at another time than those of the page before: then a fall is a restart."""
        before = self._created_s
        if created_s is not None:
            self._created_s = created_s
        return before is not None and created_s is not None and abs(created_s - before) > STARTED_TOLERANCE_S

    def _emptied(self, page: Page) -> bool:
        """Whether the pages since the last one with lines said that the engine has served nothing."""
        if page.layout.lines:
            empty, self._was_empty = self._was_empty, False
            return empty
        had = self._shape is not None and len(self._shape.layout.lines) > 0
        self._was_empty |= had and page.layout.facts.get("statistics") == "not yet"
        return False

    def _advance(self, shape: Shape, raw: Floats, span: tuple[float, float]) -> dict[int, Step]:
        """Bring the offsets up to date; what each stored series went through that was no plain progress.

        A number that is held is replaced in `raw` by the one it is held at, one that is doubted by unknown.
        """
        known = shape.counters & ~np.isnan(raw) & ~shape.waiting
        before = np.where(np.isnan(shape.asked_ms), self._before_ms(), shape.asked_ms)
        elapsed = (span[1] - before) / 1000.0
        plain = (raw - shape.raw <= shape.limits.most(elapsed)) & (raw >= shape.raw) & ~shape.reborn
        if self._doubts:
            plain &= np.array([line not in self._doubts for line in shape.layout.lines], dtype=bool)
        steps: dict[int, Step] = {}
        unmarked = Falls(shape, raw, known)
        if any(_bits(shape, line) == NEVER_WRAPS for line in np.flatnonzero(known & (raw < shape.raw)).tolist()):
            self._fell_ms = span[1]
        for line in np.flatnonzero(known & ~plain).tolist():
            place = int(shape.layout.source[line])
            step = self._step(shape, line, float(raw[line]), span, float(elapsed[line]), unmarked)
            if step is None or step is Step.HELD:
                raw[line] = np.nan if step is None else shape.raw[line]
                known[line] = False
                continue
            if step is not Step.FORWARD:
                step = self._told(shape.layout.series[place], step)
                steps[place] = max(step, steps.get(place, step), key=_WEIGHT.index)
        shape.raw = np.where(known, raw, shape.raw)
        shape.asked_ms = np.where(known, span[0], shape.asked_ms)
        shape.reborn &= ~known
        shape.from_zero[:] = False
        return steps

    def _before_ms(self) -> float:
        return float("-inf") if self._before is None else self._before.asked_ms

    def _step(
        self, shape: Shape, line: int, raw: float, span: tuple[float, float], elapsed_s: float, falls: Falls
    ) -> Step | None:
        """The step that a line makes, its offset brought up to date; None where its number is doubted."""
        reborn = bool(shape.reborn[line])
        last = None if np.isnan(shape.raw[line]) else float(shape.raw[line])
        before = 0.0 if last is None else last + float(shape.offset[line])
        if reborn and self._returned and last is not None:
            shape.offset[line] = before - raw
            self._doubts.forget(shape.layout.lines[line])
            return Step.LEVEL
        gained, step = judge(
            last,
            raw,
            bits=_bits(shape, line) if self._may_wrap(shape, line, span[1]) else NEVER_WRAPS,
            restarted=reborn,
            from_zero=bool(shape.from_zero[line]),
            same_process=self._same_process,
        )
        bare = step is Step.RESTART and not reborn
        number = Number(
            raw,
            *span,
            None if last is None else Point(last, float(shape.asked_ms[line]), before),
            elapsed_s,
            step,
            gained,
            shape.limits.of(line).most,
            bare=bare,
            alone=bare and falls.alone(line),
        )
        settled = self._doubts.settle(shape.layout.lines[line], number)
        if settled is None:
            return None
        gained, step = settled
        if step is not Step.HELD:
            shape.offset[line] = before + gained - raw
        return step

    def _may_wrap(self, shape: Shape, line: int, arrived_ms: float) -> bool:
        """Whether a fall may be a wrap: not where counters that never wrap have just fallen too, or where the line was
        not on the page before: then its port was taken away, or its machine has started anew. Within a minute, since an
        agent reads some counters more rarely than others."""
        return arrived_ms - self._fell_ms > 1000.0 * HELD_S and not shape.asked_ms[line] < self._before_ms()

    def _told(self, series: Series, step: Step) -> Step:
        """What a line's step is to its series: a further line is not where the series began."""
        if series not in self._stated:
            return step
        if step is Step.FIRST_USE_AFTER_RESTART:
            return Step.RESTART
        return Step.LINES_CHANGED if step in (Step.FIRST_USE, Step.FIRST_SAMPLE) else step

    def _offsets(self, shape: Shape, steps: Mapping[int, Step], tick: int, changed: bool) -> list[Offset]:
        """Rows for the store: a series' value − offset is the sum of its lines on the page."""
        if not steps and not changed:
            return []
        series = shape.layout.series
        sums = (np.bincount(shape.layout.source, shape.offset, len(series)) + shape.gone).tolist()
        told = dict(steps)
        if changed:
            waiting = set(shape.layout.source[shape.waiting].tolist())
            moved = {place for place, one in enumerate(series) if self._stated.get(one, sums[place]) != sums[place]}
            told = dict.fromkeys(moved - waiting, Step.LINES_CHANGED) | told
        self._stated.update({series[place]: sums[place] for place in told})
        return [
            Offset(self._target, series[place].metric, series[place].labels, tick, sums[place], step.value)
            for place, step in told.items()
        ]

    def _learn(self, layout: Layout) -> Shape:
        self._remember()
        self._change_copies(layout)
        counter = np.array([catalog.stored(series.metric).kind is Kind.COUNTER for series in layout.series], dtype=bool)
        known = [self._known.get(line, _NEVER_SEEN) for line in layout.lines]
        columns = np.array(known, dtype=np.float64).reshape(-1, 4)
        shape = Shape(
            layout,
            counters=counter[layout.source],
            raw=columns[:, 0].copy(),
            offset=columns[:, 1].copy(),
            gone=self._gone(layout),
            reborn=columns[:, 2] == 1.0,
            from_zero=self._from_zero(layout),
            waiting=np.array([layout.series[place] in self._resumed for place in layout.source.tolist()], dtype=bool),
            asked_ms=columns[:, 3].copy(),
            limits=limits_of_lines(layout),
            ladders=Ladders(layout),
        )
        shape.waiting &= shape.counters
        for line, (place, counts) in enumerate(zip(layout.source.tolist(), shape.counters.tolist(), strict=True)):
            if counts:
                self._home[layout.lines[line]] = layout.series[place]
        return shape

    def _remember(self) -> None:
        """Keep where each counter stands; a gauge, whose labels may change with every page, stands nowhere."""
        if self._shape is not None:
            counters = np.flatnonzero(self._shape.counters)
            columns = (self._shape.raw, self._shape.offset, self._shape.reborn, self._shape.asked_ms)
            state = zip(*(column[counters].tolist() for column in columns), strict=True)
            lines = [self._shape.layout.lines[line] for line in counters.tolist()]
            self._known.update(zip(lines, state, strict=True))

    def _change_copies(self, layout: Layout) -> None:
        """Where another copy than last time makes a series, forget the lines of the former: what they counted stays,
        and the copy goes on from there, having counted the same. Should the former return, it is a new one."""
        chosen = dict(zip(layout.series, layout.copies, strict=False))
        changed = {series for series, copy in chosen.items() if self._copies.get(series, copy) != copy}
        self._copies.update(chosen)
        if changed:
            self._forget([line for line, series in self._home.items() if series in changed])

    def _from_zero(self, layout: Layout) -> Bools:
        """New lines that stood at 0 on the page before. Not where the lines of a series were all replaced: those say
        in other words what the old ones had counted."""
        begun = {*self._home.values(), *self._left}
        kept = {self._home[line] for line in layout.lines if line in self._home}
        replaced = np.array([series in begun and series not in kept for series in layout.series], dtype=bool)
        new = np.array([line not in self._known for line in layout.lines], dtype=bool)
        left = self._gone_since(layout)
        return np.asarray(from_zero(layout, self._before, kept, left) & new & ~replaced[layout.source])

    def _gone_since(self, layout: Layout) -> set[Series]:
        """Series that lines of this process had counted for, which are no longer on the page."""
        present = set(layout.lines)
        left = set()
        for line, series in self._home.items():
            raw, _, reborn, _ = self._known.get(line, _NEVER_SEEN)
            if line not in present and raw > 0 and not reborn:
                left.add(series)
        return left

    def _gone(self, layout: Layout) -> Floats:
        present = set(layout.lines)
        if len(self._home) > MOST_LINES:
            self._forget([line for line in self._home if line not in present])
        places = {series: place for place, series in enumerate(layout.series)}
        gone = np.array([self._left.get(series, 0.0) for series in layout.series])
        for line, series in self._home.items():
            raw, offset, *_ = self._known.get(line, _NEVER_SEEN)
            if line not in present and series in places and not np.isnan(raw):
                gone[places[series]] += raw + offset
        return gone

    def _forget(self, lines: Iterable[str]) -> None:
        """Keep only the sum of what these lines counted: labels that change with every request must not fill the
        memory."""
        for line in lines:
            raw, offset, *_ = self._known.pop(line, _NEVER_SEEN)
            self._doubts.forget(line)
            series = self._home.pop(line)
            if not np.isnan(raw):
                self._left[series] = self._left.get(series, 0.0) + raw + offset

    def _resume(self, shape: Shape, raw: Floats) -> None:
        """Go on where an earlier collector stopped. It knew only sums: a series' first line stands for its change."""
        if not shape.waiting.any():
            return
        for place in np.unique(shape.layout.source[shape.waiting]).tolist():
            lines = np.flatnonzero(shape.layout.source == place)
            if np.isnan(raw[lines]).any():
                continue
            value, offset = self._resumed.pop(shape.layout.series[place])
            others = float(raw[lines[1:]].sum())
            shape.raw[lines[1:]], shape.offset[lines[1:]] = raw[lines[1:]], 0.0
            shape.raw[lines[0]] = value - offset - others
            shape.offset[lines[0]] = offset
            shape.asked_ms[lines] = self._left_ms
            shape.waiting[lines] = False


def _before(page: Page, shape: Shape, asked_ms: float) -> Before:
    whole = not page.bad_lines and not page.layout.refused_series
    return Before(page.layout, shape.raw, asked_ms, whole, page.started_s is not None)


def _bits(shape: Shape, line: int) -> int:
    return catalog.stored(shape.layout.series[shape.layout.source[line]].metric).bits


def _of_engine(shape: Shape, place: int) -> bool:
    return catalog.stored(shape.layout.series[place].metric).scope is Scope.ENGINE


def _metrics(layout: Layout, lines: Bools) -> set[str]:
    return {layout.series[place].metric for place in layout.source[lines].tolist()}
