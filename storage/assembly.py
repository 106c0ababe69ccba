"""Rows and sealed hours put together on one axis of ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from storage import chunks
from storage.clocks import Place
from storage.damage import Broken, refused
from storage.errors import StoreBroken
from storage.hot import Piece
from storage.plan import Plan, runs
from storage.sealed import Blob, Sealed, Stretch, union
from telemetry.frame import Floats, Ints
from telemetry.model import Series

Columns = slice | Ints
Span = tuple[Stretch, Columns]


@dataclass(frozen=True)
class Table:
    """Samples as they were stored: order (numbers of the series), int64[tick], float64[series, tick] each."""

    order: Sequence[int]
    ticks: Ints
    values: Floats
    at_ms: Floats


def assemble(
    plan: Plan, known: Mapping[int, Series], sealed: Sealed, rows: Piece, broken: Broken = refused, room: int = 0
) -> Table | None:
    """Everything on one axis, series sorted by identity; None when no wanted series was present.

    broken: told of a damaged chunk; where it returns, the series is unknown in that hour. room: columns that are left
    free behind it.

    Of a sealed hour that got late rows both are taken; where both have a tick, the sealed one counts.
    """
    laid = _laid(plan, known, sealed, rows)
    if laid is None:
        return None
    order, ticks, spans, rows = laid
    shape = (len(order), len(ticks) + room)
    table = Table(order, ticks, *(np.empty(shape)[:, : len(ticks)] for _ in range(2)))
    rows_of = _rows_of(plan, order)
    _clear(spans, table)
    _clear_instants(spans, rows_of, table)
    _place_chunks(known, sealed, spans, table, broken)
    _place_rows(plan, rows, table)
    _place_instants(plan, spans, rows, rows_of, table)
    return table


def values_of(
    plan: Plan, known: Mapping[int, Series], sealed: Sealed, rows: Piece, broken: Broken = refused
) -> Table | None:
    """The same without instants, which take as long as the values: `at_ms` is unknown everywhere."""
    laid = _laid(plan, known, sealed, rows)
    if laid is None:
        return None
    order, ticks, spans, rows = laid
    shape = (len(order), len(ticks))
    table = Table(order, ticks, np.empty(shape), np.broadcast_to(np.nan, shape))
    _clear(spans, table)
    _place_chunks(known, sealed, spans, table, broken)
    _place_rows(plan, rows, table)
    return table


def _laid(
    plan: Plan, known: Mapping[int, Series], sealed: Sealed, rows: Piece
) -> tuple[Sequence[int], Ints, Sequence[Span], Piece] | None:
    """(order of the series, ticks, columns of each stretch, rows that no sealed hour holds)"""
    rows = _without_sealed(plan, sealed, rows)
    found = set[int]().union(*(one.present for one in sealed.stretches))
    found |= {number for position in np.unique(rows.layout).tolist() for number in plan.mine(position).tolist()}
    if not found:
        return None
    order = sorted(found, key=lambda number: (known[number].target, known[number].metric, known[number].labels))
    ticks, columns = _axis(sealed.stretches, rows)
    return order, ticks, list(zip(sealed.stretches, columns, strict=True)), rows


def _clear(spans: Sequence[Span], table: Table) -> None:
    """Unknown, wherever sealed hours do not fill a row from end to end."""
    filled = dict.fromkeys(table.order, 0)
    for stretch, _ in spans:
        for number in stretch.present:
            filled[number] += len(stretch.reading.ticks)
    for row, number in enumerate(table.order):
        if filled[number] < len(table.ticks):
            table.values[row] = np.nan


def _clear_instants(spans: Sequence[Span], rows_of: Mapping[str, Ints], table: Table) -> None:
    """The same of the instants."""
    read = dict.fromkeys(rows_of, 0)
    for stretch, _ in spans:
        read[stretch.target] += len(stretch.reading.ticks)
    for target, mine in rows_of.items():
        if read[target] < len(table.ticks):
            table.at_ms[mine] = np.nan


def _without_sealed(plan: Plan, sealed: Sealed, rows: Piece) -> Piece:
    """Rows but those that are in a sealed hour, too."""
    twice = np.zeros(len(rows.ticks), dtype=bool)
    for stretch in sealed.stretches:
        if stretch.late:
            own = np.array([name == stretch.target for name in plan.targets])
            twice |= own[rows.layout] & np.isin(rows.ticks, stretch.reading.ticks)
    return rows.without(plan, twice) if twice.any() else rows


def _axis(stretches: Sequence[Stretch], rows: Piece) -> tuple[Ints, list[Columns]]:
    """All ticks, rising, and the columns of each stretch among them."""
    hours = [list(some) for _, some in groupby(sorted(stretches, key=_hour), key=_hour)]
    unions = [union([one.reading.ticks for one in some]) for some in hours]
    ticks = np.concatenate([*unions, np.unique(rows.ticks)])
    if not (np.diff(ticks) > 0).all():
        ticks = np.unique(ticks)
    known: dict[int, Columns] = {}  # of one hour's targets most have the same array
    for one in stretches:
        if id(one.reading.ticks) not in known:
            known[id(one.reading.ticks)] = _columns(ticks, one.reading.ticks)
    return ticks, [known[id(one.reading.ticks)] for one in stretches]


def _hour(stretch: Stretch) -> int:
    return stretch.hour


def _columns(ticks: Ints, own: Ints) -> Columns:
    low, high = np.searchsorted(ticks, own[[0, -1]]).tolist()
    return slice(low, high + 1) if high + 1 - low == len(own) else np.searchsorted(ticks, own)


def _rows_of(plan: Plan, order: Sequence[int]) -> dict[str, Ints]:
    """Rows of each target."""
    found: dict[str, set[int]] = {}
    for position, target in enumerate(plan.targets):
        found.setdefault(target, set()).update(plan.mine(position).tolist())
    row_of = {number: row for row, number in enumerate(order)}
    return {
        target: np.array(sorted(row_of[number] for number in numbers if number in row_of), dtype=np.int64)
        for target, numbers in found.items()
    }


def _place_chunks(
    known: Mapping[int, Series], sealed: Sealed, spans: Sequence[Span], table: Table, broken: Broken
) -> None:
    row_of = {number: row for row, number in enumerate(table.order)}
    for stretch, where in spans:
        for number in stretch.present:
            place = Place("chunk", known[number], stretch.hour)
            line = table.values[row_of[number]]
            try:
                _place_chunk(sealed.blobs.get((number, stretch.hour)), stretch, where, line, place)
            except StoreBroken as error:
                broken(place, error)
                line[where] = np.nan


def _place_chunk(blob: Blob | None, stretch: Stretch, where: Columns, line: Floats, place: Place) -> None:
    if blob is None:
        raise StoreBroken(f"{place} is missing")
    if stretch.whole and isinstance(where, slice):
        codec, first, data = blob
        chunks.decode(codec, data, first, line[where], place)
    else:
        line[where] = _decoded(blob, stretch.readings, place)[stretch.inside]


def _decoded(blob: Blob, count: int, place: Place) -> Floats:
    codec, first, data = blob
    into = np.empty(count)
    chunks.decode(codec, data, first, into, place)
    return into


def _place_rows(plan: Plan, rows: Piece, table: Table) -> None:
    order = np.array(table.order, dtype=np.int64)
    sorting = np.argsort(order)
    row_of = sorting[np.searchsorted(order, plan.series, sorter=sorting).clip(max=len(order) - 1)]
    count = plan.count[rows.layout]
    at = np.repeat(np.searchsorted(table.ticks, rows.ticks), count)
    table.values[row_of[runs(plan.begin[rows.layout], count)], at] = rows.values


def _place_instants(plan: Plan, spans: Sequence[Span], rows: Piece, rows_of: Mapping[str, Ints], table: Table) -> None:
    """A series' instant is that of its target, with or without a number."""
    for stretch, where in spans:
        mine = rows_of[stretch.target]
        if len(mine) and isinstance(where, slice):
            np.add(stretch.reading.ticks, stretch.reading.lags, out=table.at_ms[mine[0], where])
        elif len(mine):
            table.at_ms[mine[0], where] = stretch.reading.at_ms
    at = np.searchsorted(table.ticks, rows.ticks)
    for target, mine in rows_of.items():
        if not len(mine):
            continue
        if len(at):
            its = np.array([name == target for name in plan.targets])[rows.layout]
            table.at_ms[mine[0], at[its]] = rows.at_ms[its]
        table.at_ms[mine[1:]] = table.at_ms[mine[0]]
