"""Packed rows as arrays: the wanted numbers of the hours that are not sealed.

The database joins some minutes' rows into one text, and numpy picks the wanted numbers out of it: no Python per row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import BigInteger, ColumnElement, Connection, Select, bindparam, case, func, select

from storage.clocks import Place
from storage.codec import pick, unpack_joined
from storage.damage import Broken, refused
from storage.dialect import Dialect
from storage.errors import StoreBroken
from storage.plan import Plan, runs
from storage.read import AT_ONCE, HOT
from telemetry.frame import Bools, Floats, Ints
from telemetry.summary import HOUR_MS, hour_of

SLICE_MS = 180_000
"""Rows read at once, and up to twice as much where that is the rest: of 16 nodes a few megabytes of text. Shorter ones
cost more questions than they save memory."""
FIRST = select(func.min(HOT.tick, type_=BigInteger))
FIRST_AFTER = FIRST.where(HOT.tick > bindparam("after"), HOT.tick <= bindparam("last"))
T = TypeVar("T")
Texts = Select[*tuple[Any, ...]]
Hours = Collection[tuple[str, int]]
"""(target, start of the hour)"""


@dataclass(frozen=True)
class Piece:
    """Some rows: tick, instant, position of the layout; and their wanted numbers, one row's after the other's."""

    ticks: Ints
    at_ms: Floats
    layout: Ints
    values: Floats

    def between(self, plan: Plan, start: int, end: int) -> Piece:
        """The rows of start ≤ tick ≤ end."""
        return self.without(plan, (self.ticks < start) | (self.ticks > end)) if len(self.ticks) else self

    def without(self, plan: Plan, rows: Bools) -> Piece:
        """All but these rows."""
        kept = ~rows
        numbers = np.repeat(kept, plan.count[self.layout])
        return Piece(self.ticks[kept], self.at_ms[kept], self.layout[kept], self.values[numbers])


def joined(pieces: Sequence[Piece]) -> Piece:
    """Pieces as one."""
    none = np.zeros(0, np.int64)
    return Piece(
        np.concatenate([none, *(piece.ticks for piece in pieces)]),
        np.concatenate([np.zeros(0), *(piece.at_ms for piece in pieces)]),
        np.concatenate([none, *(piece.layout for piece in pieces)]),
        np.concatenate([np.zeros(0), *(piece.values for piece in pieces)]),
    )


def pieces(
    connection: Connection, dialect: Dialect, plan: Plan, sealed: Hours, start: int, end: int, broken: Broken = refused
) -> Iterator[Piece]:
    """Rows of start ≤ tick ≤ end, but of the target-hours that are sealed. broken: told of a damaged row, which is left
    out."""
    everybody = frozenset(plan.targets)
    at: int | None = start if everybody else None
    while at is not None:
        hour = hour_of(at)
        bound = min(end, hour + HOUR_MS - 1)
        wanted = sorted(name for name in everybody if (name, hour) not in sealed)
        if wanted:
            yield from _hour(connection, dialect, plan, wanted, at, bound, broken)
        at = None if bound >= end else connection.scalar(FIRST_AFTER, {"after": bound, "last": end})


def _hour(
    connection: Connection, dialect: Dialect, plan: Plan, targets: Sequence[str], start: int, end: int, broken: Broken
) -> Iterator[Piece]:
    query, names = _query(dialect, plan, targets)
    mine = HOT.target.in_(targets) if len(targets) < AT_ONCE else HOT.target.is_not(None)
    at: int | None = start
    while at is not None and at <= end:
        stop = at + SLICE_MS if end - at >= 2 * SLICE_MS else end + 1
        texts = tuple(connection.execute(query, {**names, "at": at, "stop": stop}).one())
        if texts[0] is None:
            at = connection.scalar(FIRST.where(HOT.tick >= stop, HOT.tick <= end, mine))
            continue
        try:
            piece = _piece(plan, texts)
        except StoreBroken:
            yield from _sound(connection, dialect, plan, targets, sorted(set(_ticks(texts))), broken)
        else:
            yield piece
        at = stop


def _sound(
    connection: Connection, dialect: Dialect, plan: Plan, targets: Sequence[str], ticks: Sequence[int], broken: Broken
) -> Iterator[Piece]:
    """Rows of these ticks, one of which is damaged, without it: halves, and halves of the one that it is in."""
    query, names = _query(dialect, plan, targets)
    texts = tuple(connection.execute(query, {**names, "at": ticks[0], "stop": ticks[-1] + 1}).one())
    if texts[0] is None:
        return
    try:
        piece = _piece(plan, texts)
    except StoreBroken as error:
        if len(ticks) == len(targets) == 1:
            place = Place("row", targets[0], hour_of(ticks[0]))
            broken(place, StoreBroken(f"{place} at {ticks[0]} is damaged: {error.__cause__}"))
            return
    else:
        yield piece
        return
    halves = [(targets, some) for some in _halves(ticks)] if len(ticks) > 1 else [(s, ticks) for s in _halves(targets)]
    for names_of, some in halves:
        yield from _sound(connection, dialect, plan, names_of, some, broken)


def _halves(whole: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    return whole[: len(whole) // 2], whole[len(whole) // 2 :]


def _ticks(texts: Sequence[bytes | None]) -> list[int]:
    return [int(tick) for tick in unpack_joined(texts[0]).tolist()]


def _query(dialect: Dialect, plan: Plan, targets: Sequence[str]) -> tuple[Texts, dict[str, object]]:
    """Texts of ticks, instants, layouts and data, each joined over rows in one order; no data where none is wanted."""
    idle = plan.layouts[plan.width == 0].tolist()
    if len(targets) < AT_ONCE:
        if not idle:
            return _of_targets(dialect), {"names": targets}
        where = HOT.target.in_(targets)  # the plan has all layouts of its targets
    else:
        chosen = set(targets)
        own = [number for number, name in zip(plan.layouts.tolist(), plan.targets, strict=True) if name in chosen]
        where = HOT.layout.in_(own)
    return _texts(dialect, case((HOT.layout.not_in(idle), HOT.data)) if idle else HOT.data).where(where), {}


@lru_cache(maxsize=4)
def _of_targets(dialect: Dialect) -> Texts:
    """The usual question, put together once."""
    return _texts(dialect, HOT.data).where(HOT.target.in_(bindparam("names", expanding=True)))


def _texts(dialect: Dialect, data: ColumnElement[Any]) -> Texts:
    columns = [dialect.joined(column) for column in (HOT.tick, HOT.at_ms, HOT.layout, data)]
    return select(*columns).where(HOT.tick >= bindparam("at"), HOT.tick < bindparam("stop"))


def _piece(plan: Plan, texts: Sequence[bytes | None]) -> Piece:
    ticks, at_ms, numbers = (unpack_joined(text) for text in texts[:3])
    layout = plan.position(numbers.astype(np.int64))
    width = plan.width[layout]
    count = plan.count[layout]
    place = plan.columns[runs(plan.begin[layout], count)] + np.repeat(np.cumsum(width) - width, count)
    try:
        values = pick(texts[3] or b"", int(width.sum()), place)
    except ValueError as error:
        raise StoreBroken(f"rows from tick {ticks[0]:.0f} on do not fit their layouts: {error}") from error
    return Piece(ticks.astype(np.int64), at_ms, layout, values)
