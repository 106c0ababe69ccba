"""Which numbers of which rows a question wants, worked out once from the layouts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from storage.layouts import Ids, Layouts
from telemetry.frame import Ints
from telemetry.model import Series
from telemetry.wanted import Some

Wanted = Callable[[Series], bool] | Collection[str] | None
"""A test of a series, or names of metrics; None is every series, and every target even if it has none."""


@dataclass(frozen=True)
class Plan:
    """Which numbers of which rows are wanted. Arrays of layouts are in the order of `layouts`."""

    layouts: Ids  # int64[layout], rising
    targets: tuple[str, ...]  # of each layout
    width: Ints  # numbers that a row of this layout sends, 0 where none is wanted
    count: Ints  # numbers that are wanted of it
    begin: Ints  # where its own begin in the next two
    columns: Ints  # places in the row
    series: Ids  # numbers of the series that stand there

    def mine(self, layout: int) -> Ids:
        """Series wanted of the layout at this position."""
        return self.series[self.begin[layout] : self.begin[layout] + self.count[layout]]

    def position(self, numbers: Ids) -> Ints:
        """Positions of layouts in `layouts`, which holds every layout of the targets concerned."""
        return np.asarray(np.searchsorted(self.layouts, numbers), dtype=np.int64)


def make_plan(layouts: Layouts, known: Mapping[int, Series], wanted: Wanted, targets: Sequence[str] | None) -> Plan:
    """What to read. Other layouts of the targets concerned are in it too: their rows say when a target was read."""
    return plan_of(layouts, _numbers(layouts, known, wanted), targets, whole=wanted is None)


def plan_of(layouts: Layouts, ids: Ids, targets: Sequence[str] | None, *, whole: bool = False) -> Plan:
    """A plan for series of these numbers. whole: all of the targets are concerned, with such a series or not."""
    all_of = layouts.columns()
    asked = all_of.of(targets)
    wanted = np.zeros(1 + int(max(np.max(all_of.series, initial=0), np.max(ids, initial=0))), dtype=bool)
    wanted[ids] = True
    found = np.flatnonzero(wanted[all_of.series])
    found = found[asked[all_of.owner[found]]]
    count = np.bincount(all_of.owner[found], minlength=len(all_of.numbers)).astype(np.int64)
    concerned = np.zeros(len(all_of.targets), dtype=bool)
    concerned[all_of.target if whole else all_of.target[count > 0]] = True
    kept = np.flatnonzero(asked & concerned[all_of.target])
    count, width = count[kept], all_of.width[kept]
    return Plan(
        layouts=all_of.numbers[kept],
        targets=tuple(all_of.targets[place] for place in all_of.target[kept].tolist()),
        width=np.where(count > 0, width, 0),
        count=count,
        begin=np.cumsum(count) - count,
        columns=all_of.column[found],
        series=all_of.series[found],
    )


def _numbers(layouts: Layouts, known: Mapping[int, Series], wanted: Wanted) -> Ids:
    if wanted is not None and not callable(wanted):
        return np.array([number for number in layouts.of_metrics(wanted) if number in known], dtype=np.int64)
    if isinstance(wanted, Some):
        some = layouts.of_metrics(wanted.metrics)
        return np.array([number for number in some if number in known and wanted.test(known[number])], dtype=np.int64)
    found = [number for number, series in known.items() if wanted is None or wanted(series)]
    return np.array(found, dtype=np.int64)


def runs(begin: Ints, count: Ints) -> Ints:
    """begin[0], begin[0]+1, … (count[0] of them), begin[1], …"""
    done = np.cumsum(count) - count
    return np.repeat(begin - done, count) + np.arange(int(count.sum()))
