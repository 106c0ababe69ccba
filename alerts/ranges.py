"""How far apart the samples of many readings lie, and how large they are: all in a few operations on arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alerts.bounds import EVERYTHING, NOTHING, Bounds
from alerts.expression import Reading
from alerts.grouping import Grouping
from alerts.view import View
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Fold, Kind, Ratio

Numbers = npt.NDArray[np.intp]
LOST = 4 * float(np.finfo(np.float64).eps)
"""By how much of a value its difference from another may be off."""
LEAST: np.ufunc = np.fmin
MOST: np.ufunc = np.fmax
"""Of what is known."""
UNKNOWN = -1
"""Place of a number in the pool that is none: its last."""


@dataclass(frozen=True)
class Source:
    """Where the bounds of a reading come from: rows of a frame.

    kind: "now"; "within" its samples; or "apart", by as much as they are, up or down. group: number of the group in
    which each row is added up; None where each is bounded by itself. factor: of what it is apart, for the reading.
    """

    kind: str
    slot: int
    rows: Numbers
    window_ms: float = 0.0
    group: Numbers | None = None
    factor: float = 1.0


def source_of(reading: Reading, slot: int, grouping: Grouping) -> Source | None:
    """The source of a reading of samples; None where there is no cheap one. slot: number of the frame that it is of."""
    metric, rows = reading.metric, grouping.rows
    if isinstance(metric, Ratio):
        window_s = reading.window_s if reading.how == "mean" else metric.window_s
        counters = all(term.kind is Kind.COUNTER for term in metric.numerator)
        if metric.denominator or metric.offset or not counters or window_s <= 0:
            return None
        return Source("apart", slot, rows, window_s * 1000, grouping.group, abs(metric.scale) / window_s)
    summed = reading.how == "rate" or metric.across is Fold.SUM
    group, window_ms = grouping.group if summed and not grouping.single else None, reading.window_s * 1000
    if reading.how in ("increase", "rate", "change"):
        return Source("apart", slot, rows, window_ms, group, 1.0 / reading.window_s if reading.how == "rate" else 1.0)
    if reading.how == "now":
        return Source("now", slot, rows, group=group)
    if reading.how in ("min", "max", "mean") and group is None:
        return Source("within", slot, rows, window_ms)
    return None


@dataclass(frozen=True)
class Block:
    """Rows of a frame. window_ms: the longest over which they are asked for. first: the first row of each target."""

    slot: int
    rows: Numbers
    window_ms: float
    first: Numbers

    def ends(self, frame: Frame) -> tuple[Floats, Floats]:
        """The least and the largest of all samples of each row that the windows may need."""
        values = frame.values[:, self._begin(frame) :][self.rows]
        if len(values) > values.shape[1]:  # a few operations on many, not the other way round
            values = np.ascontiguousarray(values.T).T
        least, most = values.min(axis=1), values.max(axis=1)
        holes = np.isnan(least)  # there a window may reach back to what was before
        if holes.any():
            whole = frame.values[self.rows[holes]]
            least[holes], most[holes] = LEAST.reduce(whole, axis=1), MOST.reduce(whole, axis=1)
        return least, most

    def _begin(self, frame: Frame) -> int:
        """The last column at which each target was read before the window, up to the last tick; 0 where one was not."""
        at = frame.at_ms[self.first]
        before = np.asarray((at <= at[:, -1:] - self.window_ms).all(axis=0))
        before &= frame.ticks <= frame.ticks[-1] - self.window_ms
        return int(np.max(np.flatnonzero(before), initial=0))


@dataclass(frozen=True)
class Plan:
    """How the bounds of many sources are found together, out of a pool of numbers.

    now: those whose values now are in the pool, one after the other. ranged: then those of which the least, the largest
    and how far apart they are follow. summed: places in the pool that are added up, and into which sum; the
    sums follow, and at last one that is unknown. lows, highs: places of what bounds each source, from its start on.
    """

    count: int
    now: Sequence[Block]
    ranged: Sequence[Block]
    summed: Numbers
    into: Numbers
    sums: int
    lows: Numbers
    highs: Numbers
    starts: Numbers
    apart: Bools
    factors: Floats

    def bounds(self, view: View) -> list[Bounds]:
        """Of each source: NOTHING where nothing is known of it; EVERYTHING of all while any number is infinite."""
        if not self.count:
            return []
        with np.errstate(invalid="ignore"):
            pool = np.concatenate([*self._now(view), *self._ranged(view)])
        if np.isinf(pool).any():
            return [EVERYTHING] * self.count
        parts = pool[self.summed]
        sums = np.bincount(self.into, np.where(np.isnan(parts), 0.0, parts), self.sums)
        pool = np.concatenate((pool, sums, (np.nan,)))
        most = MOST.reduceat(pool[self.highs], self.starts) * self.factors
        least = np.where(self.apart, -most, LEAST.reduceat(pool[self.lows], self.starts))
        found = zip(least.tolist(), most.tolist(), strict=True)
        return [(low, high) if low == low else NOTHING for low, high in found]

    def _now(self, view: View) -> Iterator[Floats]:
        for block in self.now:
            yield view.newest(block.slot).now[block.rows]

    def _ranged(self, view: View) -> Iterator[Floats]:
        for block in self.ranged:
            least, most = block.ends(view.newest(block.slot).frame)
            apart = most - least
            lost = LOST * np.maximum(np.abs(least), np.abs(most))
            yield from (least, most, np.where(apart > 0, apart + lost, apart))


def planned(sources: Sequence[Source], view: View) -> Plan:
    """The plan of these sources, for views of the same series."""
    now, ranged = _blocks(sources, ("now",), view), _blocks(sources, ("within", "apart"), view)
    begin: dict[tuple[str, int], int] = {}
    end = 0
    for names, blocks in ((("now",), now), (("least", "most", "apart"), ranged)):
        for block in blocks.values():
            for name in names:
                begin[name, block.slot], end = end, end + len(block.rows)
    lows, highs, summed, into = [], [], [_NONE], [_NONE]
    sums = 0
    for one in sources:
        at = np.searchsorted((now if one.kind == "now" else ranged)[one.slot].rows, one.rows)
        low, high = (at + begin[name, one.slot] for name in KINDS[one.kind])
        if one.group is not None:
            count = int(np.max(one.group, initial=-1)) + 1
            summed.append(high)
            into.append(one.group + sums)
            low = high = end + sums + np.arange(count)
            sums += count
        lows.append(np.append(UNKNOWN, low))  # so that each has at least one place
        highs.append(np.append(UNKNOWN, high))
    return Plan(
        len(sources),
        tuple(now.values()),
        tuple(ranged.values()),
        np.concatenate(summed),
        np.concatenate(into),
        sums,
        np.concatenate([_NONE, *lows]),
        np.concatenate([_NONE, *highs]),
        np.cumsum([0, *map(len, lows)], dtype=np.intp)[:-1],
        np.array([one.kind == "apart" for one in sources], dtype=bool),
        np.array([one.factor for one in sources]),
    )


KINDS: Mapping[str, tuple[str, str]] = {"now": ("now", "now"), "within": ("least", "most"), "apart": ("apart", "apart")}
"""Which numbers of the pool a source is bounded by, from below and from above."""
_NONE = np.zeros(0, dtype=np.intp)


def _blocks(sources: Sequence[Source], kinds: tuple[str, ...], view: View) -> dict[int, Block]:
    """The rows of each slot that sources of these kinds are of, in order."""
    by_slot: dict[int, list[Source]] = {}
    for one in sources:
        if one.kind in kinds:
            by_slot.setdefault(one.slot, []).append(one)
    found: dict[int, Block] = {}
    for slot, some in by_slot.items():
        rows = np.unique(np.concatenate([one.rows for one in some]))
        series = view.newest(slot).frame.series
        first = {series[row].target: row for row in reversed(rows.tolist())}
        found[slot] = Block(slot, rows, max(one.window_ms for one in some), np.array([*first.values()], dtype=np.intp))
    return found
