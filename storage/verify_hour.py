"""One sealed hour of a target, looked at: its clock, its chunks, and whether the summaries say what the data does."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, Select, func, select
from sqlalchemy.exc import DatabaseError

from storage import chunks, schema, sealed
from storage.chunks import FORGOTTEN
from storage.clocks import Decoder, Place, Reading
from storage.codec import labels_of, value_of
from storage.errors import StoreBroken
from storage.sealed import CHUNK, CLOCK, Blob, parts
from storage.summaries import COLUMNS
from telemetry import catalog
from telemetry.counters import FROM_ZERO
from telemetry.frame import Floats
from telemetry.model import Kind, Series
from telemetry.summary import HOUR_MS

NEAR = 1e-9
"""Sums of the same numbers, added in another order, may differ by so much."""
Row = RowMapping


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it should be. kind: file, layout, offset, row, clock, chunk or day. hour: its start."""

    kind: str
    text: str
    target: str | None = None
    series: Series | None = None
    hour: int | None = None


@dataclass
class Known:
    """Series by number, and layouts: number → (target, numbers of its series). Read anew when there are more."""

    series: dict[int, Series] = field(default_factory=dict)
    layouts: dict[int, tuple[str, list[int]]] = field(default_factory=dict)

    def refresh(self, connection: Connection) -> None:
        """Learn what was registered since."""
        newest = connection.scalar(select(func.max(schema.layout.c.id)))
        if newest is None or newest in self.layouts:
            return
        self.series = {
            number: Series(target, metric, labels_of(labels))
            for number, target, metric, labels in connection.execute(
                select(*(schema.series.c[name] for name in ("id", "target", "metric", "labels")))
            )
        }
        table = schema.layout.c
        self.layouts = {
            number: (target, value_of(ids))
            for number, target, ids in connection.execute(select(table.id, table.target, table.series_ids))
        }


class Hour:
    """An hour as it stands in one state of the database. chunks: how many were decoded."""

    def __init__(self, connection: Connection, known: Known, target: str, hour: int) -> None:
        self._connection = connection
        self._layouts = {number: ids for number, (owner, ids) in known.layouts.items() if owner == target}
        self._known = known.series
        self._target = target
        self._hour = hour
        self.chunks = 0

    def faults(self) -> Iterator[Fault]:
        """Everything that is wrong with it. An hour that was deleted meanwhile, or given up, has nothing to look at."""
        mine = (CLOCK.target == self._target, CLOCK.hour == self._hour)
        clock = self._connection.execute(select(schema.clock).where(*mine)).mappings().first()
        if clock is None or clock["codec"] == FORGOTTEN:
            return
        place = Place("clock", self._target, self._hour)
        try:
            reading = Decoder().decode(clock["codec"], clock["data"], clock["n"], place)
        except StoreBroken as error:
            yield Fault("clock", str(error), self._target, None, self._hour)
            return
        for text in self._clock_faults(clock, reading):
            yield Fault("clock", f"{place} {text}", self._target, None, self._hour)
        yield from self._chunk_faults(clock["n"], self._present(reading))

    def _clock_faults(self, clock: Row, reading: Reading) -> Iterator[str]:
        ticks = reading.ticks
        if not (np.diff(ticks) > 0).all():
            yield "does not rise"
        if np.min(ticks) < self._hour or np.max(ticks) >= self._hour + HOUR_MS:
            yield "holds ticks of another hour"
        if (ticks[0], ticks[-1]) != (clock["first_tick"], clock["last_tick"]):
            yield "begins or ends elsewhere than its row says"
        for number in set(np.unique(reading.layout).tolist()) - self._layouts.keys():
            yield f"refers to a layout that the target does not have: {number}"

    def _present(self, reading: Reading) -> list[int]:
        numbers = set(np.unique(reading.layout).tolist()) & self._layouts.keys()
        return sorted({one for number in numbers for one in self._layouts[number]} & self._known.keys())

    def _chunk_faults(self, count: int, present: list[int]) -> Iterator[Fault]:
        blobs = sealed.blobs(self._connection, present, self._hour, self._hour)
        rows = self._summaries(present)
        from_zero = self._from_zero(present)
        for number in present:
            series = self._known[number]
            place = Place("chunk", series, self._hour)
            text = self._chunk_fault(
                blobs.get((number, self._hour)), rows.get(number), count, place, number in from_zero
            )
            if text:
                yield Fault("chunk", text, self._target, series, self._hour)

    def _chunk_fault(self, blob: Blob | None, row: Row | None, count: int, place: Place, from_zero: bool) -> str:
        """What is wrong with one chunk, "" for nothing."""
        if blob is None:
            return f"{place} is missing"
        codec, first, data = blob
        values = np.empty(count)
        try:
            chunks.decode(codec, data, first, values, place)
        except StoreBroken as error:
            return str(error)
        self.chunks += 1
        if row is None:
            return f"{place} has a summary that cannot be read"
        if codec == FORGOTTEN:  # giving up has begun, and will be finished
            return ""
        wrong = [
            name
            for name, value in expected(values, place.whose, from_zero=from_zero).items()
            if not _is(row[name], value)
        ]
        wrong += _impossible(row)
        return f"{place} does not agree with its summary: {', '.join(wrong)}" if wrong else ""

    def _summaries(self, present: list[int]) -> dict[int, Row]:
        query = select(CHUNK.series, *(CHUNK[name] for name in COLUMNS)).where(CHUNK.hour == self._hour)
        found: dict[int, Row] = {}
        for some in parts(present):
            try:
                rows = self._connection.execute(query.where(CHUNK.series.in_(some))).mappings().all()
            except DatabaseError:
                rows = list(self._one_by_one(query, some))
            found |= {row["series"]: row for row in rows}
        return found

    def _one_by_one(self, query: Select[Any], series: Sequence[int | str]) -> Iterator[Row]:
        """Those that can be read, where a page of the file is damaged."""
        for number in series:
            with contextlib.suppress(DatabaseError):
                yield from self._connection.execute(query.where(CHUNK.series == number)).mappings()

    def _from_zero(self, present: list[int]) -> Collection[int]:
        """Series that counted from 0 in this hour or at the beginning of the next: that zero is in the summary only."""
        offset = schema.offset.c
        inside = (
            offset.tick >= self._hour,
            offset.tick < self._hour + 2 * HOUR_MS,
            offset.reason.in_(sorted(FROM_ZERO)),
        )
        found: set[int] = set()
        for some in parts(present):
            found |= set(self._connection.scalars(select(offset.series).where(*inside, offset.series.in_(some))))
        return found


def expected(values: Floats, whose: Series | str, *, from_zero: bool) -> dict[str, float]:
    """Columns of a summary that follow from an hour's own numbers alone; NaN where unknown."""
    known = values[~np.isnan(values)]
    metric = None if isinstance(whose, str) else catalog.find(whose.metric)
    counter = metric is not None and metric.kind is Kind.COUNTER
    nan = float("nan")
    if from_zero:
        return {"last": float(known[-1])} if len(known) else {}
    found = {
        "n": float(len(known)),
        "first": float(known[0]) if len(known) else nan,
        "last": float(known[-1]) if len(known) else nan,
    }
    if not counter:
        with np.errstate(invalid="ignore", over="ignore"):
            found["sum"] = float(known.sum()) if len(known) else nan
        found["min"] = float(np.min(known)) if len(known) else nan
        found["max"] = float(np.max(known)) if len(known) else nan
    return found


def _is(stored: float | None, value: float) -> bool:
    if stored is None or np.isnan(value):
        return stored is None and bool(np.isnan(value))
    return bool(stored == value or abs(stored - value) <= NEAR * max(abs(stored), abs(value)))


def _impossible(row: Row) -> list[str]:
    """What no summary can say."""
    low, high, seconds = row["min"], row["max"], row["seconds"]
    wrong = ["min above max"] if low is not None and high is not None and low > high else []
    return wrong + (["negative seconds"] if seconds is not None and seconds < 0 else [])
