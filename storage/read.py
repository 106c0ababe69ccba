"""Questions to the tables, each one short read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, LargeBinary, Select, and_, cast, func, or_, select, true

from storage import schema
from storage.asking import scalars
from storage.clocks import Place
from storage.codec import labels_of, unpack, value_of
from storage.damage import Broken
from storage.errors import StoreBroken
from storage.records import Absence, Command, Commit, Episode, Event, Fact, Offset, Row, TargetRow
from telemetry.model import Series
from telemetry.summary import hour_of

AT_ONCE = 500
"""Values of one IN (…): below every engine's limit of parameters."""
HOT = schema.hot.c
ROW = select(HOT.tick, HOT.target, HOT.at_ms, HOT.layout, cast(HOT.data, LargeBinary)).order_by(HOT.tick, HOT.target)
"""The numbers as bytes: of a text that is damaged the driver would not even say whose it is."""
OFFSETS = select(
    schema.series.c.target,
    schema.series.c.metric,
    schema.series.c.labels,
    schema.offset.c.tick,
    schema.offset.c.offset,
    schema.offset.c.reason,
).join_from(schema.offset, schema.series, schema.offset.c.series == schema.series.c.id)


def commits_after(connection: Connection, sequence: int, limit: int) -> list[Commit]:
    """The commits that follow, oldest first."""
    table = schema.commit_log
    query = select(table).where(table.c.sequence > sequence).order_by(table.c.sequence).limit(limit)
    return [Commit(*found) for found in connection.execute(query)]


def latest_commit(connection: Connection) -> Commit | None:
    """The newest commit."""
    table = schema.commit_log
    found = connection.execute(select(table).order_by(table.c.sequence.desc()).limit(1)).first()
    return None if found is None else Commit(*found)


@dataclass(frozen=True)
class Reader:
    """Makes rows of what stands in the table. width: series of a layout, by its number. broken: told of a damaged row,
    which is left out."""

    width: Callable[[int], int]
    broken: Broken

    def rows(self, connection: Connection, query: Select[Any]) -> list[Row]:
        """Those of a query of ROW."""
        return [row for found in connection.execute(query) if (row := self._row(*found)) is not None]

    def _row(self, tick: int, target: str, at_ms: int, layout: int, data: bytes) -> Row | None:
        try:
            values, wanted = unpack(data), self.width(layout)
            if values.shape != (wanted,):
                raise ValueError(f"{values.size} numbers where the layout says {wanted}")
        except (ValueError, TypeError) as error:
            place = Place("row", target, hour_of(tick))
            self.broken(place, StoreBroken(f"{place} at {tick} is damaged: {error}"))
            return None
        return Row(tick, target, at_ms, layout, values)


def rows(
    connection: Connection,
    reader: Reader,
    ticks: Sequence[int] | None,
    start: int | None,
    end: int | None,
    targets: Sequence[str] | None,
) -> list[Row]:
    """Rows of these ticks, inside start ≤ tick ≤ end, by tick and target."""
    bounds = [HOT.tick >= start if start is not None else true(), HOT.tick <= end if end is not None else true()]
    where = and_(*bounds, among(HOT.target, targets))
    if ticks is None:
        return reader.rows(connection, ROW.where(where))
    chosen = sorted(set(ticks))
    parts = [chosen[low : low + AT_ONCE] for low in range(0, len(chosen), AT_ONCE)]
    return [row for part in parts for row in reader.rows(connection, ROW.where(where, HOT.tick.in_(part)))]


def among(column: ColumnElement[Any], names: Sequence[str] | None) -> ColumnElement[bool]:
    """Condition: one of these names; None is any."""
    return true() if names is None else column.in_(list(names))


RECENT_MS = 60_000
"""Where most targets have their newest row; only for the others is the whole key gone through."""


def last_rows(connection: Connection, reader: Reader, until: int | None = None) -> dict[str, Row]:
    """The newest row of each target, of those up to an instant; the one before it where it is damaged."""
    upto = true() if until is None else HOT.tick <= until
    newest = connection.scalar(select(func.max(HOT.tick)).where(upto))
    if newest is None:
        return {}
    found = _newest(connection, reader, and_(upto, HOT.tick > newest - RECENT_MS))
    known = set(connection.scalars(select(schema.layout.c.target).distinct()))
    if known - found.keys():
        found = _newest(connection, reader, upto) | found
    gone = known - found.keys()  # most have no row any more, which is asked of all at once
    there = select(HOT.target).where(HOT.target.in_(gone), upto).distinct()
    for target in connection.scalars(there).all() if gone else ():
        found.update(_older(connection, reader, and_(upto, HOT.target == target)))
    return found


def _older(connection: Connection, reader: Reader, mine: ColumnElement[bool]) -> dict[str, Row]:
    """The newest row of a target that can be read; none where there is no row of it at all."""
    for tick in connection.scalars(select(HOT.tick).where(mine).order_by(HOT.tick.desc())).all():
        for row in reader.rows(connection, ROW.where(mine, HOT.tick == tick)):
            return {row.target: row}
    return {}


def newest_ticks(connection: Connection) -> dict[str, int]:
    """Tick of the newest row of each target."""
    newest = connection.scalar(select(func.max(HOT.tick)))
    if newest is None:
        return {}
    recent = select(HOT.target, func.max(HOT.tick)).where(HOT.tick > newest - RECENT_MS).group_by(HOT.target)
    found: dict[str, int] = {}
    found.update((target, tick) for target, tick in connection.execute(recent))
    for target in set(connection.scalars(select(schema.layout.c.target).distinct())) - found.keys():
        tick = connection.scalar(select(HOT.tick).where(HOT.target == target).order_by(HOT.tick.desc()).limit(1))
        if tick is not None:
            found[target] = tick
    return found


def _newest(connection: Connection, reader: Reader, where: ColumnElement[bool]) -> dict[str, Row]:
    newest = select(HOT.target, func.max(HOT.tick).label("tick")).where(where).group_by(HOT.target).subquery()
    match = and_(HOT.tick == newest.c.tick, HOT.target == newest.c.target)
    return {row.target: row for row in reader.rows(connection, ROW.join(newest, match))}


def offsets(connection: Connection, start: int, end: int, targets: Sequence[str] | None) -> list[Offset]:
    """Offsets of start ≤ tick ≤ end, oldest first."""
    tick = schema.offset.c.tick
    query = OFFSETS.where(tick >= start, tick <= end, among(schema.series.c.target, targets))
    found = connection.execute(query.order_by(tick, schema.offset.c.series))
    return [
        Offset(target, metric, labels_of(labels), tick, offset, reason)
        for target, metric, labels, tick, offset, reason in found
    ]


def last_offsets(connection: Connection, target: str, until: int | None = None) -> dict[Series, float]:
    """The offset in force of every counter of a target, of those up to an instant."""
    upto = true() if until is None else schema.offset.c.tick <= until
    query = OFFSETS.where(schema.series.c.target == target, upto).order_by(schema.offset.c.tick)
    return {
        Series(target, metric, labels_of(labels)): offset
        for _, metric, labels, _, offset, _ in connection.execute(query)
    }


def open_facts(connection: Connection) -> list[Fact]:
    """Facts that hold until something else is said."""
    return _facts(connection, schema.fact.c.end_ms.is_(None))


def facts(connection: Connection, target: str | None, at_ms: int | None, name: str | None) -> list[Fact]:
    """Facts, all or those true at an instant, by target, name and time."""
    table = schema.fact.c
    conditions = [table.target == target if target is not None else true()]
    conditions.append(table.name == name if name is not None else true())
    if at_ms is not None:
        conditions += [table.start_ms <= at_ms, or_(table.end_ms.is_(None), table.end_ms > at_ms)]
    return _facts(connection, and_(*conditions))


def _facts(connection: Connection, where: ColumnElement[bool]) -> list[Fact]:
    table = schema.fact.c
    query = select(table.target, table.name, table.value, table.start_ms, table.end_ms).where(where)
    return [Fact(*found) for found in connection.execute(query.order_by(table.target, table.name, table.start_ms))]


def absences(connection: Connection, start: int, end: int, target: str | None) -> list[Absence]:
    """Absences that overlap start ≤ t ≤ end, by their start."""
    table = schema.absence.c
    query = select(table.target, table.metric, table.start_ms, table.end_ms, table.reason).where(
        table.start_ms <= end,
        or_(table.end_ms.is_(None), table.end_ms >= start),
        table.target == target if target is not None else true(),
    )
    found = connection.execute(query.order_by(table.start_ms, table.target, table.metric))
    return [Absence(name, metric or None, since, until, reason) for name, metric, since, until, reason in found]


def events(connection: Connection, start: int, end: int, target: str | None, limit: int) -> list[Event]:
    """The newest `limit` events of start ≤ at ≤ end, oldest first."""
    table = schema.event.c
    query = select(schema.event).where(table.at_ms >= start, table.at_ms <= end)
    if target is not None:
        query = query.where(table.target == target)
    found = connection.execute(query.order_by(table.at_ms.desc(), table.id.desc()).limit(limit)).all()
    return [
        Event(number, at, name, kind, text, value_of(labels))
        for number, at, name, kind, text, labels in reversed(found)
    ]


def episodes(connection: Connection, deployment: str, start: int, end: int) -> list[Episode]:
    """Prefill episodes that overlap start ≤ t ≤ end, by their end."""
    table = schema.episode.c
    query = select(schema.episode).where(table.deployment == deployment, table.end_ms >= start, table.start_ms <= end)
    return [Episode(*found) for found in connection.execute(query.order_by(table.end_ms, table.start_ms))]


STEPS = select(schema.target.c.interval_ms).distinct()


def steps_ms(connection: Connection) -> list[int]:
    """The nominal intervals that targets are read with, each once, rising."""
    return sorted(scalars(connection, STEPS))


def targets(connection: Connection) -> list[TargetRow]:
    """Current state of every target, by name."""
    found = connection.execute(select(schema.target).order_by(schema.target.c.name))
    return [TargetRow(**{**row, "detail": value_of(row["detail"])}) for row in found.mappings()]


PENDING = select(schema.command).where(schema.command.c.applied_ms.is_(None)).order_by(schema.command.c.id)


def pending_commands(connection: Connection) -> list[Command]:
    """Commands not yet applied, oldest first."""
    return [
        Command(number, at, kind, value_of(payload), applied, error)
        for number, at, kind, payload, applied, error in connection.execute(PENDING)
    ]


def preference(connection: Connection, key: str) -> Any:
    """A preference, None when it was never set."""
    text = connection.scalar(select(schema.preference.c.value).where(schema.preference.c.key == key))
    return None if text is None else value_of(text)
