"""Readings of a condition, as arrays of instances × ticks out of frames of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from alerts.expression import QUANTILES, Reading
from alerts.given import GIVEN
from alerts.grouping import Grouping, Memory, Quotient, grouped, name_of, quotient
from alerts.histories import history
from alerts.needs import is_slow, window_ms
from alerts.newest import Newest
from alerts.places import Key, Members, Place, group_of, seen_from
from alerts.present import present, ratio_of
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Metric, Ratio, Series


@dataclass(frozen=True)
class Table:
    """A reading for every group of a place that has it. values: float64[group, tick]."""

    keys: tuple[Key, ...]
    values: Floats


@dataclass
class View:
    """What can be read at some ticks.

    frame: samples up to the last tick, beginning early enough for the windows asked of it.
    first: position of the first tick that is asked for.
    reach_ms: the longest window that `frame` is long enough for. further: (longest window, samples further back) for
    longer ones, the shortest first; each has the ticks asked for at its end.
    given: what no sample says (`alerts.given`): {metric: {owner: float64[tick]}}, at the ticks asked for.
    slow: values of readings with windows over `needs.LONGEST_MS`, which change slowly, alike for all ticks or
    float64[tick]: {(reading, place): {group: value}}.
    facts: {name: {node: value}}, valid now.
    memory: what is kept from one view to the next.
    """

    frame: Frame
    first: int = 0
    members: Members = field(default_factory=Members)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    slow: Mapping[tuple[Reading, str], Mapping[Key, float | Floats]] = field(default_factory=dict)
    reach_ms: int = 2**62
    further: Sequence[tuple[int, Frame]] = ()
    memory: Memory = field(default_factory=Memory)
    _found: dict[object, Table] = field(default_factory=dict)
    _last: dict[int, Newest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._frames = [(self.reach_ms, self.frame), *self.further]
        self.memory.begin(self.members, [frame.series for _, frame in self._frames])

    @property
    def ticks(self) -> Ints:
        """The ticks asked for: int64[tick]."""
        return self.frame.ticks[self.first :]

    def table(self, reading: Reading, place: Place) -> Table:
        """A reading for every group of a place that has it."""
        key = (name_of(reading), place.name)
        if key not in self._found:
            self._found[key] = self._read(reading, place)
        return self._found[key]

    def values(self, reading: Reading, place: Place, keys: Sequence[Key]) -> Floats:
        """A reading for these instances: float64[instance, tick], NaN where it is unknown."""
        table = self.table(reading, place)

        def places() -> Ints:
            index = {key: row for row, key in enumerate(table.keys)}
            seen = (seen_from(key, place, reading.metric, self.members) for key in keys)
            return np.array([-1 if group is None else index.get(group, -1) for group in seen], dtype=np.int64)

        alive = (table.keys, keys)
        rows = self.memory.of(("rows", name_of(reading), place.name, id(table.keys), id(keys)), alive, places)
        if not len(table.keys):
            return np.full((len(keys), len(self.ticks)), np.nan)
        found = table.values[rows]
        found[rows < 0] = np.nan
        return found

    def _read(self, reading: Reading, place: Place) -> Table:
        if reading.metric.name in GIVEN:
            return self._given(reading, place)
        if is_slow(reading):
            return self._table(self.slow.get((reading, place.name), {}))
        slot, frame = self._frame_for(reading)
        name = name_of(reading)
        grouping = self.memory.of(
            ("groups", slot, name, place.name), None, lambda: grouped(frame.series, reading, place, self.members)
        )
        count = len(self.ticks)
        if not len(grouping.keys):
            return Table((), np.zeros((0, count)))
        if count != 1 or reading.how in QUANTILES:
            return Table(grouping.keys, history(reading, frame.take(grouping.rows.tolist()), grouping, count))
        made = self._quotient(reading, grouping, (slot, name, place.name))
        last = self._last.setdefault(slot, Newest(frame))
        return Table(grouping.keys, present(reading, last, grouping, made))

    def _frame_for(self, reading: Reading) -> tuple[int, Frame]:
        """Number and samples of the shortest frame that a window fits into; of the longest where it fits into none."""
        reach = window_ms(reading)
        fits = (slot for slot, (longest, _) in enumerate(self._frames) if reach <= longest)
        slot = next(fits, len(self._frames) - 1)
        return slot, self._frames[slot][1]

    def _quotient(self, reading: Reading, grouping: Grouping, key: tuple[object, ...]) -> Quotient | None:
        if not isinstance(reading.metric, Ratio) and reading.how != "rate":
            return None
        ratio, _ = ratio_of(reading)
        return self.memory.of(("quotient", *key), None, lambda: quotient(ratio, grouping))

    def _given(self, reading: Reading, place: Place) -> Table:
        metric = cast(Metric, reading.metric)
        given = self.given.get(metric.name, {})
        owners = tuple(given)

        def groups() -> list[Key | None]:
            return [group_of(Series(owner, metric.name), place, metric, self.members) for owner in owners]

        found: dict[Key, Floats] = {}
        keys = self.memory.of(("given", metric.name, place.name, owners), None, groups)
        for group, values in zip(keys, given.values(), strict=True):
            if group is not None:
                found[group] = values if group not in found else np.fmax(found[group], values)
        return self._table(found)

    def _table(self, found: Mapping[Key, float | Floats]) -> Table:
        keys = self.memory.of(("keys", tuple(found)), None, lambda: tuple(found))
        count, rows = len(self.ticks), list(found.values())
        if all(isinstance(values, np.ndarray) and len(values) == count for values in rows):
            return Table(keys, np.concatenate(rows or [np.zeros(0)]).reshape(len(rows), count))
        wide = [np.broadcast_to(np.asarray(values, dtype=np.float64), count) for values in rows]
        return Table(keys, np.array(wide).reshape(len(rows), count))
