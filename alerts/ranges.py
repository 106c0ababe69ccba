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
from telemetry.frame import Bools, Floats
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
        return Source("apart", slot, rows, grouping.group, abs(metric.scale) / window_s)
    summed = reading.how == "rate" or metric.across is Fold.SUM
    group = grouping.group if summed and not grouping.single else None
    if reading.how in ("increase", "rate", "change"):
        return Source("apart", slot, rows, group, 1.0 / reading.window_s if reading.how == "rate" else 1.0)
    if reading.how == "now":
        return Source("now", slot, rows, group)
    if reading.how in ("min", "max", "mean") and group is None:
        return Source("within", slot, rows)
    return None


@dataclass(frozen=True)
class Plan:
    """How the bounds of many sources are found together, out of a pool of numbers.

    now: (slot, rows) whose values now are in the pool, one after the other. ranged: then those of which the least, the
    largest and how far apart they are follow. summed: places in the pool that are added up, and into which sum; the
    sums follow, and at last one that is unknown. lows, highs: places of what bounds each source, from its start on.
    """

    count: int
    now: Sequence[tuple[int, Numbers]]
    ranged: Sequence[tuple[int, Numbers]]
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
        for slot, rows in self.now:
            yield view.newest(slot).now[rows]

    def _ranged(self, view: View) -> Iterator[Floats]:
        for slot, rows in self.ranged:
            values = view.newest(slot).frame.values[rows]
            least = LEAST.reduce(values, axis=1)
            most = MOST.reduce(values, axis=1)
            apart = most - least
            lost = LOST * np.maximum(np.abs(least), np.abs(most))
            yield from (least, most, np.where(apart > 0, apart + lost, apart))


def planned(sources: Sequence[Source]) -> Plan:
    """The plan of these sources."""
    now, ranged = _union(sources, ("now",)), _union(sources, ("within", "apart"))
    begin: dict[tuple[str, int], int] = {}
    end = 0
    for names, rows_of in ((("now",), now), (("least", "most", "apart"), ranged)):
        for slot, rows in rows_of.items():
            for name in names:
                begin[name, slot], end = end, end + len(rows)
    lows, highs, summed, into = [], [], [_NONE], [_NONE]
    sums = 0
    for one in sources:
        at = np.searchsorted((now if one.kind == "now" else ranged)[one.slot], one.rows)
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
        tuple(now.items()),
        tuple(ranged.items()),
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


def _union(sources: Sequence[Source], kinds: tuple[str, ...]) -> dict[int, Numbers]:
    """The rows of each slot that sources of these kinds are of, in order."""
    found: dict[int, Numbers] = {}
    for one in sources:
        if one.kind in kinds:
            found[one.slot] = np.union1d(found.get(one.slot, _NONE), one.rows)
    return found
