"""History as a frame: the wanted series of packed rows and sealed hours, on one axis of ticks, without a seam."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from storage import hot, schema, sealed
from storage.asking import fetched
from storage.assembly import Table, assemble, values_of
from storage.damage import Broken, refused
from storage.dialect import Dialect
from storage.intervals import own_gaps, stretches
from storage.layouts import Layouts
from storage.plan import Wanted, make_plan
from telemetry.counters import BREAKING, FROM_ZERO, NOMINAL_PER_GAP, mark_steps
from telemetry.frame import Bools, Floats, Frame, Ints, Sheet, blank, empty
from telemetry.gaps import keep
from telemetry.model import Series

NOMINAL_MS = 1000.0
"""Interval of a target that has not said its own."""

OFFSET = schema.offset.c
STEPS = select(OFFSET.series, OFFSET.tick, OFFSET.reason).where(
    OFFSET.tick >= bindparam("first"), OFFSET.tick <= bindparam("last")
)
INTERVALS = select(schema.target.c.name, schema.target.c.interval_ms)


def frame(
    connection: Connection,
    dialect: Dialect,
    layouts: Layouts,
    wanted: Wanted,
    targets: Sequence[str] | None,
    start_ms: int,
    end_ms: int,
    broken: Broken = refused,
    room: int = 0,
) -> Frame:
    """The wanted series that have rows in start ≤ tick ≤ end, sorted by identity. broken: told of what is damaged.

    room: ticks for which there is room behind the frame's own, see `telemetry.seam.behind`.
    """
    layouts.refresh(connection)
    known = layouts.series()
    plan = make_plan(layouts, known, wanted, targets)
    if not len(plan.layouts):
        return empty()
    hours = sealed.gather(connection, plan, start_ms, end_ms, broken)
    rows = hot.joined(list(hot.pieces(connection, dialect, plan, hours.clean, start_ms, end_ms, broken)))
    table = assemble(plan, known, hours, rows, broken, room)
    return empty() if table is None else framed(connection, table, known, room)


def sheets(
    connection: Connection,
    dialect: Dialect,
    layouts: Layouts,
    wanted: Wanted,
    targets: Sequence[str] | None,
    ranges: Sequence[tuple[int, int]],
    broken: Broken = refused,
) -> Iterator[Sheet]:
    """Values of the closed ranges, which follow each other. Everything is read before the first of them is asked for,
    and put together one by one: what is worked on stays in the processor's cache."""
    layouts.refresh(connection)
    known = layouts.series()
    plan = make_plan(layouts, known, wanted, targets)
    if not len(plan.layouts) or not ranges:
        return (blank() for _ in ranges)
    hours = sealed.gather_all(connection, plan, ranges, broken, layouts.remembered)
    span = ranges[0][0], ranges[-1][1]
    rows = hot.joined(list(hot.pieces(connection, dialect, plan, hours[0].clean, *span, broken)))
    return (
        _sheet(values_of(plan, known, some, rows.between(plan, start, end), broken), known)
        for some, (start, end) in zip(hours, ranges, strict=True)
    )


def _sheet(table: Table | None, known: Mapping[int, Series]) -> Sheet:
    if table is None:
        return blank()
    return Sheet(table.ticks, tuple(known[number] for number in table.order), table.values)


def framed(connection: Connection, table: Table, known: Mapping[int, Series], room: int = 0) -> Frame:
    """A table as a frame: with gaps, restarts, and the zeros before first uses, written into the table's own values.
    room: columns that the table has free behind it."""
    series = tuple(known[number] for number in table.order)
    steps = _steps(connection, table.order, table.ticks)
    breaks = _breaks(steps, table.values, room)
    targets = [one.target for one in series]
    found = Frame(table.ticks, series, table.values, table.at_ms, breaks, gaps(connection, targets))
    mark_steps(found, [(series[row], int(table.ticks[at]), told) for row, at, told in steps if told in FROM_ZERO])
    other = stretches(connection, targets, int(table.ticks[0]), int(table.ticks[-1])) if len(table.ticks) else {}
    for row, target in enumerate(targets):
        if target in other:
            own = own_gaps(table.ticks, float(found.gap_ms[row]), other[target])
            found.gap_ms[row] = float(np.max(own))
            keep(found, row, own)
    return found


def _steps(connection: Connection, order: Sequence[int], ticks: Ints) -> list[tuple[int, int, str]]:
    """What the wanted series went through inside the frame: row, column at or after the step, reason."""
    row_of = {number: row for row, number in enumerate(order)}
    found = fetched(connection, STEPS, {"first": int(ticks[0]), "last": int(ticks[-1])})
    return [
        (row_of[number], int(np.searchsorted(ticks, tick)), reason)
        for number, tick, reason in found
        if number in row_of
    ]


def _breaks(steps: Sequence[tuple[int, int, str]], values: Floats, room: int) -> Bools:
    """True at the first number of a series at or after each of its restarts."""
    rows, columns = values.shape
    breaks = np.zeros((rows, columns + room), dtype=bool)[:, :columns]
    for row, position, reason in steps:
        if reason not in BREAKING:
            continue
        later = np.flatnonzero(~np.isnan(values[row, position:]))
        if len(later):
            breaks[row, position + later[0]] = True
    return breaks


def gaps(connection: Connection, targets: Sequence[str]) -> Floats:
    """What is a gap of each of these targets, by its present interval: float64[target], milliseconds.

    What the collector records of the cluster and of deployments has none: it is written with every tick, and so as
    often as the target that is read most often.
    """
    known: dict[str, float] = dict(iter(fetched(connection, INTERVALS)))
    other = max(NOMINAL_MS, min(known.values(), default=0.0))
    return NOMINAL_PER_GAP * np.array([known.get(target, other) for target in targets])
