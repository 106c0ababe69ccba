"""Sealing: the rows of a target's hour become one clock and a chunk per series, in one short transaction.

Everything that takes time is done before, from rows that are read in slices; the transaction only writes, and only if
nothing happened to the hour meanwhile. So it can be stopped anywhere and repeated: until it is through, the rows are
the hour, and from then on the chunks are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from storage import chunks, clocks, days, history, hot, packing, schema, sealed
from storage.assembly import Table, assemble
from storage.clocks import Reading
from storage.damage import Damage
from storage.database import Database
from storage.hot import Piece
from storage.intervals import stretches
from storage.late import Late
from storage.layouts import Layouts
from storage.plan import Plan, make_plan
from storage.read import HOT
from storage.sealed import CLOCK, Sealed
from storage.summaries import COLUMNS
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries, lead_ms, summarise

SLICE_MS = 300_000
"""Rows read in one transaction."""
TRIES = 3
"""So often an hour is prepared anew when rows came for it meanwhile."""
Values = dict[str, Any]
State = tuple[int, int, str] | None
"""Of a clock: late, n, codec; None while the hour is not sealed."""


@dataclass(frozen=True)
class Before:
    """What was found before anything was worked out: state of the clock, newest commit, plan, and sealed hours."""

    state: State
    sequence: int
    plan: Plan
    known: Mapping[int, Series]
    start: int
    hours: Sealed


class Sealer:
    """Seals target-hours of one store. family: what chunks are written in, see `storage.chunks`."""

    def __init__(self, database: Database, layouts: Layouts, late: Late, family: str, damage: Damage) -> None:
        self._database = database
        self._layouts = layouts
        self._late = late
        self._family = family
        self._damage = damage
        self._upsert = {table.name: database.dialect.upsert(table) for table in (schema.clock, schema.chunk)}

    def seal(self, target: str, hour: int, now_ms: int) -> bool:
        """Seal an hour that is over, with what came late for it; False when there is nothing to seal, or not yet."""
        if hour % HOUR_MS or now_ms < hour + HOUR_MS:
            return False
        for _ in range(TRIES):
            before = self._look(target, hour)
            if _is_done(before, hour):
                return False
            rows = self._rows(before, target, hour)
            reading = _reading(before, rows, hour)
            if not len(reading.ticks):
                return False
            clock, lines = self._prepared(before, rows, reading, target, hour)
            if self._write(before, clock, lines):
                return True
        return False

    def _look(self, target: str, hour: int) -> Before:
        with self._database.reading() as connection:
            sequence = connection.scalar(select(func.max(schema.commit_log.c.sequence))) or 0
            self._layouts.refresh(connection)
            known = self._layouts.series()
            plan = make_plan(self._layouts, known, None, [target])
            start = hour - lead_ms(_longest_gap(connection, target, hour))
            hours = sealed.gather(connection, plan, start, hour + HOUR_MS - 1, self._damage.before(hour))
            return Before(_state(connection, target, hour), sequence, plan, known, start, hours)

    def _rows(self, before: Before, target: str, hour: int) -> Piece:
        """The rows of the hour and of what leads to it, each slice in a transaction of its own."""
        found: list[Piece] = []
        at: int | None = before.start
        while at is not None:
            with self._database.reading() as connection:
                at = connection.scalar(hot.FIRST.where(HOT.target == target, HOT.tick >= at, HOT.tick < hour + HOUR_MS))
                if at is not None:
                    stop = min(at + SLICE_MS, hour + HOUR_MS)
                    dialect, clean = self._database.dialect, before.hours.clean
                    broken = self._damage.before(hour)
                    found += hot.pieces(connection, dialect, before.plan, clean, at, stop - 1, broken)
                    at = stop
        return hot.joined(found)

    def _prepared(
        self, before: Before, rows: Piece, reading: Reading, target: str, hour: int
    ) -> tuple[Values, list[Values]]:
        """The row of `clock` and those of `chunk`."""
        clock = {
            "target": target,
            "hour": hour,
            "n": len(reading.ticks),
            "first_tick": int(reading.ticks[0]),
            "last_tick": int(reading.ticks[-1]),
            "late": 0,
            "codec": self._family,
            "data": clocks.encode(reading, self._family),
        }
        table = assemble(before.plan, before.known, before.hours, rows, self._damage.before(hour))
        if table is None:
            return clock, []
        present = set(sealed.present(before.plan, reading.layout))
        mine = [row for row, number in enumerate(table.order) if number in present]
        inside = table.ticks >= hour
        blobs = [chunks.encode(table.values[row][inside], self._family) for row in mine]
        found = self._summaries(before, table, hour)
        filling = packing.order([len(data or b"") for _, data in blobs])
        return clock, [
            {
                "series": table.order[row],
                "hour": hour,
                **summary_row(found, row),
                "codec": codec,
                "data": data,
            }
            for row, (codec, data) in ((mine[place], blobs[place]) for place in filling)
        ]

    def _summaries(self, before: Before, table: Table, hour: int) -> Summaries:
        with self._database.reading() as connection:
            frame = history.framed(connection, table, before.known)
        return summarise(frame, [hour])

    def _write(self, before: Before, clock: Values, lines: Sequence[Values]) -> bool:
        """Write it, unless rows came for it, or for what leads to it, or somebody else sealed it, since `before`."""
        self._late.raise_to(clock["hour"] + HOUR_MS)
        with self._database.writing() as connection:
            state = _state(connection, clock["target"], clock["hour"])
            if state != before.state or _touched(connection, before, clock["hour"] + HOUR_MS):
                return False
            if lines:
                connection.execute(self._upsert["chunk"], list(lines))
            connection.execute(self._upsert["clock"], clock)
            days.mark(connection, self._database.dialect, clock["target"], clock["hour"])
        return True


def _longest_gap(connection: Connection, target: str, hour: int) -> float:
    """What is a gap of a target, now or in the hour: it may have been read more rarely then."""
    other = stretches(connection, [target], hour, hour + HOUR_MS - 1).get(target, ())
    return max([float(history.gaps(connection, [target])[0]), *(told for _, _, told, _ in other)])


def _is_done(before: Before, hour: int) -> bool:
    """Whether the hour is sealed with all its rows, or given up: a summary of what is left of it would be wrong."""
    if before.state is None:
        return False
    late, _, codec = before.state
    given_up = (blob[0] == chunks.FORGOTTEN for (_, at), blob in before.hours.blobs.items() if at == hour)
    return not late or codec == chunks.FORGOTTEN or any(given_up)


def _state(connection: Connection, target: str, hour: int) -> State:
    query = select(CLOCK.late, CLOCK.n, CLOCK.codec).where(CLOCK.target == target, CLOCK.hour == hour)
    found = connection.execute(query).first()
    return None if found is None else (found.late, found.n, found.codec)


def _touched(connection: Connection, before: Before, end: int) -> bool:
    """Whether a later commit may hold rows of the hour that ends here, or of what leads to it."""
    log = schema.commit_log.c
    overlaps = (log.first_tick < end, log.last_tick >= before.start)
    found = connection.execute(select(log.sequence).where(log.sequence > before.sequence, *overlaps).limit(1))
    return found.first() is not None


def _reading(before: Before, rows: Piece, hour: int) -> Reading:
    """Readings of the hour, sealed ones before rows of the same tick."""
    old = [one.reading for one in before.hours.stretches if one.hour == hour]
    inside = rows.ticks >= hour
    ticks = np.concatenate([*(one.ticks for one in old), rows.ticks[inside]])
    at_ms = np.concatenate([*(one.at_ms for one in old), rows.at_ms[inside].astype(np.int64)])
    layout = np.concatenate([*(one.layout for one in old), before.plan.layouts[rows.layout[inside]]])
    ticks, first = np.unique(ticks, return_index=True)
    return Reading(ticks, at_ms[first] - ticks, layout[first])


def summary_row(found: Summaries, row: int) -> Values:
    """Columns of `chunk` that tell a series' only hour, NULL where unknown."""
    values = {column: float(getattr(found, name)[row, 0]) for column, name in COLUMNS.items()}
    return {column: None if np.isnan(value) else value for column, value in values.items()} | {"n": int(values["n"])}
