"""The last sample of a series up to an instant, and the first one after it, wherever they are.

Close to the instant every series is looked for at once. What is not found there is looked for in the one hour that has
it, which the summaries tell; hours that have none are asked row by row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from storage import hot, hours, schema, sealed
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

CLOSE_MS = 60_000
"""Most series have a sample so close to any instant."""
NEVER = 2**62


class Point(NamedTuple):
    """A sample: tick, instant, value."""

    tick: int
    at_ms: float
    value: float


Points = dict[int, Point]
"""By number of the series."""


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
        mine = (CHUNK.series == schema.series.c.id, CHUNK.hour >= low, CHUNK.hour <= high, CHUNK.n > 0)
        hour = select(CHUNK.hour).where(*mine).order_by(CHUNK.hour.desc() if back else CHUNK.hour).limit(1)
        query = select(schema.series.c.id, hour.scalar_subquery())
        return {
            number: its
            for some in parts(sorted(series))
            for number, its in self._connection.execute(query.where(schema.series.c.id.in_(some))).all()
            if its is not None
        }

    def _unsealed(self, series: Collection[int], low: int, high: int, *, back: bool) -> list[int]:
        targets = {self.known[number].target for number in series}
        found = hours.unsealed(self._connection, low, high, targets) if targets else []
        return sorted({hour for _, hour in found}, reverse=back)

    def _take(self, found: Points, series: Iterable[int], start: int, end: int, *, newest: bool) -> None:
        """Samples of start ≤ tick ≤ end, of series that were not found yet."""
        left = [number for number in series if number not in found]
        table = self._table(left, start, end) if left and start <= end else None
        if table is not None:
            known = ~np.isnan(table.values)
            rows = np.flatnonzero(np.asarray(known.any(axis=1)))
            at = known.shape[1] - 1 - np.argmax(known[rows, ::-1], axis=1) if newest else np.argmax(known[rows], axis=1)
            samples = (table.ticks[at], table.at_ms[rows, at], table.values[rows, at])
            points = zip(*(one.tolist() for one in samples), strict=True)
            found.update((table.order[row], Point(*one)) for row, one in zip(rows.tolist(), points, strict=True))
        self._take_summary(found, left, start, end, newest=newest)

    def _take_summary(self, found: Points, series: Iterable[int], start: int, end: int, *, newest: bool) -> None:
        """Of hours whose samples are gone, the first or last is left, at the hour's first or last reading."""
        left = [number for number in series if number not in found]
        if not left:
            return
        tick, value = (CLOCK.last_tick, CHUNK.last) if newest else (CLOCK.first_tick, CHUNK.first)
        of = schema.series.c
        clock = (CLOCK.target == of.target) & (CLOCK.hour == CHUNK.hour)
        inside = (CHUNK.hour >= hour_of(start), CLOCK.first_tick >= start, CLOCK.last_tick <= end)
        query = (
            select(CHUNK.series, CHUNK.hour, CLOCK.codec, tick, value)
            .join(schema.series, of.id == CHUNK.series)
            .join(schema.clock, clock)
            .where(*inside, CHUNK.hour <= end, CHUNK.n > 0)
        )
        if not self._damaged:
            query = query.where(CLOCK.codec == FORGOTTEN)
        for some in parts(left):
            for number, hour, codec, at, last in self._connection.execute(query.where(CHUNK.series.in_(some))).all():
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
