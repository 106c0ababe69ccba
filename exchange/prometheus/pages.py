"""From samples back to pages: what a scrape had on its page at each of its times, as `collectors.scrape` reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from collectors.scrape.layout import Admission, Plan, build, page_of
from collectors.scrape.lines import Line
from collectors.scrape.page import Page
from exchange.prometheus import exporters
from exchange.prometheus.client import Samples
from exchange.prometheus.names import NODE_EXPORTER, derived_line, only, readings
from telemetry.frame import Bools, Floats, Ints

CAP_SERIES = 4000
MOST_PLANS = 500
"""Shapes of a page that are remembered."""
WHOLE_SHARE = 0.9
"""Series of one scrape share its times. Where they share fewer, a series that is missing says nothing."""


class Pages:
    """One scrape's pages, slice after slice. families: names of the metrics that it is asked for.

    chips: hwmon chips and their names.
    """

    def __init__(self, target: str, kind: str, families: frozenset[str], chips: Mapping[str, str]) -> None:
        self._target, self._kind, self._families, self._chips = target, kind, families, chips
        self._lines: list[Line] = [Line("")]
        self._slots: dict[str, int] = {}
        self._plans: dict[bytes, Plan] = {}
        self._admission = Admission(CAP_SERIES)
        self._derived = exporters.NODE_DERIVED if kind == NODE_EXPORTER else ()

    def of(self, samples: Sequence[Samples]) -> Iterator[tuple[int, Page]]:
        """(tick, page) of every time that any of the samples has, in order."""
        if not samples:
            return
        placed = [
            (self._slot(one.line), one.convert(item.values), item)
            for item in samples
            for one in readings(item.labels, self._kind, self._chips)
        ]
        derived = [(one, self._slot(derived_line(one))) for one in self._derived if one.metric.name in self._families]
        ticks = np.unique(np.concatenate([item.t_ms for _, _, item in placed] or [np.zeros(0, np.int64)]))
        values = np.full((len(self._lines), len(ticks)), np.nan)
        present = np.zeros(values.shape, dtype=bool)
        for slot, numbers, item in placed:
            at = np.searchsorted(ticks, item.t_ms)
            values[slot, at], present[slot, at] = numbers, True
        for one, slot in derived:
            self._derive(one, slot, values, present)
        bad_lines = 0 if shares_times(present) else 1
        for column, tick in enumerate(ticks.tolist()):
            plan = self._plan(np.flatnonzero(present[:, column]))
            yield tick, page_of(plan, values[:, column], bad_lines)

    def _slot(self, line: Line) -> int:
        found = self._slots.get(line.identity)
        if found is None:
            found = self._slots[line.identity] = len(self._lines)
            self._lines.append(only(line, self._families))
        return found

    def _derive(self, one: exporters.Derived, slot: int, values: Floats, present: Bools) -> None:
        """Work out a number wherever all that it needs is there; a part that is there but unknown leaves it unknown."""
        factors = {self._slots.get(name): factor for name, factor in one.needed.items()}
        if None in factors:
            return
        there = np.array([present[part] for part in factors if part is not None]).all(axis=0)
        optional = {self._slots[name]: factor for name, factor in one.optional.items() if name in self._slots}
        total = np.zeros(values.shape[1])
        for part, factor in factors.items():
            total += values[part] * factor if part is not None else 0.0
        for part, factor in optional.items():
            total += np.where(present[part], values[part] * factor, 0.0)
        present[slot] = there
        values[slot] = np.where(there, np.maximum(total, 0.0), np.nan)

    def _plan(self, slots: Ints) -> Plan:
        key = slots.tobytes()
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            found = build(self._target, slots.tolist(), self._lines, b"", self._admission, 0, 0)
            self._plans[key] = found
        return found


def shares_times(present: Bools) -> bool:
    """Whether series (bool[series, tick]) have a sample at nearly all times between their first and their last."""
    rows = present[present.any(axis=1)]
    if not len(rows):
        return True
    first = rows.argmax(axis=1)
    last = rows.shape[1] - 1 - rows[:, ::-1].argmax(axis=1)
    return bool(rows.sum() >= WHOLE_SHARE * (last - first + 1).sum())
