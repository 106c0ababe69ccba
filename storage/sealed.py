"""Sealed hours as they stand in the tables: clocks and chunks of a range, read with one query each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, select

from storage import schema
from storage.chunks import FORGOTTEN
from storage.clocks import Decoder, Place, Reading
from storage.layouts import Ids
from storage.plan import Plan
from storage.read import AT_ONCE
from telemetry.frame import Ints
from telemetry.summary import hour_of

CLOCK, CHUNK = schema.clock.c, schema.chunk.c
Blob = tuple[str, float | None, bytes | None]
"""codec, first, data"""


@dataclass(frozen=True)
class Stretch:
    """Readings of one target in one sealed hour, cut to a range.

    count: readings of the whole hour; inside: which of them are in the range. late: rows came since it was sealed.
    """

    target: str
    hour: int
    late: bool
    count: int
    inside: slice
    reading: Reading

    @property
    def whole(self) -> bool:
        """Whether the range holds all of its readings."""
        return self.count == len(self.reading.ticks)


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


def gather(connection: Connection, plan: Plan, start: int, end: int) -> Sealed:
    """Clocks and wanted chunks of the hours that overlap start ≤ tick ≤ end; StoreBroken for a damaged clock."""
    stretches, clean = _clocks(connection, sorted(set(plan.targets)), start, end)
    if not stretches:
        return Sealed((), clean, {})
    wanted = sorted({number for one in stretches for number in present(plan, one.reading.layout)})
    hours = [one.hour for one in stretches]
    return Sealed(stretches, clean, _blobs(connection, wanted, min(hours), max(hours)))


def present(plan: Plan, layouts: Ids) -> Iterable[int]:
    """Numbers of the wanted series that these layouts hold."""
    if not len(layouts):
        return ()
    if (layouts == layouts[0]).all():
        layouts = layouts[:1]
    return {
        number for position in plan.position(np.unique(layouts)).tolist() for number in plan.mine(position).tolist()
    }


def _clocks(
    connection: Connection, targets: Sequence[str], start: int, end: int
) -> tuple[list[Stretch], set[tuple[str, int]]]:
    query = select(CLOCK.target, CLOCK.hour, CLOCK.late, CLOCK.n, CLOCK.codec, CLOCK.data).where(
        CLOCK.hour >= hour_of(start), CLOCK.hour <= end
    )
    decoder, clean, stretches = Decoder(), set[tuple[str, int]](), []
    for names in parts(targets):
        for target, hour, late, count, codec, data in connection.execute(query.where(CLOCK.target.in_(names))):
            if not late:
                clean.add((target, hour))
            if codec == FORGOTTEN:
                continue
            reading = decoder.decode(codec, data, count, Place("clock", target, hour))
            stretch = Stretch(target, hour, bool(late), count, slice(0, count), reading)
            if reading.ticks[0] < start or reading.ticks[-1] > end:
                stretch = _cut(stretch, start, end)
            if len(stretch.reading.ticks):
                stretches.append(stretch)
    return stretches, clean


def _cut(stretch: Stretch, start: int, end: int) -> Stretch:
    reading = stretch.reading
    low, high = np.searchsorted(reading.ticks, [start, end + 1]).tolist()
    inside = slice(low, high)
    return replace(
        stretch, inside=inside, reading=Reading(reading.ticks[inside], reading.at_ms[inside], reading.layout[inside])
    )


def _blobs(connection: Connection, series: Sequence[int], first: int, last: int) -> dict[tuple[int, int], Blob]:
    query = select(CHUNK.series, CHUNK.hour, CHUNK.codec, CHUNK.first, CHUNK.data).where(
        CHUNK.hour >= first, CHUNK.hour <= last
    )
    return {
        (number, hour): (codec, constant, data)
        for some in parts(series)
        for number, hour, codec, constant, data in connection.execute(query.where(CHUNK.series.in_(some)))
    }


def union(ticks: Sequence[Ints]) -> Ints:
    """Rising ticks of several readings; the first of them itself when all are the same."""
    first = ticks[0]
    others = [one for one in ticks[1:] if one is not first and not np.array_equal(one, first)]
    return np.unique(np.concatenate([first, *others])) if others else first
