"""Sealed hours as they stand in the tables: clocks and chunks of a range, read with one query each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, select
from sqlalchemy.exc import DatabaseError

from storage import edition, schema
from storage.asking import failure, fetched
from storage.chunks import FORGOTTEN, UNREADABLE
from storage.clocks import Decoder, Place, Reading
from storage.damage import Broken, refused
from storage.errors import StoreBroken
from storage.layouts import Ids
from storage.plan import Plan
from storage.read import AT_ONCE
from storage.remembered import Head, Remembered, shared
from telemetry.frame import Ints
from telemetry.summary import HOUR_MS, hour_of

CLOCK, CHUNK = schema.clock.c, schema.chunk.c
Blob = tuple[str, float | None, bytes | None]
"""codec, first, data"""
Clock = tuple[str, int, int, int, str, bytes | None]
"""target, hour, late, n, codec, data"""


class Stretch(NamedTuple):
    """Readings of one target in one sealed hour, cut to a range.

    readings: of the whole hour; inside: which of them are in the range. late: rows came since it was sealed.
    present: numbers of the wanted series that were on the page.
    """

    target: str
    hour: int
    late: bool
    readings: int
    inside: slice
    reading: Reading
    present: Collection[int]

    @property
    def whole(self) -> bool:
        """Whether the range holds all of its readings."""
        return self.readings == len(self.reading.ticks)


@dataclass(frozen=True)
class Sealed:
    """What a range holds of sealed hours. clean: target-hours whose rows need not be looked at, forgotten ones too.

    blobs: by (series, hour), of the series that are wanted.
    """

    stretches: Sequence[Stretch]
    clean: Collection[tuple[str, int]]
    blobs: Mapping[tuple[int, int], Blob]


def parts(values: Sequence[int | str]) -> Iterator[Sequence[int | str]]:
    """The values in portions that fit into one question."""
    return (values[low : low + AT_ONCE] for low in range(0, len(values), AT_ONCE))


def gather(connection: Connection, plan: Plan, start: int, end: int, broken: Broken = refused) -> Sealed:
    """Clocks and wanted chunks of the hours that overlap start ≤ tick ≤ end.

    broken: told of a damaged clock; where it returns, the hour is read from such rows as are left of it.
    """
    (found,) = gather_all(connection, plan, [(start, end)], broken)
    return found


def gather_all(
    connection: Connection,
    plan: Plan,
    ranges: Sequence[tuple[int, int]],
    broken: Broken = refused,
    remembered: Remembered | None = None,
) -> list[Sealed]:
    """`gather` of each of several closed ranges, which follow each other, with as many questions as of one.

    remembered: for readings without lags, from there what it has.
    """
    clean, cuts = set[tuple[str, int]](), _Cuts(plan, ranges)
    names, begin, end = sorted(set(plan.targets)), ranges[0][0], ranges[-1][1]
    if remembered is None:
        known = _readings(_clocks(connection, names, begin, end), Decoder(), broken)
    else:
        known = _known(connection, names, begin, end, remembered, broken)
    for target, hour, late, reading in known:
        if not late:
            clean.add((target, hour))
        if reading is not None:
            cuts.add(target, hour, late, reading)
    every = [one for stretches in cuts.stretches for one in stretches]
    if not every:
        return [Sealed((), clean, {}) for _ in ranges]
    wanted = sorted(set[int]().union(*(one.present for one in every)))
    hours = [one.hour for one in every]
    found = blobs(connection, wanted, min(hours), max(hours))
    return [Sealed(stretches, clean, found) for stretches in cuts.stretches]


CLOCKS = select(CLOCK.target, CLOCK.hour, CLOCK.late, CLOCK.n, CLOCK.codec, CLOCK.data).where(
    CLOCK.hour >= bindparam("first"),
    CLOCK.hour <= bindparam("last"),
    CLOCK.target.in_(bindparam("names", expanding=True)),
)
BLOBS = select(CHUNK.series, CHUNK.hour, CHUNK.codec, CHUNK.first, CHUNK.data).where(
    CHUNK.hour >= bindparam("first"),
    CHUNK.hour <= bindparam("last"),
    CHUNK.series.in_(bindparam("some", expanding=True)),
)


HEADS = select(CLOCK.late, CLOCK.target, CLOCK.hour, CLOCK.n, CLOCK.first_tick, CLOCK.last_tick, CLOCK.codec).where(
    CLOCK.hour >= bindparam("first"),
    CLOCK.hour <= bindparam("last"),
    CLOCK.target.in_(bindparam("names", expanding=True)),
)


def _readings(
    clocks: Iterable[Clock], decoder: Decoder, broken: Broken
) -> Iterator[tuple[str, int, int, Reading | None]]:
    """(target, hour, late, reading) of each clock that can be read; None in place of one that was given up."""
    for target, hour, late, count, codec, data in clocks:
        place = Place("clock", target, hour)
        try:
            reading = None if codec == FORGOTTEN else decoder.decode(codec, data, count, place)
        except StoreBroken as error:
            broken(place, error)
        else:
            yield target, hour, late, reading


def _known(
    connection: Connection, names: Sequence[str], start: int, end: int, remembered: Remembered, broken: Broken
) -> Iterator[tuple[str, int, int, Reading | None]]:
    """The same, of which only what is not remembered is read."""
    asked = {"first": hour_of(start), "last": end}
    rows = [row for some in parts(names) for row in fetched(connection, HEADS, {**asked, "names": some})]
    dropped = edition.read(connection).dropped
    heads = {(row[1], row[2]): (row[0], Head._make((*row[1:], dropped))) for row in rows}
    found = {place: remembered.get(head) for place, (_, head) in heads.items() if head.codec != FORGOTTEN}
    hours = [hour for (_, hour), reading in found.items() if reading is None]
    if hours:
        clocks = _clocks(connection, names, min(hours), max(hours))
        wanted = (row for row in clocks if found.get((row[0], row[1]), row) is None)
        fresh, layouts = dict[Head, Reading](), dict[int, tuple[Ints, Ints]]()
        for target, hour, _, reading in _readings(wanted, Decoder(instants=False), broken):
            if reading is not None:
                found[target, hour] = fresh[heads[target, hour][1]] = shared(reading, layouts)
        remembered.put(fresh)
    for (target, hour), (late, head) in heads.items():
        if head.codec == FORGOTTEN or found[target, hour] is not None:
            yield target, hour, late, found.get((target, hour))


def _clocks(connection: Connection, targets: Sequence[str], start: int, end: int) -> Iterator[Clock]:
    for names in parts(targets):
        yield from fetched(connection, CLOCKS, {"first": hour_of(start), "last": end, "names": names})


class _Cuts:
    """Stretches of each of several ranges; what many of them share is worked out once."""

    def __init__(self, plan: Plan, ranges: Sequence[tuple[int, int]]) -> None:
        self.stretches: list[list[Stretch]] = [[] for _ in ranges]
        self._plan = plan
        self._ranges = ranges
        self._of: dict[int, list[tuple[list[Stretch], int, int]]] = {}
        self._present: dict[int, tuple[Ids, Collection[int]]] = {}

    def add(self, target: str, hour: int, late: int, whole: Reading) -> None:
        """Add what a clock holds of the ranges."""
        count = len(whole.ticks)
        for stretches, start, end in self._of.get(hour) or self._overlapping(hour):
            reading, inside = whole, slice(0, count)
            if start > hour or end < hour + HOUR_MS - 1:
                low, high = np.searchsorted(reading.ticks, [start, end + 1]).tolist()
                if low == high:
                    continue
                inside = slice(low, high)
                reading = reading.cut(inside)
            shown = self._shown(reading.layout)
            stretches.append(Stretch(target, hour, bool(late), count, inside, reading, shown))

    def _overlapping(self, hour: int) -> list[tuple[list[Stretch], int, int]]:
        """(its stretches, start, end) of each range that the hour has a part of."""
        of = zip(self.stretches, self._ranges, strict=True)
        self._of[hour] = [(one, start, end) for one, (start, end) in of if start < hour + HOUR_MS and end >= hour]
        return self._of[hour]

    def _shown(self, layout: Ids) -> Collection[int]:
        """Of equal layouts the decoder gives the same array."""
        known = self._present.get(id(layout))
        if known is None:
            known = self._present[id(layout)] = (layout, present(self._plan, layout))
        return known[1]


def present(plan: Plan, layouts: Ids) -> Collection[int]:
    """Numbers of the wanted series that these layouts hold."""
    if len(layouts) and (layouts == layouts[0]).all():
        layouts = layouts[:1]  # nearly every hour has one, which takes a twentieth of the time to see
    return {
        number for position in plan.position(np.unique(layouts)).tolist() for number in plan.mine(position).tolist()
    }


def blobs(connection: Connection, series: Sequence[int], first: int, last: int) -> dict[tuple[int, int], Blob]:
    """Of these series, by (series, hour), in first ≤ hour ≤ last."""
    found: dict[tuple[int, int], Blob] = {}
    for some in parts(series):
        try:
            rows = fetched(connection, BLOBS, {"first": first, "last": last, "some": some})
        except failure(connection):
            found |= _one_by_one(connection, some, first, last)
            continue
        found |= {(number, hour): (codec, constant, data) for number, hour, codec, constant, data in rows}
    return found


def _one_by_one(
    connection: Connection, series: Sequence[int | str], first: int, last: int
) -> Iterator[tuple[tuple[int, int], Blob]]:
    """Where a page of the file is damaged: what else can be read, and of the rest that it cannot."""
    row = select(CHUNK.codec, CHUNK.first, CHUNK.data)
    for number in series:
        for hour in range(first, last + 1, HOUR_MS):
            try:
                found = connection.execute(row.where(CHUNK.series == number, CHUNK.hour == hour)).first()
            except DatabaseError:
                yield (int(number), hour), (UNREADABLE, None, None)
                continue
            if found is not None:
                codec, constant, data = found
                yield (int(number), hour), (codec, constant, data)


def union(ticks: Sequence[Ints]) -> Ints:
    """Rising ticks of several readings; the first of them itself when all are the same."""
    first = ticks[0]
    others = [one for one in ticks[1:] if one is not first and not np.array_equal(one, first)]
    return np.unique(np.concatenate([first, *others])) if others else first
