"""The last sample of a series up to an instant, and the first one after it, wherever they are.

Close to the instant every series is looked for at once. What is not found there is looked for in the one hour that has
it, which the summaries tell; hours that have none are asked row by row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import BindParameter, Connection, Select, bindparam, select

from storage import hot, hours, schema, sealed
from storage.asking import fetched, scalar
from storage.assembly import Table, assemble
from storage.chunks import FORGOTTEN
from storage.clocks import Decoder, Place
from storage.damage import Broken
from storage.dialect import Dialect
from storage.errors import StoreBroken
from storage.layouts import Layouts
from storage.plan import plan_of
from storage.read import HOT
from storage.sealed import CHUNK, CLOCK, parts
from telemetry.model import Series
from telemetry.summary import HOUR_MS, hour_of

VERY_CLOSE_MS, CLOSE_MS = 5_000, 60_000
"""Nearly all series have a sample so close to any instant, and most of the others so close."""
NEVER = 2**62


class Point(NamedTuple):
    """A sample: tick, instant, value."""

    tick: int
    at_ms: float
    value: float


Points = dict[int, Point]
"""By number of the series."""
SERIES = schema.series.c
SOME: BindParameter[Any] = bindparam("some", expanding=True)


def _nearest(*, back: bool) -> Select[Any]:
    """For each series the nearest sealed hour of a range in which it was known."""
    inside = (CHUNK.hour >= bindparam("low"), CHUNK.hour <= bindparam("high"))
    hour = select(CHUNK.hour).where(CHUNK.series == SERIES.id, *inside, CHUNK.n > 0)
    hour = hour.order_by(CHUNK.hour.desc() if back else CHUNK.hour).limit(1)
    return select(SERIES.id, hour.scalar_subquery()).where(SERIES.id.in_(SOME))


def _edges(*, newest: bool) -> Select[Any]:
    """The last or first number of each sealed hour that lies in a range, at the hour's last or first reading."""
    tick, value = (CLOCK.last_tick, CHUNK.last) if newest else (CLOCK.first_tick, CHUNK.first)
    clock = (CLOCK.target == SERIES.target) & (CLOCK.hour == CHUNK.hour)
    return (
        select(CHUNK.series, CHUNK.hour, CLOCK.codec, tick, value)
        .join(schema.series, SERIES.id == CHUNK.series)
        .join(schema.clock, clock)
        .where(CHUNK.hour >= bindparam("first"), CLOCK.first_tick >= bindparam("start"))
        .where(CLOCK.last_tick <= bindparam("end"), CHUNK.hour <= bindparam("end"))
        .where(CHUNK.n > 0, CHUNK.series.in_(SOME))
    )


NEAREST = {back: _nearest(back=back) for back in (False, True)}
EDGES = {newest: _edges(newest=newest) for newest in (False, True)}
FORGOTTEN_EDGES = {newest: query.where(CLOCK.codec == FORGOTTEN) for newest, query in EDGES.items()}
"""Questions that are asked again and again are put together once."""


class Search:
    """Looks for samples in one state of the database."""

    def __init__(self, connection: Connection, dialect: Dialect, layouts: Layouts, broken: Broken) -> None:
        layouts.refresh(connection)
        self._connection = connection
        self._dialect = dialect
        self._layouts = layouts
        self._broken = broken
        self._damaged: set[tuple[Series | str, int]] = set()
        self.known: Mapping[int, Series] = layouts.series()

    def last(self, series: Collection[int], end: int) -> Points:
        """The last known sample of each series with tick ≤ end."""
        hour = hour_of(end)
        close = max(hour, end - CLOSE_MS + 1)
        found: Points = {}
        self._take_samples(found, series, max(close, end - VERY_CLOSE_MS + 1), end, newest=True)
        for low in (close, hour):
            self._take(found, series, low, end, newest=True)
        self._far(found, series, hour - HOUR_MS, -NEVER)
        return found

    def first(self, series: Collection[int], after: int, end: int) -> Points:
        """The first known sample of each series with after < tick ≤ end."""
        hour = hour_of(after)
        found: Points = {}
        self._take(found, series, after + 1, min(end, hour + HOUR_MS - 1), newest=False)
        self._far(found, series, hour + HOUR_MS, end)
        return {number: point for number, point in found.items() if point.tick <= end}

    def _far(self, found: Points, series: Collection[int], begin: int, end: int) -> None:
        """Whole hours from `begin` on, towards `end`, each series until it is found."""
        back = end < begin
        low, high = (end, begin + HOUR_MS - 1) if back else (begin, end)
        nearest = self._nearest(set(series) - found.keys(), low, high, back=back)
        for hour in self._unsealed(set(series) - found.keys(), low, high, back=back):
            some = [one for one in series if one not in nearest or not _beyond(hour, nearest[one], back=back)]
            if not back:
                self._take_begin(found, some, hour)
            self._take(found, some, hour, hour + HOUR_MS - 1, newest=back)
        left = {number: hour for number, hour in nearest.items() if number not in found}
        while left:
            for hour in set(left.values()):
                some = [number for number, its in left.items() if its == hour]
                self._take(found, some, hour, hour + HOUR_MS - 1, newest=back)
            # An hour may hold nothing but zeros from before a first use; then the next one is asked.
            left = self._further({number: hour for number, hour in left.items() if number not in found}, back=back)

    def _further(self, hours_: Mapping[int, int], *, back: bool) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, hour in hours_.items():
            low, high = (-NEVER, hour - 1) if back else (hour + 1, NEVER)
            found |= self._nearest([number], low, high, back=back)
        return found

    def _nearest(self, series: Iterable[int], low: int, high: int, *, back: bool) -> dict[int, int]:
        """For each series the nearest sealed hour in low ≤ hour ≤ high in which it was known."""
        asked = {"low": low, "high": high}
        return {
            number: its
            for some in parts(sorted(series))
            for number, its in fetched(self._connection, NEAREST[back], {**asked, "some": some})
            if its is not None
        }

    def _unsealed(self, series: Collection[int], low: int, high: int, *, back: bool) -> list[int]:
        targets = {self.known[number].target for number in series}
        found = hours.unsealed_of(self._connection, low, high, targets) if targets else []
        return sorted(found, reverse=back)

    def _take_begin(self, found: Points, series: Iterable[int], hour: int) -> None:
        """Samples close to the first row of an hour, which is mostly as long as its target has been read."""
        last = hour + HOUR_MS - 1
        first = scalar(self._connection, hours.FIRST_ROW, {"first": hour, "last": last})
        if first is not None:
            self._take_samples(found, series, hour, min(first + VERY_CLOSE_MS, last), newest=False)

    def _take(self, found: Points, series: Collection[int], start: int, end: int, *, newest: bool) -> None:
        """Samples of start ≤ tick ≤ end, of series that were not found yet."""
        self._take_samples(found, series, start, end, newest=newest)
        self._take_summary(found, series, start, end, newest=newest)

    def _take_samples(self, found: Points, series: Iterable[int], start: int, end: int, *, newest: bool) -> None:
        """The same, but of hours whose samples are gone."""
        left = [number for number in series if number not in found]
        table = self._table(left, start, end) if left and start <= end else None
        if table is not None:
            known = ~np.isnan(table.values)
            rows = np.flatnonzero(np.asarray(known.any(axis=1)))
            at = known.shape[1] - 1 - np.argmax(known[rows, ::-1], axis=1) if newest else np.argmax(known[rows], axis=1)
            samples = (table.ticks[at], table.at_ms[rows, at], table.values[rows, at])
            points = zip(*(one.tolist() for one in samples), strict=True)
            found.update((table.order[row], Point(*one)) for row, one in zip(rows.tolist(), points, strict=True))

    def _take_summary(self, found: Points, series: Iterable[int], start: int, end: int, *, newest: bool) -> None:
        """Of hours whose samples are gone, the first or last is left, at the hour's first or last reading."""
        left = [number for number in series if number not in found]
        if not left:
            return
        asked = {"first": hour_of(start), "start": start, "end": end}
        queries = EDGES if self._damaged else FORGOTTEN_EDGES
        for some in parts(left):
            for number, hour, codec, at, last in fetched(self._connection, queries[newest], {**asked, "some": some}):
                if codec == FORGOTTEN or self._is_damaged(number, hour):
                    found[number] = Point(at, float(at), last)

    def _note(self, place: Place, error: StoreBroken) -> None:
        """Of what is damaged, the summary is left, as of what was given up."""
        self._broken(place, error)
        self._damaged.add((place.whose, place.hour))

    def _is_damaged(self, number: int, hour: int) -> bool:
        series = self.known[number]
        return bool({(series, hour), (series.target, hour)} & self._damaged)

    def _table(self, series: Collection[int], start: int, end: int) -> Table | None:
        targets = sorted({self.known[number].target for number in series})
        plan = plan_of(self._layouts, np.array(sorted(series), dtype=np.int64), targets)
        sealed_hours = sealed.gather(self._connection, plan, start, end, self._note)
        pieces = hot.pieces(self._connection, self._dialect, plan, sealed_hours.clean, start, end, self._broken)
        return assemble(plan, self.known, sealed_hours, hot.joined(list(pieces)), self._note)

    def reading(self, target: str, after: int, end: int, *, newest: bool) -> Point | None:
        """The newest or first reading of a target in after < tick ≤ end, whatever it held; its value is 0."""
        order = HOT.tick.desc() if newest else HOT.tick.asc()
        rows = select(HOT.tick, HOT.at_ms).where(HOT.target == target, HOT.tick > after, HOT.tick <= end)
        row = self._connection.execute(rows.order_by(order).limit(1)).first()
        points = [] if row is None else [Point(row.tick, float(row.at_ms), 0.0)]
        inside = (CLOCK.target == target, CLOCK.last_tick > after, CLOCK.first_tick <= end, CLOCK.codec != FORGOTTEN)
        clock = select(CLOCK.hour, CLOCK.n, CLOCK.codec, CLOCK.data).where(*inside)
        order = CLOCK.hour.desc() if newest else CLOCK.hour.asc()
        for hour, count, codec, data in self._connection.execute(clock.order_by(order).limit(1)):
            place = Place("clock", target, hour)
            try:
                reading = Decoder().decode(codec, data, count, place)
            except StoreBroken as error:
                self._note(place, error)
                continue
            own = np.flatnonzero((reading.ticks > after) & (reading.ticks <= end))
            for at in own[-1:] if newest else own[:1]:
                points.append(Point(int(reading.ticks[at]), float(reading.at_ms[at]), 0.0))
        return (max if newest else min)(points, key=lambda one: one.tick, default=None)


def _beyond(hour: int, other: int, *, back: bool) -> bool:
    """Whether an hour lies further away than another."""
    return hour < other if back else hour > other
