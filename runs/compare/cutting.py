"""A stretch of a run cut into cells of five seconds, piece by piece, so that it may be as long as it likes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from runs.compare.cells import LINES, Cells
from runs.reader import LEAD_MS, Reader
from runs.rows import names, of
from runs.silence import last_readings, silent
from runs.slices import READINGS, Piece, pieces, slices
from runs.streams import Telling
from runs.subject import Subject
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Metric, part

WIDTH_MS = 5_000
"""Length of a cell, unless the engine is read more rarely, or cells would be more than `MOST`."""
MOST = 80_000
"""Cells of a run: four days and a half; those of a longer one are longer."""
COUNTED: Mapping[str, Metric] = {
    "tokens": engine.GENERATION_TOKENS,
    "running_s": engine.REQUESTS_RUNNING,
    "waiting_s": engine.REQUESTS_WAITING,
    "step_s": part(engine.ITL, "sum"),
    "steps": part(engine.ITL, "count"),
    "tpot_s": part(engine.TPOT, "sum"),
    "tpots": part(engine.TPOT, "count"),
    "request_s": part(engine.E2E, "sum"),
    "requests": part(engine.E2E, "count"),
    "finished": engine.REQUESTS_FINISHED,
}
"""Increase of a counter over the cell, integral of a gauge over it, by the field that holds it."""
METRICS = tuple(COUNTED.values())


def cut(subject: Subject, reader: Reader, readings: int = READINGS, most: int = MOST) -> Cells:
    """The cells of a stretch. A cell that touches a gap or a restart, or has an engine silent, is not known.

    readings: that are in memory at once. most: cells.
    """
    start, end, targets = subject.start_ms, subject.end_ms, subject.targets
    counted = reader.ends(names((engine.GENERATION_TOKENS,)), start, end, targets).select(subject.owns)
    before, absences = last_readings(counted, start), reader.absences(start, end)
    made = _Made(start, end, most, max(counted.gap_ms.tolist(), default=0.0))
    parts = slices(start, end, len(targets), readings)
    around = max(LEAD_MS, 2 * int(made.widest_ms))
    for piece in pieces(reader, names(METRICS), parts, targets, subject.owns, around):
        made.add(piece, silent(piece.frame, targets, absences, before))
        del piece  # before the next one is read
    return made.cells()


@dataclass
class _Made:
    """Cells so far. longest_ms: what is a gap of the engine that is read most rarely."""

    start_ms: int
    end_ms: int
    most: int
    longest_ms: float
    _width: float = 0.0
    _first_ms: float = float("nan")
    _newest_ms: float = 0.0
    _ends: list[Ints] = field(default_factory=list)
    _lines: dict[str, list[Floats]] = field(default_factory=lambda: {name: [] for name in LINES})
    _telling: Telling = field(default_factory=Telling)

    @property
    def widest_ms(self) -> float:
        """What a cell may reach back to: its width and a gap."""
        return max(self._width, self._wide(self.longest_ms)) + self.longest_ms

    def _wide(self, longest_ms: float) -> float:
        even = -(-(self.end_ms - self.start_ms) // (self.most * 1000)) * 1000
        return max(float(WIDTH_MS), longest_ms / NOMINAL_PER_GAP, float(even))

    def add(self, piece: Piece, away: Bools) -> None:
        """The cells that end in a piece."""
        frame = piece.frame
        if not self._width:
            self._newest_ms = self.start_ms
            self._width = self._wide(max(frame.gap_ms.tolist(), default=self.longest_ms))
        self._telling.add(frame)
        if self._first_ms != self._first_ms:
            self._first_ms = _first_token(frame, away, self.start_ms)
        ends = self._in(piece)
        begins = _begins(frame.ticks, ends, self._newest_ms)
        lines = _counted(frame, away, ends, begins, self._width) | _load(frame, away, ends, begins)
        for name, values in lines.items():
            self._lines[name].append(values)
        self._ends.append(frame.ticks[ends])
        if len(ends):
            self._newest_ms = float(frame.ticks[ends[-1]])

    def _in(self, piece: Piece) -> Ints:
        """Columns of a piece's own ticks at which cells end: one after the other, none over another."""
        ticks, own = piece.frame.ticks.astype(np.float64), piece.own
        following = np.searchsorted(ticks, ticks + self._width).tolist()
        found, column = [], max(int(np.searchsorted(ticks, self._newest_ms + self._width)), own.start)
        while column < own.stop:
            found.append(column)
            column = following[column]
        return np.array(found, dtype=np.int64)

    def cells(self) -> Cells:
        """All of them."""
        lines = {name: np.concatenate(parts) for name, parts in self._lines.items()}
        if self._telling.untold:
            lines["running_s"] = np.full(len(lines["running_s"]), np.nan)
        return Cells(np.concatenate(self._ends), self._width / 1000.0, self._first_ms, **lines)


def _counted(frame: Frame, away: Bools, ends: Ints, begins: Ints, width: float) -> dict[str, Floats]:
    """What all engines together add to each metric in each cell; nothing is known where one of them is silent."""
    spoiled = _folded(np.logical_or, away, ends, begins)
    found = {}
    for name, metric in COUNTED.items():
        side = ratios.side((metric,), frame, lambda _: (), width).get(())
        found[name] = np.where(spoiled, np.nan, np.full(len(ends), np.nan) if side is None else side[ends])
    return found


def _first_token(frame: Frame, away: Bools, start_ms: int) -> float:
    """The first reading after the start that shows more output tokens than the one before; NaN of none."""
    tokens = _held(frame, engine.GENERATION_TOKENS, away)
    known = np.flatnonzero(~np.isnan(tokens))
    grown = known[1:][(np.diff(tokens[known]) > 0) & (frame.ticks[known[1:]] > start_ms)]
    return float(frame.ticks[grown[0]]) if len(grown) else np.nan


def _begins(ticks: Ints, ends: Ints, before_ms: float) -> Ints:
    """The column of each cell's first reading: after the end of the one before, of which the first is at before_ms."""
    return np.append(np.searchsorted(ticks, before_ms, side="right"), ends[:-1] + 1)[: len(ends)]


def _folded(fold: np.ufunc, values: Any, ends: Ints, begins: Ints) -> Any:
    """Of each cell what its readings amount to: they follow each other, and none is empty."""
    return fold.reduceat(values[: ends[-1] + 1], begins) if len(ends) else values[:0]


def _load(frame: Frame, away: Bools, ends: Ints, begins: Ints) -> dict[str, Floats]:
    """The fields that are of single readings."""
    running, waiting = (_held(frame, metric, away) for metric in (engine.REQUESTS_RUNNING, engine.REQUESTS_WAITING))
    finished = _held(frame, engine.REQUESTS_FINISHED, away)
    system = running + np.where(np.isnan(waiting), 0.0, waiting)
    left = np.diff(finished, prepend=np.nan)
    moved = np.abs(np.diff(system, prepend=np.nan))
    return {
        "queue": _folded(np.fmin, waiting, ends, begins),
        "moved": _folded(np.add, np.nan_to_num(moved), ends, begins),
        "stirred": _folded(np.add, np.nan_to_num(stirring(left, system)), ends, begins),
    }


def stirring(left: Floats, system: Floats) -> Floats:
    """How much the number in the system would change between readings, were arrivals independent of what leaves.

    left: requests that finished since the reading before; system: requests in the system. As many arrive on average as
    leave, so the change is a difference of two Poisson counts; readings far apart are as good as independent, and
    differ by what the number itself varies.

    >>> stirring(np.array([0.1, 50.0]), np.array([4.0, 4.0])).round(3).tolist()
    [0.2, 2.257]
    """
    free = np.minimum(left, system)
    return np.asarray(np.minimum(2.0 * left, np.sqrt(4.0 * np.maximum(free, 0.0) / np.pi)))


def _held(frame: Frame, metric: Metric, away: Bools) -> Floats:
    """Sum over engines at each tick, carried to ticks at which one was not due; unknown where one is silent."""
    rows = of(frame, metric)
    ticks = rows.ticks.astype(np.float64)
    held = ratios.hold(rows.values, rows.gap_ms, ticks, ~np.isnan(rows.at_ms))
    return np.where(away, np.nan, ratios.total(held, ticks, ~np.isnan(rows.values)))
