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
from alerts.present import percentile, present, ratio_of
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
    _seen: dict[object, tuple[Sequence[Key], Floats]] = field(default_factory=dict)
    _last: dict[int, Newest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._frames = [(self.reach_ms, self.frame), *self.further]
        self.memory.begin(self.members, [(reach, frame.series) for reach, frame in self._frames])

    @property
    def ticks(self) -> Ints:
        """The ticks asked for: int64[tick]."""
        return self.frame.ticks[self.first :]

    def keys(self, reading: Reading, place: Place) -> tuple[Key, ...]:
        """The groups of a place that have a reading, which need not be worked out for it where it is of samples."""
        if not of_samples(reading):
            return self.table(reading, place).keys
        return self.grouped(reading, place)[1].keys

    def table(self, reading: Reading, place: Place) -> Table:
        """A reading for every group of a place that has it."""
        key = (name_of(reading), place.name)
        if key not in self._found:
            self._found[key] = self._read(reading, place)
        return self._found[key]

    def values(self, reading: Reading, place: Place, keys: Sequence[Key]) -> Floats:
        """A reading for these instances: float64[instance, tick], NaN where it is unknown. Of all who ask for the same:
        not to be written into."""
        key = (name_of(reading), place.name, id(keys))
        if key not in self._seen:
            self._seen[key] = (keys, self._values(reading, place, keys))  # so that no others have their identity
        return self._seen[key][1]

    def _values(self, reading: Reading, place: Place, keys: Sequence[Key]) -> Floats:
        table = self.table(reading, place)
        if not len(table.keys):
            return np.full((len(keys), len(self.ticks)), np.nan)
        name = ("rows", name_of(reading), place.name, id(table.keys), id(keys))
        rows = self.memory.of(name, (table.keys, keys), lambda: self._rows(table.keys, reading, place, keys))
        if rows is None:
            return table.values
        found = table.values[rows]
        found[rows < 0] = np.nan
        return found

    def _rows(self, groups: Sequence[Key], reading: Reading, place: Place, keys: Sequence[Key]) -> Ints | None:
        """The row of a table for each instance, −1 where it has none; None where they are the same, one by one."""
        index = {key: row for row, key in enumerate(groups)}
        seen = (seen_from(key, place, reading.metric, self.members) for key in keys)
        rows = np.array([-1 if group is None else index.get(group, -1) for group in seen], dtype=np.int64)
        return None if np.array_equal(rows, np.arange(len(groups))) else rows

    def _read(self, reading: Reading, place: Place) -> Table:
        if reading.metric.name in GIVEN:
            return self._given(reading, place)
        count, name = len(self.ticks), name_of(reading)
        if is_slow(reading):
            key = ("slow", name, place.name, count)
            return self.memory.latest(key, self.slow, lambda: self._slowly(reading, place))
        slot, grouping = self.grouped(reading, place)
        frame = self._frames[slot][1]
        if not len(grouping.keys):
            return Table((), np.zeros((0, count)))
        found = self._present(reading, place, slot, grouping) if count == 1 else None
        if found is None:
            found = history(reading, frame.take(grouping.rows.tolist()), grouping, count)
        return Table(grouping.keys, found)

    def _present(self, reading: Reading, place: Place, slot: int, grouping: Grouping) -> Floats | None:
        """At one tick, without the history before; None where that is needed."""
        newest = self.newest(slot)
        if reading.how in QUANTILES:
            return percentile(reading, newest, grouping)
        made = self._quotient(reading, grouping, (name_of(reading), place.name))
        return present(reading, newest, grouping, made)

    def newest(self, slot: int) -> Newest:
        """What the series of a frame say at its last tick. slot: its number."""
        if slot not in self._last:
            self._last[slot] = Newest(self._frames[slot][1], self.memory, slot)
        return self._last[slot]

    def grouped(self, reading: Reading, place: Place) -> tuple[int, Grouping]:
        """Number of the frame that a reading is of, and which of its series speak of which group."""

        def make() -> tuple[int, Grouping]:
            slot = self._slot(reading)
            return slot, grouped(self._frames[slot][1].series, reading, place, self.members)

        return self.memory.of(("groups", name_of(reading), place.name), None, make)

    def _slot(self, reading: Reading) -> int:
        """Number of the shortest frame that a window fits into; of the longest where it fits into none."""
        reach = window_ms(reading)
        fits = (slot for slot, (longest, _) in enumerate(self._frames) if reach <= longest)
        return next(fits, len(self._frames) - 1)

    def _quotient(self, reading: Reading, grouping: Grouping, key: tuple[object, ...]) -> Quotient | None:
        if not isinstance(reading.metric, Ratio) and reading.how != "rate":
            return None
        ratio, _ = ratio_of(reading)
        return self.memory.of(("quotient", *key), None, lambda: quotient(ratio, grouping))

    def _given(self, reading: Reading, place: Place) -> Table:
        metric, count = cast(Metric, reading.metric), len(self.ticks)
        given = self.given.get(metric.name, {})
        owners = tuple(given)
        rows, keys = self.memory.of(
            ("given", metric.name, place.name, owners), None, lambda: self._owners(owners, place, metric)
        )
        every = [_wide(values, count) for values in given.values()]
        if len(rows) == len(keys):  # each for itself
            return Table(keys, np.concatenate(every or [np.zeros(0)]).reshape(len(keys), count))
        found = np.full((len(keys), count), np.nan)
        for row, values in zip(rows, every, strict=True):
            if row is not None:
                np.fmax(found[row], values, out=found[row])
        return Table(keys, found)

    def _owners(self, owners: Sequence[str], place: Place, metric: Metric) -> tuple[list[int | None], tuple[Key, ...]]:
        """The group of each owner as its number, and the groups."""
        numbers: dict[Key, int] = {}
        groups = [group_of(Series(owner, metric.name), place, metric, self.members) for owner in owners]
        rows = [None if group is None else numbers.setdefault(group, len(numbers)) for group in groups]
        return rows, tuple(numbers)

    def _slowly(self, reading: Reading, place: Place) -> Table:
        found, count = self.slow.get((reading, place.name), {}), len(self.ticks)
        keys = self.memory.of(("keys", tuple(found)), None, lambda: tuple(found))
        wide = [_wide(values, count) for values in found.values()]
        return Table(keys, np.array(wide).reshape(len(keys), count))


def of_samples(reading: Reading) -> bool:
    """Whether a reading is worked out of samples at hand."""
    return reading.metric.name not in GIVEN and not is_slow(reading)


def _wide(values: float | Floats, count: int) -> Floats:
    if isinstance(values, np.ndarray) and len(values) == count:
        return values
    return np.broadcast_to(np.asarray(values, dtype=np.float64), count)
