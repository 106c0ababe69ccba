"""Readings of a condition, as arrays of instances × ticks out of a frame of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt

from alerts.expression import QUANTILES, Reading
from alerts.given import GIVEN
from alerts.needs import is_slow, stored, window_ms
from alerts.places import Key, Members, Place, group_of, seen_from
from telemetry import ratios
from telemetry.counters import trailing_increase
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Fold, Metric, Ratio, Series
from telemetry.percentiles import Labels, percentiles
from telemetry.rates import rate

Groups = dict[Key, Floats]


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
    """

    frame: Frame
    first: int = 0
    members: Members = field(default_factory=Members)
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    slow: Mapping[tuple[Reading, str], Mapping[Key, float | Floats]] = field(default_factory=dict)
    reach_ms: int = 2**62
    further: Sequence[tuple[int, Frame]] = ()
    _found: dict[tuple[Reading, str], Groups] = field(default_factory=dict)
    _rows: dict[int, dict[str, list[int]]] = field(default_factory=dict)

    @property
    def ticks(self) -> Ints:
        """The ticks asked for: int64[tick]."""
        return self.frame.ticks[self.first :]

    def groups(self, reading: Reading, place: Place) -> Groups:
        """A reading for every group of a place that has it: float64[tick] each."""
        key = (reading, place.name)
        if key not in self._found:
            self._found[key] = self._read(reading, place)
        return self._found[key]

    def values(self, reading: Reading, place: Place, keys: Sequence[Key]) -> Floats:
        """A reading for these instances: float64[instance, tick], NaN where it is unknown."""
        found = self.groups(reading, place)
        unknown = np.full(len(self.ticks), np.nan)
        seen = (seen_from(key, place, reading.metric, self.members) for key in keys)
        rows = [unknown if group is None else found.get(group, unknown) for group in seen]
        return np.array(rows) if rows else np.zeros((0, len(self.ticks)))

    def _read(self, reading: Reading, place: Place) -> Groups:
        if reading.metric.name in GIVEN:
            return self._given(reading, place)
        if is_slow(reading):
            given = self.slow.get((reading, place.name), {})
            return {key: np.full(len(self.ticks), value) for key, value in given.items()}
        metric = reading.metric

        def key(series: Series) -> Key | None:
            return group_of(series, place, metric, self.members)

        if isinstance(metric, Ratio):
            over_ms = reading.window_s * 1000 if reading.how == "mean" else None
            return self._cut(ratios.evaluate(metric, self._part(reading), key, over_ms))
        if reading.how in QUANTILES:
            return self._percentiles(reading, metric, key)
        part = self._part(reading)
        if reading.how == "rate":
            return self._cut(ratios.evaluate(rate(metric), part, key, reading.window_s * 1000))
        return self._folded(part, _SERIES[reading.how](part, reading.window_s * 1000), metric, key)

    def _given(self, reading: Reading, place: Place) -> Groups:
        metric = cast(Metric, reading.metric)
        found: Groups = {}
        for owner, values in self.given.get(metric.name, {}).items():
            group = group_of(Series(owner, metric.name), place, metric, self.members)
            if group is not None:
                found[group] = values if group not in found else np.fmax(found[group], values)
        return found

    def _percentiles(self, reading: Reading, metric: Metric, key: Callable[[Series], Key | None]) -> Groups:
        part = self._part(reading)
        rows = [row for row, series in enumerate(part.series) if key(series) is not None]
        group = cast(Callable[[Series], Labels], key)
        inside = slice(len(part.ticks) - len(self.ticks), None)
        found = percentiles(metric, part.take(rows), QUANTILES[reading.how], group, inside)
        return {cast(Key, of): one.values for of, one in found.items()}

    def _part(self, reading: Reading) -> Frame:
        """The series of a reading, as far back as its window needs."""
        reach = window_ms(reading)
        frame = next(
            (one for longest, one in ((self.reach_ms, self.frame), *self.further) if reach <= longest), self.frame
        )
        index = self._rows.setdefault(id(frame), {})
        if not index:
            for row, series in enumerate(frame.series):
                index.setdefault(series.metric, []).append(row)
        rows = sorted(row for name in stored(reading) for row in index.get(name, ()))
        wanted = dict(reading.labels)
        if wanted:
            rows = [
                row for row in rows if all(frame.series[row].label(name) in texts for name, texts in wanted.items())
            ]
        return frame.take(rows)

    def _folded(self, part: Frame, values: Floats, metric: Metric, key: Callable[[Series], Key | None]) -> Groups:
        """Held values of series, folded into groups as the metric folds."""
        held = ratios.hold(values, part.gap_ms, part.ticks.astype(np.float64), ~np.isnan(part.at_ms))
        members: dict[Key, list[int]] = {}
        for row, series in enumerate(part.series):
            group = key(series)
            if group is not None:
                members.setdefault(group, []).append(row)
        ticks, sampled = part.ticks.astype(np.float64), ~np.isnan(part.values)
        return {
            group: self._fold(held[rows], metric.across, ticks, sampled[rows])[-len(self.ticks) :]
            for group, rows in members.items()
        }

    def _fold(self, held: Floats, how: Fold, ticks: Floats, sampled: npt.NDArray[np.bool_]) -> Floats:
        if len(held) == 1:
            return cast(Floats, held[0])
        return ratios.total(held, ticks, sampled) if how is Fold.SUM else fold(held, how)

    def _cut(self, found: Mapping[object, Floats]) -> Groups:
        return {cast(Key, group): values[-len(self.ticks) :] for group, values in found.items() if group is not None}


def _now(part: Frame, _: float) -> Floats:
    return part.values


def _extreme(function: np.ufunc) -> Callable[[Frame, float], Floats]:
    """Largest or smallest known value of each trailing window."""

    def over(part: Frame, window_ms: float) -> Floats:
        low = np.searchsorted(part.ticks, part.ticks - window_ms, side="right")
        pairs = np.column_stack((low, np.arange(1, len(part.ticks) + 1))).ravel()
        padded = np.concatenate((part.values, np.full((len(part.values), 1), np.nan)), axis=1)
        found = function.reduceat(padded, pairs, axis=1)[:, ::2] if len(part.ticks) else part.values
        return np.where(np.isnan(part.at_ms), np.nan, found)

    return over


def _mean(part: Frame, window_ms: float) -> Floats:
    """Mean of the known values of each trailing window."""
    low = np.searchsorted(part.ticks, part.ticks - window_ms, side="right")
    known = ~np.isnan(part.values)
    start = np.zeros((len(part.values), 1))
    sums = np.concatenate((start, np.cumsum(np.where(known, part.values, 0.0), axis=1)), axis=1)
    counts = np.concatenate((start, np.cumsum(known, axis=1)), axis=1)
    count = counts[:, 1:] - counts[:, low]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(known, (sums[:, 1:] - sums[:, low]) / count, np.nan)


def _change(part: Frame, window_ms: float) -> Floats:
    """Value now less the value at the window's start, which must have been watched: unknown where that is a gap."""
    held = ratios.hold(part.values, part.gap_ms, part.ticks.astype(np.float64), ~np.isnan(part.at_ms))
    before = np.searchsorted(part.ticks, part.ticks - window_ms, side="right") - 1
    start = np.where(before >= 0, held[:, np.maximum(before, 0)], np.nan)
    return np.asarray(part.values - start)


_SERIES: Mapping[str, Callable[[Frame, float], Floats]] = {
    "now": _now,
    "min": _extreme(np.fmin),
    "max": _extreme(np.fmax),
    "mean": _mean,
    "change": _change,
    "increase": trailing_increase,
}
