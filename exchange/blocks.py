"""Lines of several queries over one stretch of time, as rows: times × scopes, with the numbers of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exchange.table import BIN, VALUE, Scope, Table
from telemetry.frame import Bools, Floats, Ints
from telemetry.model import UNKNOWN
from telemetry.query import Line

SIDES = {"<": -1.0, "=": 0.0, ">": 1.0, None: UNKNOWN}
OF_BIN = dict(zip(BIN, ("minimum", "mean", "maximum", "last"), strict=True))

Columns = tuple[int, ...]
"""Positions of columns, rising."""


@dataclass(frozen=True)
class Group:
    """Scopes that have the same columns.

    scopes: int64[scope], positions in the block. first: the first column. values: float64[column, tick, scope]; columns
    between that no scope of the group has are unknown.
    """

    scopes: Ints
    first: int
    values: Floats


@dataclass(frozen=True)
class Block:
    """t_ms: int64[tick], rising. scopes: by kind, then text. rows: bool[tick, scope], which rows there are."""

    t_ms: Ints
    scopes: tuple[Scope, ...]
    groups: tuple[Group, ...]
    rows: Bools

    def flat(self, columns: int) -> tuple[Ints, Ints, Floats]:
        """Rows by time, then scope: (int64[row] times, int64[row] positions of the scopes, float64[column, row])."""
        values = np.full((columns, *self.rows.shape), np.nan)
        for group in self.groups:
            values[group.first : group.first + len(group.values)][:, :, group.scopes] = group.values
        tick, scope = np.nonzero(self.rows)
        return self.t_ms[tick], scope, values[:, tick, scope]


class Blocks:
    """Makes blocks of one export, oldest first.

    gaps: once a scope has had a value it has a row at every time, empty where nothing is known, so that a gap stays a
    gap in whatever draws it. Else a row stands only where something is known: every sample, and nothing between.
    """

    def __init__(self, table: Table, *, gaps: bool) -> None:
        self._table = table
        self._gaps = gaps
        self._begun: set[Scope] = set()
        self._scopes: dict[tuple[object, ...], Scope] = {}

    def block(self, lines: Sequence[Sequence[Line]], t_ms: Ints | None = None) -> Block:
        """Rows of each query's lines. t_ms: the times to show, where they are more than those of the lines."""
        axis = _axis(lines) if t_ms is None else t_ms
        found = self._found(lines)
        scopes = tuple(sorted(found, key=_order))
        alike: dict[Columns, list[int]] = {}
        for position, scope in enumerate(scopes):
            alike.setdefault(self._columns(found[scope]), []).append(position)
        groups = tuple(
            self._group(axis, columns, positions, [found[scopes[position]] for position in positions])
            for columns, positions in alike.items()
        )
        return Block(axis, scopes, groups, self._rows(len(axis), scopes, groups))

    def _found(self, lines: Sequence[Sequence[Line]]) -> dict[Scope, dict[int, Line]]:
        """By scope, the line of each query that has one; of scopes from before, none."""
        found: dict[Scope, dict[int, Line]] = {scope: {} for scope in self._begun} if self._gaps else {}
        for query, mine in enumerate(lines):
            for line in mine:
                key = (query, *line.labels.items())
                scope = self._scopes.get(key)
                if scope is None:
                    scope = self._scopes[key] = self._table.scope(query, line)
                found.setdefault(scope, {})[query] = line
        return found

    def _columns(self, lines: dict[int, Line]) -> Columns:
        places = [self._table.places[query] for query in sorted(lines)]
        return tuple(place.first + number for place in places for number in range(len(place.parts)))

    def _group(self, axis: Ints, columns: Columns, positions: list[int], found: list[dict[int, Line]]) -> Group:
        first, end = (columns[0], columns[-1] + 1) if columns else (0, 0)
        values = np.full((end - first, len(positions), len(axis)), np.nan)
        for row, lines in enumerate(found):
            for query, line in lines.items():
                place = self._table.places[query]
                at = slice(None) if len(line.t_ms) == len(axis) else np.searchsorted(axis, line.t_ms)
                for number, part in enumerate(place.parts, place.first - first):
                    values[number, row, at] = _numbers(line, part)
        values[np.isinf(values)] = np.nan  # no measurement, and null in the API, too
        return Group(np.array(positions, np.int64), first, np.ascontiguousarray(values.transpose(0, 2, 1)))

    def _rows(self, ticks: int, scopes: tuple[Scope, ...], groups: tuple[Group, ...]) -> Bools:
        rows = np.zeros((ticks, len(scopes)), dtype=bool)
        for group in groups:
            rows[:, group.scopes] = (~np.isnan(group.values)).any(axis=0)
        if self._gaps:
            rows = np.logical_or.accumulate(rows, axis=0)
            rows[:, [position for position, scope in enumerate(scopes) if scope in self._begun]] = True
            some = np.asarray(rows.any(axis=0)).tolist()
            self._begun.update(scope for scope, begun in zip(scopes, some, strict=True) if begun)
        return rows


def _order(scope: Scope) -> tuple[tuple[bool, ...], Scope]:
    """Scopes of one kind (with the same labels) together, because they have the same columns."""
    return tuple(not text for text in scope), scope


def _axis(lines: Sequence[Sequence[Line]]) -> Ints:
    axes = {id(line.t_ms): line.t_ms for mine in lines for line in mine}
    return np.unique(np.concatenate(list(axes.values()))) if axes else np.zeros(0, np.int64)


def _numbers(line: Line, part: str) -> Floats | float:
    """One part of a line, unknown where the line does not have it (a sample among bins)."""
    if part == VALUE:
        return UNKNOWN if line.values is None else line.values
    if part == "side":
        return np.array([SIDES[one] for one in line.relation or ()]) if line.relation is not None else UNKNOWN
    found: Floats | None = line.count if part == "count" else getattr(line, OF_BIN[part])
    return UNKNOWN if found is None else found
