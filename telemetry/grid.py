"""Summaries laid out on bins of whole hours, and what follows from several series of one hour together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from telemetry.frame import Bools, Floats, Ints, together
from telemetry.model import Series
from telemetry.places import Places
from telemetry.summary import HOUR_MS, Summaries

TOLERANCE = 0.005
"""Lengths that differ by less are taken as equal: 18 s of an hour, about what a silence leaves open in a sum."""
FEW = 8
"""Along an axis of fewer it is folded column by column; up to there numpy, too, adds one after the other."""


def _blank(name: str) -> float:
    """What stands where nothing is known."""
    return 0.0 if name == "count" else np.nan


class Measure:
    """What a grid says of its hours: laid out when it is asked for, since most answers need half of it."""

    def __init__(self, *, before: str = "") -> None:
        self._before = before
        self._name = ""

    def __set_name__(self, _: type[Grid], name: str) -> None:
        self._name = name

    def __get__(self, grid: Grid, _: type[Grid]) -> Floats:
        name = self._before or self._name
        lay = grid.places.before if self._before else grid.places.laid
        found: Floats = lay(getattr(grid.summaries, name), _blank(name))
        grid.__dict__[self._name] = found  # which is found before this is asked again
        return found


@dataclass(frozen=True)
class Grid:
    """Hours of several series on bins. t_ms: int64[bin], starts. cap_s: float64[bin, hour], length of each hour that is
    over; all others float64[series, bin, hour of the bin], count 0 and NaN where nothing is known, as in `Summaries`.

    before_count, before_last: float64[series, bin], of the hour before the first one of a bin.
    """

    series: tuple[Series, ...]
    t_ms: Ints
    cap_s: Floats
    summaries: Summaries
    places: Places

    count = Measure()
    first = Measure()
    last = Measure()
    minimum = Measure()
    maximum = Measure()
    total = Measure()
    gain = Measure()
    seconds = Measure()
    before_count = Measure(before="count")
    before_last = Measure(before="last")

    def take(self, rows: Sequence[int]) -> Grid:
        """These rows, in this order."""
        if list(rows) == list(range(len(self.series))):
            return self
        chosen = replace(self.places, mine=self.places.mine[np.asarray(rows, dtype=np.intp)])
        return replace(self, series=tuple(self.series[row] for row in rows), places=chosen)


MEASURES = tuple(field.name for field in fields(Summaries) if field.name not in ("hours", "series"))


def lay_out(
    summaries: Summaries, rows: Sequence[int], span: tuple[int, int], bins: tuple[int, int], until_ms: float | None
) -> Grid | None:
    """These rows of the hours that overlap the closed span, in bins (origin, width) of whole hours; None without any.

    The bins run from that of the span's start to the last one in which something is known.
    until_ms: end of what was watched.
    """
    origin, width = bins
    begin = (span[0] - origin) // width * width + origin
    skipped = span[0] // HOUR_MS - begin // HOUR_MS
    counts, hours = summaries.count[list(rows)], summaries.hours
    known = hours[(counts > 0).any(axis=0) & (hours >= span[0] // HOUR_MS * HOUR_MS) & (hours <= span[1])]
    if not len(known):
        return None
    count, per_bin = int((known[-1] - begin) // width) + 1, width // HOUR_MS
    place = (hours - begin) // HOUR_MS + 1  # the first column is the hour before the first bin
    inside = (place >= 0) & (place <= count * per_bin) & (hours <= span[1])
    mine, told = np.array(rows, dtype=np.intp), together(np.flatnonzero(inside))
    places = Places(mine, told, together(place[inside]), count, per_bin, skipped)
    t_ms = begin + np.arange(count, dtype=np.int64) * width
    starts = (begin + np.arange(count * per_bin) * HOUR_MS).reshape(count, per_bin)
    over = np.full(starts.shape, HOUR_MS) if until_ms is None else np.clip(until_ms - starts, 0, HOUR_MS)
    series = tuple(summaries.series[row] for row in rows)
    return Grid(series, t_ms, over / 1000.0, summaries, places)


def least(values: Floats, axis: int = -1) -> Floats:
    """Smallest known value along an axis, NaN where there is none."""
    if values.ndim > 1 and values.shape[axis] < FEW:
        return _by_column(np.fmin, values, axis)
    folded: Floats = np.fmin.reduce(values, axis, keepdims=True).squeeze(axis)
    return folded


def largest(values: Floats, axis: int = -1) -> Floats:
    """Largest known value along an axis, NaN where there is none."""
    if values.ndim > 1 and values.shape[axis] < FEW:
        return _by_column(np.fmax, values, axis)
    folded: Floats = np.fmax.reduce(values, axis, keepdims=True).squeeze(axis)
    return folded


def summed(values: Floats) -> Floats:
    """Sum of what is known along the last axis, 0 where there is nothing."""
    if values.ndim > 1 and values.shape[-1] < FEW:
        return _by_column(np.add, np.where(np.isnan(values), 0.0, values), -1)
    return np.asarray(np.nansum(values, axis=-1))


def _by_column(fold: np.ufunc, values: Floats, axis: int) -> Floats:
    """A fold along a short axis: numpy's own takes ten times as long for each of its beginnings."""
    columns = np.moveaxis(values, axis, 0)
    found: Floats = columns[0].copy()
    for column in columns[1:]:
        fold(found, column, out=found)
    return found


def edge(grid: Grid, name: str, *, newest: bool) -> Floats:
    """A measure of the first or last known hour of each bin: float64[series, bin]."""
    known, values = grid.count > 0, getattr(grid, name)
    hours = known.shape[2]
    if hours < FEW:
        order = range(hours) if newest else range(hours)[::-1]
        found: Floats = values[:, :, order[-1]].copy()
        for hour in order:
            np.copyto(found, values[:, :, hour], where=known[:, :, hour])
        return found
    place = hours - 1 - np.argmax(known[:, :, ::-1], axis=2) if newest else np.argmax(known, axis=2)
    return np.asarray(np.take_along_axis(values, place[:, :, np.newaxis], axis=2)[:, :, 0])


def divided(above: Floats, below: Floats) -> Floats:
    """above ∕ below, NaN where there is nothing below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


def alike(lengths: Floats) -> Bools:
    """Whether the lengths along the first axis are the same, those that are 0 or unknown aside."""
    known = np.where(lengths > 0, lengths, np.nan)
    if not len(known):
        return np.ones(lengths.shape[1:], dtype=bool)
    high, low = largest(known, 0), least(known, 0)
    return np.asarray(np.isnan(high) | (high - low <= TOLERANCE * high))


def watched(series: Sequence[Series], seconds: Floats, cap_s: Floats) -> tuple[Floats, Bools]:
    """Time of each hour in which any of several series was watched, and whether that is certain.

    seconds: float64[series, bin, hour], length of the known steps of each. Two that were watched for half an hour were
    it together, or one after the other: the time is certain where the longest of them leaves no room for the others.
    """
    known = np.where(seconds > 0, seconds, 0.0)
    longest = known.max(axis=0)
    bound = np.zeros(longest.shape)
    for rows in _of_one_page(series):
        mine = known[rows]
        bound += np.where(alike(mine), mine.max(axis=0), mine.sum(axis=0))
    return longest, longest >= (1 - TOLERANCE) * np.minimum(bound, cap_s)


def _of_one_page(series: Sequence[Series]) -> list[list[int]]:
    """Rows that were watched together where they were it equally long. An engine with another model is another page."""
    rows: dict[tuple[str, str | None], list[int]] = {}
    for row, one in enumerate(series):
        rows.setdefault((one.target, one.label("model")), []).append(row)
    return list(rows.values())


def by_target(series: Sequence[Series]) -> dict[str, list[int]]:
    """Rows of each target."""
    rows: dict[str, list[int]] = {}
    for row, one in enumerate(series):
        rows.setdefault(one.target, []).append(row)
    return rows
