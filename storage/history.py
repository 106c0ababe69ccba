"""History as a frame: the wanted series of packed rows, on one axis of ticks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import BigInteger, ColumnElement, Connection, case, func, select

from storage import schema
from storage.codec import unpack_flat
from storage.dialect import Sqlite, padded
from storage.layouts import Ids, Layouts
from storage.read import AT_ONCE, HOT, among
from telemetry.counters import NOMINAL_PER_GAP, Step
from telemetry.frame import Bools, Floats, Frame, Ints, empty
from telemetry.model import Series

NOMINAL_MS = 1000.0
"""Interval of a target that has not said its own."""
STEADY = frozenset(step.value for step in (Step.FORWARD, Step.WRAP, Step.FIRST_SAMPLE, Step.FIRST_USE))
"""Reasons of an offset after which a rate may be taken; every other one is a restart."""
FEW = 32
"""Up to so many wanted elements the database picks them out of a row; beyond, reading the whole row is cheaper."""
SLICE_MS, WHOLE_SLICE_MS = 300_000, 60_000
"""What is read at once: bounds the memory that the texts and Python numbers need on their way to arrays."""


@dataclass(frozen=True)
class Pick:
    """How rows of one layout are read: `width` numbers arrive, the first `len(numbers)` at `columns` are wanted."""

    target: str
    numbers: Ids  # series
    columns: Ids  # where they stand in what arrives
    positions: tuple[int, ...]  # what to ask for; () = whole row
    width: int


@dataclass(frozen=True)
class Piece:
    """Rows of one layout: int64[n] ticks, float64[n] instants, float64[n, series] values."""

    pick: Pick
    ticks: Ints
    at_ms: Floats
    values: Floats


def frame(
    connection: Connection,
    dialect: Sqlite,
    layouts: Layouts,
    wanted: Callable[[Series], bool] | Collection[str],
    targets: Sequence[str] | None,
    start_ms: int,
    end_ms: int,
) -> Frame:
    """The wanted series that have rows in start ≤ tick ≤ end, sorted by identity."""
    layouts.refresh(connection)
    known = layouts.series()
    picks = _picks(layouts, _numbers(known, wanted), targets)
    pieces = list(_pieces(connection, dialect, picks, start_ms, end_ms))
    present = {number for piece in pieces for number in piece.pick.numbers.tolist()}
    if not present:
        return empty()
    order = sorted(present, key=lambda number: (known[number].target, known[number].metric, known[number].labels))
    ticks = np.unique(np.concatenate([piece.ticks for piece in pieces]))
    values, at_ms = _arrays(pieces, order, ticks)
    breaks = _breaks(connection, order, ticks, values)
    series = tuple(known[number] for number in order)
    return Frame(ticks, series, values, at_ms, breaks, _gaps(connection, series))


def _numbers(known: dict[int, Series], wanted: Callable[[Series], bool] | Collection[str]) -> Ids:
    if callable(wanted):
        found = [number for number, series in known.items() if wanted(series)]
    else:
        names = frozenset(wanted)
        found = [number for number, series in known.items() if series.metric in names]
    return np.array(found, dtype=np.int64)


def _picks(layouts: Layouts, wanted: Ids, targets: Sequence[str] | None) -> dict[int, Pick]:
    """Layout → what to read of it. A target's other layouts are read for their instants alone."""
    picks = {}
    for layout, (target, ids) in layouts.layouts(targets).items():
        columns = np.flatnonzero(np.isin(ids, wanted))
        if len(columns) <= FEW:
            positions = tuple(columns.tolist())
            width = len(padded(positions)) if positions else 0
            picks[layout] = Pick(target, ids[columns], np.arange(len(columns)), positions, width)
        else:
            picks[layout] = Pick(target, ids[columns], columns, (), len(ids))
    concerned = {pick.target for pick in picks.values() if len(pick.numbers)}
    return {layout: pick for layout, pick in picks.items() if pick.target in concerned}


def _pieces(connection: Connection, dialect: Sqlite, picks: dict[int, Pick], start: int, end: int) -> Iterator[Piece]:
    if not picks:
        return
    chosen = _chosen(dialect, picks)
    targets = sorted({pick.target for pick in picks.values()})
    of_these = among(HOT.target, targets) if len(targets) <= AT_ONCE else among(HOT.target, None)
    whole = any(pick.width and not pick.positions for pick in picks.values())
    texts = select(*(dialect.joined(column) for column in (HOT.tick, HOT.at_ms, HOT.layout, chosen)))
    while True:
        inside = (HOT.tick >= start, HOT.tick <= end)
        first = connection.scalar(select(func.min(HOT.tick, type_=BigInteger)).where(*inside))
        if first is None:
            return
        start = first + (WHOLE_SLICE_MS if whole else SLICE_MS)
        part = (HOT.tick >= first, HOT.tick <= end, HOT.tick < start)
        yield from _split(connection.execute(texts.where(*part, of_these)).one(), picks)


def _chosen(dialect: Sqlite, picks: dict[int, Pick]) -> ColumnElement[str]:
    """Expression: the wanted elements of a row as text, whatever its layout; null where none is wanted."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for layout, pick in picks.items():
        if pick.width:
            alike.setdefault(pick.positions, []).append(layout)
    return case(
        *(
            (
                HOT.layout.in_(numbers),
                dialect.elements(HOT.data, positions) if positions else dialect.all_elements(HOT.data),
            )
            for positions, numbers in alike.items()
        )
    )


def _split(texts: Sequence[str | None], picks: dict[int, Pick]) -> Iterator[Piece]:
    """One slice's joined texts, taken apart by layout."""
    ticks, at_ms, numbers, flat = (unpack_flat(text) for text in texts)
    layouts = numbers.astype(np.int64)
    known, inverse = np.unique(layouts, return_inverse=True)
    widths = np.array([picks[layout].width if layout in picks else 0 for layout in known.tolist()], dtype=np.int64)
    width = widths[inverse]
    begin = np.cumsum(width) - width
    for index, layout in enumerate(known.tolist()):
        if layout in picks:
            pick, mine = picks[layout], inverse == index
            values = flat[begin[mine][:, None] + pick.columns[None, :]]
            yield Piece(pick, ticks[mine].astype(np.int64), at_ms[mine], values)


def _arrays(pieces: Sequence[Piece], order: Sequence[int], ticks: Ints) -> tuple[Floats, Floats]:
    row_of = {number: row for row, number in enumerate(order)}
    rows_of: dict[str, set[int]] = {}
    for piece in pieces:
        rows_of.setdefault(piece.pick.target, set()).update(row_of[number] for number in piece.pick.numbers.tolist())
    values = np.full((len(order), len(ticks)), np.nan)
    at_ms = np.full((len(order), len(ticks)), np.nan)
    for piece in pieces:
        at = np.searchsorted(ticks, piece.ticks)
        rows = np.array([row_of[number] for number in piece.pick.numbers.tolist()], dtype=np.intp)
        values[rows[:, None], at[None, :]] = piece.values.T
        everything = np.array(sorted(rows_of[piece.pick.target]), dtype=np.intp)
        at_ms[everything[:, None], at[None, :]] = piece.at_ms[None, :]
    return values, at_ms


def _breaks(connection: Connection, order: Sequence[int], ticks: Ints, values: Floats) -> Bools:
    """True at the first number of a series at or after each of its restarts."""
    breaks = np.zeros(values.shape, dtype=bool)
    row_of = {number: row for row, number in enumerate(order)}
    table = schema.offset.c
    query = select(table.series, table.tick, table.reason).where(
        table.tick >= int(ticks[0]), table.tick <= int(ticks[-1])
    )
    for number, tick, reason in connection.execute(query):
        row = row_of.get(number)
        if row is None or reason in STEADY:
            continue
        position = int(np.searchsorted(ticks, tick))
        later = np.flatnonzero(~np.isnan(values[row, position:]))
        if len(later):
            breaks[row, position + later[0]] = True
    return breaks


def _gaps(connection: Connection, series: Sequence[Series]) -> Floats:
    intervals = dict(connection.execute(select(schema.target.c.name, schema.target.c.interval_ms)).tuples().all())
    return np.array([NOMINAL_PER_GAP * intervals.get(entry.target, NOMINAL_MS) for entry in series])
