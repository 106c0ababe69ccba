"""What a comparison is made of: a run cut into cells of five seconds, each with its tokens, its load and its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from runs.reader import LEAD_MS, Reader
from runs.silence import last_readings, silent
from runs.streams import untold
from runs.stretch import names, of
from runs.subject import Subject
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Metric, part

WIDTH_MS = 5_000
"""Length of a cell, unless the engine is read more rarely."""
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
DIGITS = 9


@dataclass(frozen=True)
class Cells:
    """Cells in order of time, each float64[cell]; NaN where it is not known: a gap, a restart, not offered.

    end_ms: instant at which a cell ends; width_s: its length. first_ms: instant of the reading that showed the first
    output token, NaN where there was none.
    tokens: output tokens. running_s, waiting_s: requests × seconds. step_s, steps: inter-token latencies and their
    number. tpot_s, tpots: time per output token of the requests that finished. request_s, requests: their length.
    finished: how many. queue: fewest requests waiting at a reading. moved: changes of the number of requests in the
    system from reading to reading; stirred: changes that independent arrivals would make, for as many that finished.
    """

    end_ms: Ints
    width_s: float
    first_ms: float
    tokens: Floats
    running_s: Floats
    waiting_s: Floats
    step_s: Floats
    steps: Floats
    tpot_s: Floats
    tpots: Floats
    request_s: Floats
    requests: Floats
    finished: Floats
    queue: Floats
    moved: Floats
    stirred: Floats

    def __len__(self) -> int:
        return len(self.end_ms)

    @property
    def running(self) -> Floats:
        """Mean number of requests running in each cell."""
        return np.asarray(self.running_s / self.width_s)

    @property
    def request_mean_s(self) -> float:
        """Mean time of a request in the engine, without its queue: as measured, else by Little's law; NaN where neither
        is known."""
        running, waiting = float(np.nansum(self.running_s)), float(np.nansum(self.waiting_s))
        inside = running / (running + waiting) if running > 0 else float("nan")
        count, finished = float(np.nansum(self.requests)), float(np.nansum(self.finished))
        if count > 0 and running > 0:
            return float(np.nansum(self.request_s)) / count * inside
        return running / finished if finished > 0 and running > 0 else float("nan")

    def take(self, chosen: Any) -> Cells:
        """Some of the cells: a mask, positions (one may be there twice) or a slice."""
        lines: dict[str, Any] = {name: getattr(self, name)[chosen] for name in ("end_ms", *LINES)}
        return Cells(width_s=self.width_s, first_ms=self.first_ms, **lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data; null is unknown."""
        lines = {name: _plain(getattr(self, name)) for name in LINES}
        first = None if np.isnan(self.first_ms) else int(self.first_ms)
        return {"end_ms": self.end_ms.tolist(), "width_s": self.width_s, "first_ms": first, **lines}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cells:
        """The reverse of `to_json`."""
        lines: dict[str, Any] = {name: np.array(data[name], dtype=np.float64) for name in LINES}
        first = np.nan if data["first_ms"] is None else float(data["first_ms"])
        return cls(np.array(data["end_ms"], dtype=np.int64), float(data["width_s"]), first, **lines)


LINES = tuple(one.name for one in fields(Cells) if one.name not in ("end_ms", "width_s", "first_ms"))


MOST = 200_000
"""Cells of a run: eleven days."""


def checked(data: Any) -> dict[str, Any]:
    """Cells as plain data that somebody else has written; ValueError with a sentence where they are none."""
    if not isinstance(data, dict) or set(data) != {"end_ms", "width_s", "first_ms", *LINES}:
        raise ValueError("“cells” is expected to be an object of a run's cells")
    lines = {name: data[name] for name in ("end_ms", *LINES)}
    ends, width, first = data["end_ms"], data["width_s"], data["first_ms"]
    if not all(isinstance(one, list) and len(one) <= MOST and len(one) == len(ends) for one in lines.values()):
        raise ValueError(f"the lines of “cells” are expected to be equally long lists of at most {MOST:,}")
    values = [value for one in lines.values() for value in one if value is not None]
    if not all(map(_number, [*values, width, 0 if first is None else first])) or None in ends or not width > 0:
        raise ValueError("“cells” is expected to hold numbers")
    if any(after <= before for before, after in pairwise(ends)):
        raise ValueError("the ends of “cells” are expected to rise")
    return Cells.from_json(data).to_json()


def _number(value: Any) -> bool:
    """Whether a value is a number that time and counts can be."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53


def _plain(values: Floats) -> list[float | None]:
    return [None if value != value else float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def cut(subject: Subject, reader: Reader) -> Cells:
    """The cells of a stretch. A cell that touches a gap or a restart, or has an engine silent, is not known."""
    frame = reader.frame(names(METRICS), subject.start_ms - LEAD_MS, subject.end_ms, subject.targets)
    frame = frame.select(subject.owns)
    interval = max(frame.gap_ms.tolist(), default=0.0) / NOMINAL_PER_GAP
    width = max(float(WIDTH_MS), interval)
    ends = _ends(frame.ticks, subject.start_ms + width, subject.end_ms, width)
    away = _silent(subject, reader, frame)
    spoiled = np.array([away[low:high].any() for low, high in _spans(ends)], dtype=bool)
    lines = {name: np.where(spoiled, np.nan, _line(frame, metric, ends, width)) for name, metric in COUNTED.items()}
    if untold(frame):
        lines["running_s"] = np.full(len(ends), np.nan)
    first = _first_token(frame, away, subject.start_ms)
    return Cells(frame.ticks[ends], width / 1000.0, first, **lines, **_load(frame, away, ends))


def _silent(subject: Subject, reader: Reader, frame: Frame) -> Bools:
    """At which ticks an engine of the run is silent: bool[tick]."""
    start, end, targets = subject.start_ms, subject.end_ms, subject.targets
    before = last_readings(reader.ends(names((engine.GENERATION_TOKENS,)), start, end, targets), start)
    return silent(frame, targets, reader.absences(start, end), before)


def _first_token(frame: Frame, away: Bools, start_ms: int) -> float:
    """The first reading after the start that shows more output tokens than the one before."""
    tokens = _held(frame, engine.GENERATION_TOKENS, away)
    known = np.flatnonzero(~np.isnan(tokens))
    grown = known[1:][(np.diff(tokens[known]) > 0) & (frame.ticks[known[1:]] > start_ms)]
    return float(frame.ticks[grown[0]]) if len(grown) else np.nan


def _ends(ticks: Ints, first_ms: float, last_ms: float, width: float) -> Ints:
    """Columns of ticks at which cells end: one after the other, none over another."""
    found, wanted = [], first_ms
    column = int(np.searchsorted(ticks, wanted))
    while column < len(ticks) and ticks[column] <= last_ms:
        found.append(column)
        wanted = ticks[column] + width
        column = int(np.searchsorted(ticks, wanted))
    return np.array(found, dtype=np.int64)


def _line(frame: Frame, metric: Metric, ends: Ints, width: float) -> Floats:
    """What all engines together add to a metric in each cell."""
    found = ratios.side((metric,), frame, lambda _: (), width).get(())
    return np.full(len(ends), np.nan) if found is None else found[ends]


def _load(frame: Frame, away: Bools, ends: Ints) -> dict[str, Floats]:
    """The fields that are of single readings."""
    running, waiting = (_held(frame, metric, away) for metric in (engine.REQUESTS_RUNNING, engine.REQUESTS_WAITING))
    finished = _held(frame, engine.REQUESTS_FINISHED, away)
    system = running + np.where(np.isnan(waiting), 0.0, waiting)
    left = np.diff(finished, prepend=np.nan)
    moved = np.abs(np.diff(system, prepend=np.nan))
    return {
        "queue": _fewest(waiting, ends),
        "moved": _summed(moved, ends),
        "stirred": _summed(stirring(left, system), ends),
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


def _spans(ends: Ints) -> list[tuple[int, int]]:
    """Columns of each cell's readings: after the cell before, up to its own end."""
    if not len(ends):
        return []
    usual = int(np.median(np.diff(ends))) if len(ends) > 1 else 1
    starts = np.maximum(np.append(ends[0] - usual, ends[:-1]), -1) + 1
    return list(zip(starts.tolist(), (ends + 1).tolist(), strict=True))


def _summed(values: Floats, ends: Ints) -> Floats:
    return np.array([np.nansum(values[low:high]) for low, high in _spans(ends)], dtype=np.float64)


def _fewest(values: Floats, ends: Ints) -> Floats:
    known = [values[low:high][~np.isnan(values[low:high])] for low, high in _spans(ends)]
    return np.array([float(np.min(one)) if len(one) else np.nan for one in known], dtype=np.float64)
