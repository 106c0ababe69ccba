"""Which series speak of which instance: worked out once for a layout, and kept from tick to tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from alerts import needs
from alerts.expression import Reading
from alerts.places import Key, Members, Place, group_of
from telemetry import ratios
from telemetry.fleet import fold
from telemetry.frame import Bools, Floats
from telemetry.model import Fold, Ratio, Series

Numbers = npt.NDArray[np.intp]
T = TypeVar("T")
MOST = 20_000
"""Things that are remembered; then all begins anew."""


@dataclass(frozen=True)
class Grouping:
    """rows: of a frame that take part. group: number of the group of each. keys: of the groups, in order of number."""

    rows: Numbers
    group: Numbers
    keys: tuple[Key, ...]
    series: tuple[Series, ...]

    @property
    def single(self) -> bool:
        """Whether each group has one row: numbers come in order, so each row is its group."""
        return len(self.rows) == len(self.keys)


@dataclass
class Memory:
    """What views of one collector have in common. Everything in it follows from what it is kept under."""

    layouts: Sequence[tuple[int, tuple[Series, ...]]] = ()
    members: Members | None = None
    _kept: dict[Any, tuple[Any, Any]] = field(default_factory=dict)

    def begin(self, members: Members, layouts: Sequence[tuple[int, tuple[Series, ...]]]) -> None:
        """Before a view of frames: what followed from other series or members is forgotten. layouts: the longest window
        and the series of each."""
        if members != self.members or layouts != self.layouts or len(self._kept) > MOST:
            self._kept.clear()
            self.members, self.layouts = members, layouts

    def of(self, key: Any, alive: Any, make: Callable[[], T]) -> T:
        """What was made under a key, or make it. alive: what must live on, where the key has its identity."""
        known = self._kept.get(key)
        if known is None:
            known = (make(), alive)
            self._kept[key] = known
        return cast(T, known[0])

    def latest(self, key: Any, source: Any, make: Callable[[], T]) -> T:
        """What was made under a key of the same object, or make it: of one object at a time."""
        known = self._kept.get(key)
        if known is None or known[1] is not source:
            known = (make(), source)
            self._kept[key] = known
        return cast(T, known[0])


def name_of(reading: Reading) -> tuple[object, ...]:
    """What tells a reading from others; cheaper than itself."""
    return (reading.metric.name, reading.how, reading.window_s, reading.labels)


def grouped(series: tuple[Series, ...], reading: Reading, place: Place, members: Members) -> Grouping:
    """The series of a frame that a reading is made of, by the groups of a place."""
    names, labels = needs.stored(reading), dict(reading.labels)
    metric = reading.metric
    rows: list[int] = []
    numbers: dict[Key, int] = {}
    group: list[int] = []
    for row, one in enumerate(series):
        if one.metric not in names or not all(one.label(name) in texts for name, texts in labels.items()):
            continue
        key = group_of(one, place, metric, members)
        if key is not None:
            rows.append(row)
            group.append(numbers.setdefault(key, len(numbers)))
    kept = tuple(series[row] for row in rows)
    return Grouping(np.array(rows, dtype=np.intp), np.array(group, dtype=np.intp), tuple(numbers), kept)


def folded(values: Floats, grouping: Grouping, how: Fold, recent: Callable[[], Bools]) -> Floats:
    """One value per group out of one per row: float64[group]. recent: of the rows, see `newest.recent`."""
    group, count = grouping.group, len(grouping.keys)
    if grouping.single:
        return values + 0.0 if how is Fold.SUM else values
    if how is Fold.SUM:
        return summed(values, group, count, recent)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(count))
    ordered = values[order]
    if how in (Fold.MAX, Fold.MIN):
        function = np.fmax if how is Fold.MAX else np.fmin
        return np.asarray(function.reduceat(ordered, starts))
    ends = np.append(starts[1:], len(ordered))
    parts = (ordered[low:high].reshape(-1, 1) for low, high in zip(starts, ends, strict=True))
    return np.array([fold(part, how)[0] for part in parts])


def summed(values: Floats, group: Numbers, count: int, recent: Callable[[], Bools]) -> Floats:
    """Sums like those of `ratios.totals`: unknown while a row that was known lately is not. recent: of the rows."""
    known = ~np.isnan(values)
    some = np.bincount(group, known, count) > 0
    if known.all():
        return np.where(some, np.bincount(group, values, count), np.nan)
    found = np.bincount(group, np.where(known, values, 0.0), count)
    spoiled = np.bincount(group, ~known & recent(), count) > 0
    return np.where(spoiled | ~some, np.nan, found)


@dataclass(frozen=True)
class Side:
    """Terms of one side of a quotient. rows: of the frame; series: of each. gauges: which of them are no counters.

    whole: number of (group, target, metric) of each row, and of (group, target) and group of each of those: where a
    target has one of several metrics without the others, the sum is none.
    """

    rows: Numbers
    series: tuple[Series, ...]
    gauges: Bools
    group: Numbers
    term: Numbers
    member_of: Numbers
    group_of: Numbers
    terms: int


@dataclass(frozen=True)
class Quotient:
    """A ratio over a grouping: its two sides, and the groups that have what it needs."""

    above: Side
    below: Side | None
    groups: Numbers


def quotient(ratio: Ratio, grouping: Grouping) -> Quotient:
    """How a ratio is put together of these series."""
    sides = [frozenset(metric.name for metric in terms) for terms in (ratio.numerator, ratio.denominator)]
    chosen = list(range(len(grouping.series)))
    if ratio.denominator and ratio.numerator[0].scope is ratio.denominator[0].scope:
        both = [{grouping.series[row].target for row in chosen if grouping.series[row].metric in one} for one in sides]
        chosen = [row for row in chosen if grouping.series[row].target in both[0] & both[1]]
    above = _side(grouping, chosen, sides[0])
    below = _side(grouping, chosen, sides[1]) if ratio.denominator else None
    groups = set(above.group.tolist()) if below is None else set(above.group.tolist()) & set(below.group.tolist())
    return Quotient(above, below, np.array(sorted(groups), dtype=np.intp))


def _side(grouping: Grouping, chosen: Sequence[int], names: frozenset[str]) -> Side:
    rows = [row for row in chosen if grouping.series[row].metric in names]
    terms: dict[tuple[int, str, str], int] = {}
    members: dict[tuple[int, str], int] = {}
    term, member_of, group_of_member = [], [], []
    for row in rows:
        one, group = grouping.series[row], int(grouping.group[row])
        if (group, one.target, one.metric) not in terms:
            terms[group, one.target, one.metric] = len(terms)
            if (group, one.target) not in members:
                members[group, one.target] = len(members)
                group_of_member.append(group)
            member_of.append(members[group, one.target])
        term.append(terms[group, one.target, one.metric])
    gauges = [ratios.is_gauge(grouping.series[row].metric) for row in rows]
    return Side(
        grouping.rows[np.array(rows, dtype=np.intp)],
        tuple(grouping.series[row] for row in rows),
        np.array(gauges, dtype=bool),
        grouping.group[np.array(rows, dtype=np.intp)],
        np.array(term, dtype=np.intp),
        np.array(member_of, dtype=np.intp),
        np.array(group_of_member, dtype=np.intp),
        len(names),
    )


def partial(side: Side, known: Bools, count: int) -> Bools:
    """Groups in which a target has some of a side's metrics without the others: bool[group]."""
    here = np.bincount(side.term, known, len(side.member_of)) > 0
    have = np.bincount(side.member_of, here, len(side.group_of))
    return np.asarray(np.bincount(side.group_of, (have > 0) & (have < side.terms), count) > 0)
