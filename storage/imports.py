"""Hours that come from elsewhere: written as sealed hours, each in one transaction, where nothing stands yet.

What they say about time goes with them as a fact of the hour: at which interval they were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, insert, select, update

from storage import chunks, clocks, days, history, schema
from storage.clocks import Reading
from storage.intervals import INTERVAL_FACT
from storage.late import mark_late
from storage.read import HOT
from storage.records import Offset
from storage.seal import summary_row
from storage.sealed import CHUNK, CLOCK, parts
from storage.store import Store
from telemetry import catalog
from telemetry.counters import NOMINAL_PER_GAP, mark_steps
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Kind, Series
from telemetry.summary import HOUR_MS, hour_of, lead_ms, summarise

FACT, OFFSET = schema.fact.c, schema.offset.c
EVER = -(2**62)
"""Before every tick."""


@dataclass(frozen=True)
class ImportedHour:
    """A target's hour as it will stand in the store.

    ticks: int64[n], rising, all inside the hour. values: float64[series, n], NaN = unknown; counters unwrapped, and at
    each of the offsets their steps. interval_ms: how often the target was read. facts: what held in this hour.
    """

    target: str
    hour: int
    ticks: Ints
    series: tuple[Series, ...]
    values: Floats
    offsets: Sequence[Offset]
    interval_ms: int
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Before:
    """What stands before an hour. tick: the target's last, None where there is none. counters: last (value, offset)."""

    tick: int | None = None
    counters: Mapping[Series, tuple[float, float]] = field(default_factory=dict)


class Imports:
    """The store's door for hours from elsewhere; may be used beside a running collector."""

    def __init__(self, store: Store) -> None:
        self._database, self._layouts = store._database, store._layouts
        self._late, self._family = store._writer._late, store._sealer._family
        dialect = self._database.dialect
        self._upsert = {one.name: dialect.upsert(one) for one in (schema.clock, schema.chunk, schema.offset)}

    def held(self, target: str, start: int, end: int) -> set[int]:
        """Hours of start ≤ hour < end (starts of hours) of which the target has samples or summaries already."""
        with self._database.reading() as connection:
            inside = (CLOCK.target == target, CLOCK.hour >= start, CLOCK.hour < end)
            found = set(connection.scalars(select(CLOCK.hour).where(*inside)))
            return found | _hot_hours(connection, target, start, end)

    def first_after(self, target: str, hour: int) -> int | None:
        """The first hour after this one of which the target has anything."""
        with self._database.reading() as connection:
            later = (CLOCK.target == target, CLOCK.hour > hour)
            sealed = connection.scalar(select(func.min(CLOCK.hour)).where(*later))
            mine = (HOT.target == target, HOT.tick >= hour + HOUR_MS)
            tick = connection.scalar(select(func.min(HOT.tick)).where(*mine))
        found = [one for one in (sealed, None if tick is None else hour_of(tick)) if one is not None]
        return min(found, default=None)

    def before(self, target: str, hour: int) -> Before:
        """Where the target's counters stood at the end of everything that is stored of it before this hour."""
        with self._database.reading() as connection:
            known = self._counters(connection, target)
            sealed, older = (CHUNK.hour < hour, CHUNK.n > 0), (OFFSET.tick < hour,)
            values = _edge(connection, known, CHUNK.series, CHUNK.hour, CHUNK.last, sealed, func.max)
            offsets = _edge(connection, known, OFFSET.series, OFFSET.tick, OFFSET.offset, older, func.max)
            mine = (CLOCK.target == target, CLOCK.hour < hour)
            last = connection.scalar(select(func.max(CLOCK.last_tick)).where(*mine))
            rows = (HOT.target == target, HOT.tick < hour, HOT.tick > (EVER if last is None else last))
            first, newest = connection.execute(select(func.min(HOT.tick), func.max(HOT.tick)).where(*rows)).one()
            if first is not None:
                values |= _known_of(self._frame(connection, target, known, first, hour - 1), -1)
        counters = {one: (value, offsets[one]) for one, value in values.items() if one in offsets}
        return Before(last if newest is None else newest, counters)

    def after(self, target: str, hour: int) -> dict[Series, tuple[float, float]]:
        """(value, offset) of the first number that each of the target's counters has from this hour on."""
        with self._database.reading() as connection:
            known = self._counters(connection, target)
            sealed, later = (CHUNK.hour >= hour, CHUNK.n > 0), (OFFSET.tick >= hour,)
            rows = (HOT.target == target, HOT.tick >= hour)
            first, last = connection.execute(select(func.min(HOT.tick), func.max(HOT.tick)).where(*rows)).one()
            values = {} if first is None else _known_of(self._frame(connection, target, known, first, last), 0)
            values |= _edge(connection, known, CHUNK.series, CHUNK.hour, CHUNK.first, sealed, func.min)
            offsets = _edge(connection, known, OFFSET.series, OFFSET.tick, OFFSET.offset, later, func.min)
        return {one: (value, offsets.get(one, 0.0)) for one, value in values.items()}

    def _counters(self, connection: Connection, target: str) -> dict[int, Series]:
        self._layouts.refresh(connection)
        return {
            number: one for number, one in self._layouts.series().items() if one.target == target and _is_counter(one)
        }

    def _frame(self, connection: Connection, target: str, known: Mapping[int, Series], start: int, end: int) -> Frame:
        wanted = frozenset(known.values()).__contains__
        return history.frame(connection, self._database.dialect, self._layouts, wanted, [target], start, end)

    def write(self, imported: ImportedHour) -> bool:
        """Write an hour, all or nothing; False when the target has something in this hour already.

        ValueError for ticks that are not rising, or not inside the hour.
        """
        hour, ticks = imported.hour, imported.ticks
        inside = len(ticks) and ticks[0] >= hour and ticks[-1] < hour + HOUR_MS and (np.diff(ticks) > 0).all()
        if hour % HOUR_MS or not inside:
            raise ValueError(f"the ticks of the hour {hour} of {imported.target} are not rising inside it")
        clock, lines, offsets = self._prepared(imported)
        self._late.raise_to(hour + HOUR_MS)
        with self._database.writing() as connection:
            if _is_held(connection, imported.target, hour):
                return False
            mark_late(connection, [(imported.target, hour)])
            for name, rows in (("chunk", lines), ("offset", offsets), ("clock", [clock])):
                if rows:
                    connection.execute(self._upsert[name], rows)
            days.mark(connection, self._database.dialect, imported.target, hour)
            for fact, value in {**imported.facts, INTERVAL_FACT: str(imported.interval_ms)}.items():
                _hold(connection, imported.target, fact, value, hour)
        return True

    def _prepared(self, one: ImportedHour) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of `clock`, `chunk` and `offset`."""
        layout = self._layouts.number(one.target, one.series)
        ids = self._layouts.ids((*one.series, *(offset.series for offset in one.offsets)))
        count = len(one.ticks)
        reading = Reading(one.ticks, np.zeros(count, np.int64), np.full(count, layout, dtype=np.int64))
        clock = {
            "target": one.target,
            "hour": one.hour,
            "n": count,
            "first_tick": int(one.ticks[0]),
            "last_tick": int(one.ticks[-1]),
            "late": 0,
            "codec": self._family,
            "data": clocks.encode(reading, self._family),
        }
        blobs = [chunks.encode(np.ascontiguousarray(row), self._family) for row in one.values]
        found = summarise(self._framed(one), [one.hour])
        row_of = {series: row for row, series in enumerate(found.series)}
        lines = [
            {
                "series": ids[series],
                "hour": one.hour,
                **summary_row(found, row_of[series]),
                "codec": codec,
                "data": data,
            }
            for series, (codec, data) in zip(one.series, blobs, strict=True)
        ]
        offsets = [
            {"series": ids[step.series], "tick": step.tick, "offset": step.offset, "reason": step.reason}
            for step in one.offsets
        ]
        return clock, lines, offsets

    def _framed(self, one: ImportedHour) -> Frame:
        """The hour with what leads to it, as it will be read."""
        gap = NOMINAL_PER_GAP * one.interval_ms
        with self._database.reading() as connection:
            wanted = frozenset(one.series).__contains__
            start, end = one.hour - lead_ms(gap), one.hour - 1
            dialect = self._database.dialect
            lead = history.frame(connection, dialect, self._layouts, wanted, [one.target], start, end)
        ticks = np.concatenate((lead.ticks, one.ticks))
        shape, before = (len(one.series), len(ticks)), len(lead.ticks)
        frame = Frame(
            ticks,
            one.series,
            np.full(shape, np.nan),
            np.full(shape, np.nan),
            np.zeros(shape, dtype=bool),
            np.full(len(one.series), gap),
        )
        for row, series in enumerate(one.series):
            old = lead.row(series)
            if old is not None:
                frame.values[row, :before], frame.breaks[row, :before] = lead.values[old], lead.breaks[old]
                frame.at_ms[row, :before] = lead.at_ms[old]
        frame.values[:, before:], frame.at_ms[:, before:] = one.values, one.ticks
        return mark_steps(frame, [(step.series, step.tick, step.reason) for step in one.offsets])


def _hot_hours(connection: Connection, target: str, start: int, end: int) -> set[int]:
    query = select(func.min(HOT.tick)).where(HOT.target == target, HOT.tick < end)
    found: set[int] = set()
    while (tick := connection.scalar(query.where(HOT.tick >= start))) is not None:
        found.add(hour_of(tick))
        start = hour_of(tick) + HOUR_MS
    return found


def _is_held(connection: Connection, target: str, hour: int) -> bool:
    sealed = select(CLOCK.hour).where(CLOCK.target == target, CLOCK.hour == hour)
    return connection.scalar(sealed) is not None or bool(_hot_hours(connection, target, hour, hour + HOUR_MS))


def _is_counter(series: Series) -> bool:
    metric = catalog.find(series.metric)
    return metric is not None and metric.kind is Kind.COUNTER


def _edge(
    connection: Connection, known: Mapping[int, Series], series: Any, at: Any, value: Any, only: Any, edge: Any
) -> dict[Series, float]:
    """The first (func.min) or last (func.max) value of each series, from a table of (series, at, value)."""
    found: dict[Series, float] = {}
    for some in parts(sorted(known)):
        at_edge = select(series.label("one"), edge(at).label("at")).where(series.in_(some), *only).group_by(series)
        chosen = at_edge.subquery()
        query = select(series, value).join(chosen, (chosen.c.one == series) & (chosen.c.at == at))
        found |= {known[number]: last for number, last in connection.execute(query).all() if last is not None}
    return found


def _known_of(frame: Frame, place: int) -> dict[Series, float]:
    """The first (0) or last (-1) number of each series that has one."""
    known = ((series, values[~np.isnan(values)]) for series, values in zip(frame.series, frame.values, strict=True))
    return {series: float(values[place]) for series, values in known if len(values)}


def _hold(connection: Connection, target: str, name: str, value: str, hour: int) -> None:
    """Note what held in an hour; where it held up to its start already, it goes on."""
    mine = (FACT.target == target, FACT.name == name)
    goes_on = (*mine, FACT.value == value, FACT.end_ms == hour)
    done = connection.execute(update(schema.fact).where(*goes_on).values(end_ms=hour + HOUR_MS))
    if not done.rowcount:
        known = connection.scalar(select(FACT.name).where(*mine, FACT.start_ms == hour))
        if known is None:
            row = {"target": target, "name": name, "value": value, "start_ms": hour, "end_ms": hour + HOUR_MS}
            connection.execute(insert(schema.fact), row)
