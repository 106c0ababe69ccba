"""Verifying: every number is read once, each hour in a short transaction of its own, beside a collector that goes on.

What is wrong is named and passed over; nothing is changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import BigInteger, Connection, LargeBinary, Select, cast, func, inspect, select

from storage import days, schema
from storage.codec import unpack
from storage.database import Database
from storage.days import DAY
from storage.errors import StoreBroken, StoreNotReady
from storage.migrations import known_version, version_of
from storage.read import HOT
from storage.sealed import CHUNK, CLOCK, parts
from storage.verify_hour import Fault, Hour, Known

PAUSE_S = 0.002
"""Between two transactions, for whoever else wants the disk and the processor."""
SLICE_MS = 60_000
MOST = 20
"""Faults of one kind that are told when they cannot but be many."""
Progress = Callable[[int, int], None]
"""(target-hours done, of so many)"""
Pause = Callable[[float], None]


@dataclass
class Report:
    """What was looked at, and what was wrong with it."""

    hours: int = 0
    chunks: int = 0
    rows: int = 0
    version: int = schema.VERSION
    """Of the tables, as they were looked at."""
    faults: list[Fault] = field(default_factory=list)


def nobody(_done: int, _of: int) -> None:
    """Progress that nobody wants to know."""


def verify(database: Database, progress: Progress = nobody, pause: Pause = time.sleep) -> Report:
    """Look at everything: the file itself, references, packed rows, clocks, and chunks against their summaries."""
    look = _Look(database, pause)
    look.guarded(look.tables)
    look.guarded(look.file)
    look.guarded(look.references)
    look.guarded(look.rows)
    look.guarded(partial(look.hours, progress))
    look.guarded(look.days)
    return look.report


def verify_at(url: str, progress: Progress = nobody) -> Report:
    """The same of the store at this URL as it stands, also where an older version of this program wrote it.

    StoreNotReady where there is none, StoreNewer where a newer version wrote it, StoreBroken for another program's.
    """
    database = Database(url, writer=False, busy_ms=2000)
    try:
        if known_version(database) is None:
            raise StoreNotReady("the store is empty: start the collector, which prepares it")
        return verify(database, progress)
    finally:
        database.close()


class _Look:
    """One look at a store."""

    def __init__(self, database: Database, pause: Pause) -> None:
        self._database = database
        self._known = Known()
        self._pause = pause
        self._tables = frozenset(schema.tables.tables)
        self.report = Report()

    def guarded(self, part: Callable[[], None]) -> None:
        """What the database itself refuses is a fault of the file; the rest is looked at all the same."""
        try:
            part()
        except StoreBroken as error:
            self._found(Fault("file", str(error)))

    def _found(self, fault: Fault) -> None:
        if fault not in self.report.faults:
            self.report.faults.append(fault)

    def tables(self) -> None:
        """What there is to look at: an older version has fewer tables, those that it has are as they are now."""
        with self._database.reading() as connection:
            self._tables = frozenset(inspect(connection).get_table_names())
            self.report.version = version_of(connection) or schema.VERSION

    def file(self) -> None:
        """What the database says of itself."""
        with self._database.reading() as connection:
            for text in self._database.dialect.faults(connection):
                self._found(Fault("file", text))

    def references(self) -> None:
        """Numbers of series and layouts that something refers to."""
        with self._database.reading() as connection:
            self._known.refresh(connection)
            known = self._known.series
            for number, (target, ids) in self._known.layouts.items():
                for one in sorted(set(ids) - known.keys()):
                    self._found(Fault("layout", f"layout {number} of {target} holds an unknown series: {one}", target))
            for name, column in (("chunk", CHUNK.series), ("offset", schema.offset.c.series), ("day", DAY.series)):
                if name not in self._tables:
                    continue
                used = set(connection.scalars(select(column).distinct()))
                for one in sorted(used - known.keys())[:MOST]:
                    self._found(Fault(name, f"an unknown series has {name}s: {one}"))
            for number, hour in connection.execute(_without_clock()).all() if "chunk" in self._tables else ():
                series = known[number]
                self._found(Fault("chunk", "a chunk without a clock", series.target, series, hour))

    def rows(self) -> None:
        """Packed rows: as many numbers as their layout says."""
        with self._database.reading() as connection:
            at = connection.scalar(select(func.min(HOT.tick, type_=BigInteger)))
            last = connection.scalar(select(func.max(HOT.tick, type_=BigInteger)))
        while at is not None:
            with self._database.reading() as connection:
                for fault in self._rows(connection, at):
                    self._found(fault)
                at = connection.scalar(
                    select(func.min(HOT.tick, type_=BigInteger)).where(HOT.tick >= at + SLICE_MS, HOT.tick <= last)
                )
            self._pause(PAUSE_S)

    def _rows(self, connection: Connection, at: int) -> Iterator[Fault]:
        self._known.refresh(connection)
        query = select(HOT.tick, HOT.target, HOT.layout, cast(HOT.data, LargeBinary))  # also what is no text any more
        for tick, target, number, data in connection.execute(query.where(HOT.tick >= at, HOT.tick < at + SLICE_MS)):
            self.report.rows += 1
            owner, ids = self._known.layouts.get(number, ("", []))
            if owner != target:
                yield Fault("row", f"the row of tick {tick} of {target} has no layout", target)
                continue
            try:
                width = len(unpack(data))
            except (ValueError, TypeError):
                width = -1
            if width != len(ids):
                yield Fault("row", f"the row of tick {tick} of {target} does not fit its layout", target)

    def days(self) -> None:
        """Whether days say what their hours do."""
        if "day" not in self._tables:
            return
        with self._database.reading() as connection:
            found = list(connection.scalars(select(DAY.day).distinct().order_by(DAY.day)))
            numbers = sorted(self._known.series)
        for day in found:
            for some in parts(numbers):
                with self._database.reading() as connection:
                    wrong = list(days.wrong(connection, some, day))
                for number in wrong:
                    series = self._known.series[number]
                    text = f"the day {datetime.fromtimestamp(day / 1000, UTC):%F} of {series.metric} of {series.target}"
                    self._found(Fault("day", f"{text} does not say what its hours do", series.target, series, day))
                self._pause(PAUSE_S)

    def hours(self, progress: Progress) -> None:
        """Clocks and chunks, an hour of a target at a time."""
        if "clock" not in self._tables:
            return
        with self._database.reading() as connection:
            found = connection.execute(select(CLOCK.target, CLOCK.hour).order_by(CLOCK.hour, CLOCK.target)).all()
        for done, (target, hour) in enumerate(found, start=1):
            self.guarded(partial(self._hour, target, hour))
            progress(done, len(found))
            self._pause(PAUSE_S)

    def _hour(self, target: str, hour: int) -> None:
        with self._database.reading() as connection:
            self._known.refresh(connection)
            looked = Hour(connection, self._known, target, hour)
            faults: Sequence[Fault] = list(looked.faults())
        self.report.hours += 1
        self.report.chunks += looked.chunks
        for fault in faults:
            self._found(fault)


def _without_clock() -> Select[int, int]:
    """(series, hour) of chunks in hours of which their target has no clock."""
    series = schema.series
    clock = (CLOCK.target == series.c.target) & (CLOCK.hour == CHUNK.hour)
    joined = schema.chunk.join(series, series.c.id == CHUNK.series).outerjoin(schema.clock, clock)
    return select(CHUNK.series, CHUNK.hour).select_from(joined).where(CLOCK.target.is_(None)).limit(MOST)
