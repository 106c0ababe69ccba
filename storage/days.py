"""Days: the summaries of a series' hours of one day in one row, so that months are read as a twentieth of the rows.

They say what the hours say, to the last bit, or they are not there: whoever writes or deletes an hour deletes its day
in the same transaction, and what has no day is read by the hour.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import BindParameter, Connection, Select, bindparam, delete, select

from storage import chunks, edition, schema
from storage.asking import fetched
from storage.chunks import SUM
from storage.dialect import Dialect
from storage.sealed import CHUNK, parts
from telemetry.frame import Bools, Floats, Ints
from telemetry.summary import HOUR_MS

DAY, DUE, SERIES = schema.day.c, schema.day_due.c, schema.series.c
HOURS = 24
DAY_MS = HOURS * HOUR_MS
COLUMNS = ("n", "first", "last", "min", "max", "sum", "gain", "seconds")
"""Of `chunk`, in the order in which they stand in a day, 24 hours of each; NaN stands for null."""
ABSENT = -1.0
"""In place of n: there is no such hour."""
SHAPE = (len(COLUMNS), HOURS)
SIZES = tuple(8 * len(COLUMNS) * hours + SUM.size for hours in (1, HOURS))
"""Of a day's data: one hour that stands for all of them, or all."""
SOUND = 0x2144DF1C
"""The sum of anything with its own sum behind it, as `chunks.summed` writes it: what is not damaged."""
MOST_SPANS = 16
"""Stretches without days that are asked for one by one; of more all hours between are read."""

FROM: BindParameter[Any] = bindparam("first")
TO: BindParameter[Any] = bindparam("last")
SOME: BindParameter[Any] = bindparam("some", expanding=True)
DAYS = select(DAY.series, DAY.day, DAY.data).where(DAY.day >= FROM, DAY.day <= TO, DAY.series.in_(SOME))
CELLS: Select[Any] = select(CHUNK.series, CHUNK.hour, *(CHUNK[name] for name in COLUMNS)).where(
    CHUNK.hour >= FROM, CHUNK.hour <= TO, CHUNK.series.in_(SOME)
)
SPOILED = delete(schema.day).where(
    DAY.day == bindparam("at"), DAY.series.in_(select(SERIES.id).where(SERIES.target == bindparam("whose")))
)
Span = tuple[int, int]
DATA = itemgetter(2)


@dataclass(frozen=True)
class Days:
    """int64[n] numbers of series, int64[n] days (their start), float64[n, column, hour] summaries."""

    series: Ints
    day: Ints
    cells: Floats

    def without(self, numbers: Collection[int]) -> Days:
        """All but those of these series."""
        return self.where(~np.isin(self.series, list(numbers))) if numbers else self

    def where(self, kept: Bools) -> Days:
        """Some of them."""
        return Days(self.series[kept], self.day[kept], self.cells[kept])


def day_of(at_ms: int) -> int:
    """Start of the day (UTC) that an instant belongs to."""
    return at_ms - at_ms % DAY_MS


def spoil(connection: Connection, target: str, hour: int) -> None:
    """An hour of a target is not what it was, or goes: its day goes in the same transaction."""
    connection.execute(SPOILED, {"at": day_of(hour), "whose": target})


def mark(connection: Connection, dialect: Dialect, target: str, hour: int) -> None:
    """The same, and its day is to be made anew. The mark counts, so that whoever makes it sees that it was set anew."""
    spoil(connection, target, hour)
    edition.rise(connection, dialect)
    mine = {"target": target, "day": day_of(hour)}
    known = connection.scalar(select(DUE.mark).where(DUE.target == mine["target"], DUE.day == mine["day"]))
    connection.execute(dialect.upsert(schema.day_due), {**mine, "mark": (known or 0) + 1})


def cells_of(rows: Sequence[Sequence[Any]]) -> Floats:
    """Rows of CELLS as float64[row, column]: series, hour, COLUMNS; NaN for null."""
    return np.array(rows, dtype=np.float64).reshape(len(rows), 2 + len(COLUMNS))


def packed(rows: Sequence[Sequence[Any]], day: int) -> Iterator[dict[str, Any]]:
    """Rows of `day` out of rows of CELLS that lie in it."""
    cells = cells_of(rows)
    numbers, row = np.unique(cells[:, 0].astype(np.int64), return_inverse=True)
    sheet = np.full((len(numbers), *SHAPE), np.nan)
    sheet[:, 0] = ABSENT
    sheet[row, :, ((cells[:, 1] - day) // HOUR_MS).astype(np.int64)] = cells[:, 2:]
    for number, mine in zip(numbers.tolist(), sheet, strict=True):
        still = np.array_equal(mine, np.broadcast_to(mine[:, :1], SHAPE), equal_nan=True)
        kept = np.ascontiguousarray(mine[:, :1] if still else mine, dtype="<f8")
        yield {"series": number, "day": day, "data": chunks.summed(kept.tobytes())}


def read(connection: Connection, numbers: Sequence[int], first: int, last: int) -> Days:
    """What there is of these series in the days first … last (starts). A damaged one is as good as none."""
    asked = {"first": first, "last": last}
    found = []
    for some in parts(numbers):
        rows = fetched(connection, DAYS, {**asked, "some": some})
        lengths = set(map(len, map(DATA, rows)))
        for size in lengths.intersection(SIZES):
            own = rows if len(lengths) == 1 else [row for row in rows if len(row[2]) == size]
            found.append(_unpacked(own, size))
    if len(found) == 1:
        return found[0]
    none = np.zeros(0, np.int64)
    return Days(
        np.concatenate([none, *(one.series for one in found)]),
        np.concatenate([none, *(one.day for one in found)]),
        np.concatenate([np.zeros((0, *SHAPE)), *(one.cells for one in found)]),
    )


def _unpacked(rows: Sequence[tuple[int, int, bytes]], size: int) -> Days:
    """Rows whose data is so long: all hours of each column, or one that stands for all."""
    series, day, data = zip(*rows, strict=True)
    hours = (size - SUM.size) // (8 * len(COLUMNS))
    cells: Floats = np.ndarray((len(rows), len(COLUMNS), hours), "<f8", b"".join(data), strides=(size, 8 * hours, 8))
    spread = np.broadcast_to(cells, (len(rows), *SHAPE))
    whole = Days(np.array(series, dtype=np.int64), np.array(day, dtype=np.int64), spread)
    sums = list(map(zlib.crc32, data))
    return whole if sums.count(SOUND) == len(sums) else whole.where(np.array(sums) == SOUND)


def wrong(connection: Connection, numbers: Sequence[int | str], day: int) -> Iterator[int]:
    """Those of these series whose day says something else than its hours."""
    asked = {"first": day, "last": day + DAY_MS - HOUR_MS, "some": numbers}
    right = {row["series"]: row["data"] for row in packed(fetched(connection, CELLS, asked), day)}
    for number, _, data in fetched(connection, DAYS, {**asked, "last": day}):
        if bytes(data) != right.get(number):
            yield number


def missing(days: Days, numbers: Sequence[int], first: int, last: int) -> Iterator[tuple[list[int], Span]]:
    """What is not in the days first … last: numbers of series, each with first and last day."""
    count = (last - first) // DAY_MS + 1
    if len(days.series) == len(numbers) * count:
        return
    here = np.zeros((len(numbers), count + 2), dtype=np.int8)
    here[:, (0, -1)] = 1
    here[np.searchsorted(numbers, days.series), (days.day - first) // DAY_MS + 1] = 1
    row, begin = np.nonzero(np.diff(here, axis=1) == -1)
    end = np.nonzero(np.diff(here, axis=1) == 1)[1] - 1
    spans: dict[Span, list[int]] = {}
    for at, low, high in zip(row.tolist(), begin.tolist(), end.tolist(), strict=True):
        spans.setdefault((first + low * DAY_MS, first + high * DAY_MS), []).append(int(numbers[at]))
    if len(spans) > MOST_SPANS:
        every = sorted({number for some in spans.values() for number in some})
        spans = {(min(low for low, _ in spans), max(high for _, high in spans)): every}
    for span, some in spans.items():
        yield some, span
