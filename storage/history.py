"""History as a frame: the wanted series of packed rows, on one axis of ticks.

The database joins a minute's rows into one text, and numpy picks the wanted numbers out of it: no Python per row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import BigInteger, Connection, Select, case, func, select

from storage import schema
from storage.codec import pick, unpack_joined
from storage.dialect import Sqlite
from storage.errors import StoreBroken
from storage.layouts import Ids, Layouts
from storage.read import AT_ONCE, HOT
from telemetry.counters import BREAKING, FROM_ZERO, NOMINAL_PER_GAP, mark_steps
from telemetry.frame import Bools, Floats, Frame, Ints, empty
from telemetry.model import Series

NOMINAL_MS = 1000.0
"""Interval of a target that has not said its own."""
SLICE_MS = 60_000
"""Rows read at once: about a megabyte of text, which stays in the processor's cache."""


@dataclass(frozen=True)
class Plan:
    """Which numbers of which rows are wanted. Arrays of layouts are in the order of `layouts`."""

    layouts: Ids  # int64[layout], rising
    targets: tuple[str, ...]  # of each layout
    width: Ints  # numbers that a row of this layout sends, 0 where none is wanted
    count: Ints  # numbers that are wanted of it
    begin: Ints  # where its own begin in the next two
    columns: Ints  # places in the row
    series: Ids  # numbers of the series that stand there

    def mine(self, layout: int) -> Ids:
        """Series wanted of the layout at this position."""
        return self.series[self.begin[layout] : self.begin[layout] + self.count[layout]]


@dataclass(frozen=True)
class Piece:
    """Some rows: tick, instant, position of the layout; and their wanted numbers, one row's after the other's."""

    ticks: Ints
    at_ms: Floats
    layout: Ints
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
    plan = _plan(layouts, _numbers(known, wanted), targets)
    pieces = list(_pieces(connection, dialect, plan, start_ms, end_ms)) if len(plan.layouts) else []
    if not pieces:
        return empty()
    rows = Piece(*(np.concatenate(arrays) for arrays in zip(*map(_fields, pieces), strict=True)))
    present = {number for layout in np.unique(rows.layout).tolist() for number in plan.mine(layout).tolist()}
    if not present:
        return empty()
    order = sorted(present, key=lambda number: (known[number].target, known[number].metric, known[number].labels))
    ticks = np.unique(rows.ticks)
    values, at_ms = _arrays(plan, rows, np.array(order, dtype=np.int64), ticks)
    series = tuple(known[number] for number in order)
    steps = _steps(connection, order, ticks)
    found = Frame(ticks, series, values, at_ms, _breaks(steps, values), _gaps(connection, series))
    return mark_steps(found, [(series[row], int(ticks[at]), told) for row, at, told in steps if told in FROM_ZERO])


def _fields(piece: Piece) -> tuple[Ints, Floats, Ints, Floats]:
    return piece.ticks, piece.at_ms, piece.layout, piece.values


def _numbers(known: dict[int, Series], wanted: Callable[[Series], bool] | Collection[str]) -> Ids:
    if callable(wanted):
        found = [number for number, series in known.items() if wanted(series)]
    else:
        names = frozenset(wanted)
        found = [number for number, series in known.items() if series.metric in names]
    return np.array(found, dtype=np.int64)


def _plan(layouts: Layouts, wanted: Ids, targets: Sequence[str] | None) -> Plan:
    """What to read. Other layouts of the targets concerned are in it too: their rows say when a target was read."""
    found = {
        number: (target, ids, np.flatnonzero(np.isin(ids, wanted)))
        for number, (target, ids) in sorted(layouts.layouts(targets).items())
    }
    concerned = {target for target, _, columns in found.values() if len(columns)}
    chosen = {number: entry for number, entry in found.items() if entry[0] in concerned}
    count = np.array([len(columns) for _, _, columns in chosen.values()], dtype=np.int64)
    return Plan(
        layouts=np.array(list(chosen), dtype=np.int64),
        targets=tuple(target for target, _, _ in chosen.values()),
        width=np.array([len(ids) if len(columns) else 0 for _, ids, columns in chosen.values()], dtype=np.int64),
        count=count,
        begin=np.cumsum(count) - count,
        columns=np.concatenate([np.zeros(0, np.int64), *(columns for _, _, columns in chosen.values())]),
        series=np.concatenate([np.zeros(0, np.int64), *(ids[columns] for _, ids, columns in chosen.values())]),
    )


def _pieces(connection: Connection, dialect: Sqlite, plan: Plan, start: int, end: int) -> Iterator[Piece]:
    query = _query(dialect, plan)
    first = func.min(HOT.tick, type_=BigInteger)
    while start <= end:
        stop = min(start + SLICE_MS, end + 1)
        texts = tuple(connection.execute(query.where(HOT.tick >= start, HOT.tick < stop)).one())
        if texts[0] is None:
            found = connection.scalar(select(first).where(HOT.tick >= stop, HOT.tick <= end))
            start = end + 1 if found is None else found
            continue
        yield _piece(plan, texts)
        start = stop


def _query(dialect: Sqlite, plan: Plan) -> Select[*tuple[Any, ...]]:
    """Texts of ticks, instants, layouts and data, each joined over rows in one order; no data where none is wanted."""
    idle = plan.layouts[plan.width == 0].tolist()
    data = case((HOT.layout.not_in(idle), HOT.data)) if idle else HOT.data
    texts = select(*(dialect.joined(column) for column in (HOT.tick, HOT.at_ms, HOT.layout, data)))
    names = sorted(set(plan.targets))
    if len(names) < AT_ONCE:
        return texts.where(HOT.target.in_(names))  # the plan has all layouts of its targets
    return texts.where(HOT.layout.in_(plan.layouts.tolist()))


def _piece(plan: Plan, texts: Sequence[bytes | None]) -> Piece:
    ticks, at_ms, numbers = (unpack_joined(text) for text in texts[:3])
    layout = np.searchsorted(plan.layouts, numbers.astype(np.int64))
    width = plan.width[layout]
    count = plan.count[layout]
    place = plan.columns[_runs(plan.begin[layout], count)] + np.repeat(np.cumsum(width) - width, count)
    try:
        values = pick(texts[3] or b"", int(width.sum()), place)
    except ValueError as error:
        raise StoreBroken(f"rows from tick {ticks[0]:.0f} on do not fit their layouts: {error}") from error
    return Piece(ticks.astype(np.int64), at_ms, layout, values)


def _runs(begin: Ints, count: Ints) -> Ints:
    """begin[0], begin[0]+1, … (count[0] of them), begin[1], …"""
    done = np.cumsum(count) - count
    return np.repeat(begin - done, count) + np.arange(int(count.sum()))


def _arrays(plan: Plan, rows: Piece, order: Ids, ticks: Ints) -> tuple[Floats, Floats]:
    """float64[series, tick] values and instants. A series' instant is that of its target, with or without a number."""
    sorting = np.argsort(order)
    row_of = sorting[np.searchsorted(order, plan.series, sorter=sorting).clip(max=len(order) - 1)]
    at = np.searchsorted(ticks, rows.ticks)
    count = plan.count[rows.layout]
    values = np.full((len(order), len(ticks)), np.nan)
    values[row_of[_runs(plan.begin[rows.layout], count)], np.repeat(at, count)] = rows.values
    at_ms = np.full((len(order), len(ticks)), np.nan)
    for target in sorted(set(plan.targets)):
        mine = np.array([name == target for name in plan.targets])
        its = mine[rows.layout]
        numbers = np.unique(np.concatenate([plan.mine(layout) for layout in np.flatnonzero(mine).tolist()]))
        series = np.flatnonzero(np.isin(order, numbers))
        at_ms[series[:, None], at[its][None, :]] = rows.at_ms[its][None, :]
    return values, at_ms


def _steps(connection: Connection, order: Sequence[int], ticks: Ints) -> list[tuple[int, int, str]]:
    """What the wanted series went through inside the frame: row, column at or after the step, reason."""
    row_of = {number: row for row, number in enumerate(order)}
    table = schema.offset.c
    inside = (table.tick >= int(ticks[0]), table.tick <= int(ticks[-1]))
    found = connection.execute(select(table.series, table.tick, table.reason).where(*inside))
    return [
        (row_of[number], int(np.searchsorted(ticks, tick)), reason)
        for number, tick, reason in found
        if number in row_of
    ]


def _breaks(steps: Sequence[tuple[int, int, str]], values: Floats) -> Bools:
    """True at the first number of a series at or after each of its restarts."""
    breaks = np.zeros(values.shape, dtype=bool)
    for row, position, reason in steps:
        if reason not in BREAKING:
            continue
        later = np.flatnonzero(~np.isnan(values[row, position:]))
        if len(later):
            breaks[row, position + later[0]] = True
    return breaks


def _gaps(connection: Connection, series: Sequence[Series]) -> Floats:
    query = select(schema.target.c.name, schema.target.c.interval_ms)
    gaps = {name: NOMINAL_PER_GAP * interval for name, interval in connection.execute(query)}
    return np.array([gaps.get(entry.target, NOMINAL_PER_GAP * NOMINAL_MS) for entry in series])
