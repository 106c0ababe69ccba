"""Runs of a stored history: the same detector, fed from samples instead of from the clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runs.detect import LOST_MS, SILENCE_MS, Began, Change, Detector, Ended, Marked
from runs.facts import Fact, at
from runs.model import By, Mark
from runs.sights import EngineState, Observation, Sight, engine_name, speculative_text
from telemetry.catalog import engine
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Metric
from telemetry.phases import Phase

READS: Mapping[str, Metric] = {
    "running": engine.REQUESTS_RUNNING,
    "output": engine.GENERATION_TOKENS,
    "prompt": engine.PROMPT_TOKENS,
    "phase": engine.ENGINE_PHASE,
}
METRICS = tuple(metric.name for metric in READS.values())
"""What a frame must hold to find runs in it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A stretch in which an engine's process is known to be gone; end_ms None: still."""

    target: str
    start_ms: int
    end_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A run that was found. end_ms None: it goes on at the end of the history."""

    start_ms: int
    end_ms: int | None
    began: str
    ended: str
    by: By = "found"
    model: str = ""
    marks: tuple[Mark, ...] = ()


def over(
    frame: Frame,
    *,
    silence_ms: int = SILENCE_MS,
    lost_ms: int = LOST_MS,
    facts: Sequence[Fact] = (),
    stops: Sequence[Stop] = (),
    end_ms: int | None = None,
) -> list[Found]:
    """Runs of the deployment whose engines' `METRICS` the frame holds, oldest first.

    facts: of the engines' targets, for their speculative settings. stops: when processes were known to be gone.
    end_ms: end of what was watched, where that is later than the last sample.
    """
    detector = Detector(silence_ms, lost_ms)
    return told(change for now in observations(frame, facts, stops, end_ms) for change in detector.see(now))


def told(changes: Iterator[Change] | Sequence[Change]) -> list[Found]:
    """The runs that changes tell of."""
    found: list[Found] = []
    begun: Began | None = None
    marks: list[Mark] = []
    for change in changes:
        if isinstance(change, Marked):
            marks.append(change.mark)
        elif isinstance(change, Ended) and begun is not None:
            found.append(_found(begun, change, marks))
            begun, marks = None, []
        elif isinstance(change, Began):
            begun, marks = change, []
    return found if begun is None else [*found, _found(begun, None, marks)]


def _found(begun: Began, ended: Ended | None, marks: Sequence[Mark]) -> Found:
    end, why = (None, "") if ended is None else (ended.at_ms, ended.reason)
    return Found(begun.at_ms, end, begun.reason, why, begun.by, begun.model, tuple(marks))


@dataclass(frozen=True)
class Strip:
    """One engine over a frame's ticks. values: float64[tick] by field of a sight. read, broken: bool[tick]."""

    target: str
    read: Bools
    broken: Bools
    gap_ms: float
    values: Mapping[str, Floats]
    models: Sequence[tuple[str, Bools]]


def observations(
    frame: Frame, facts: Sequence[Fact] = (), stops: Sequence[Stop] = (), end_ms: int | None = None
) -> Iterator[Observation]:
    """What was seen of each engine at each tick of the frame, at the start of each stop, and at the end."""
    strips = _strips(frame)
    last: dict[str, int] = {}
    for tick, column in _ticks(frame.ticks, stops, end_ms):
        seen: dict[str, Sight] = {}
        for name, strip in strips.items():
            if column is not None and strip.read[column]:
                last[name] = tick
                seen[name] = _sight(strip, column, tick, facts)
            elif _gone(strip.target, tick, stops):
                seen[name] = Sight(EngineState.STOPPED)
            elif tick - last.get(name, tick) > strip.gap_ms:
                seen[name] = Sight(EngineState.UNKNOWN)
        yield Observation(tick, seen)


def _ticks(ticks: Ints, stops: Sequence[Stop], end_ms: int | None) -> list[tuple[int, int | None]]:
    """Ticks to look at, each with its column where the frame has it."""
    columns: dict[int, int | None] = dict.fromkeys((stop.start_ms for stop in stops), None)
    columns |= {} if end_ms is None else {end_ms: None}
    return sorted((columns | {tick: column for column, tick in enumerate(ticks.tolist())}).items())


def _sight(strip: Strip, column: int, tick: int, facts: Sequence[Fact]) -> Sight:
    value = {name: None if np.isnan(line[column]) else float(line[column]) for name, line in strip.values.items()}
    model = next((name for name, here in strip.models if here[column]), None)
    phase = value.pop("phase", None)
    return Sight(
        EngineState.RESTARTED if strip.broken[column] else EngineState.UP,
        **value,
        phase=Phase.UNKNOWN if phase is None else Phase(int(phase)),
        model=model or None,
        speculative=speculative_text(at(facts, strip.target, tick)) if facts else None,
    )


def _gone(target: str, tick: int, stops: Sequence[Stop]) -> bool:
    mine = (stop for stop in stops if stop.target == target)
    return any(stop.start_ms <= tick and (stop.end_ms is None or tick < stop.end_ms) for stop in mine)


def _strips(frame: Frame) -> dict[str, Strip]:
    """Engines of a frame. Of an engine that served one model after the other, each at its own ticks."""
    rows: dict[str, list[int]] = {}
    for row, series in enumerate(frame.series):
        if series.metric in METRICS:
            rows.setdefault(engine_name(series.target, series.label("engine") or ""), []).append(row)
    return {name: _strip(frame, mine) for name, mine in sorted(rows.items())}


def _strip(frame: Frame, rows: Sequence[int]) -> Strip:
    values: dict[str, Floats] = {}
    models: dict[str, Bools] = {}
    for row in rows:
        series, line = frame.series[row], frame.values[row]
        known = ~np.isnan(line)
        name = next(name for name, metric in READS.items() if metric.name == series.metric)
        values[name] = np.where(known, line, values[name]) if name in values else line
        model = series.label("model") or ""
        models[model] = models.get(model, np.zeros(len(line), dtype=bool)) | known
    target = frame.series[rows[0]].target
    return Strip(
        target,
        np.logical_not(np.isnan(frame.at_ms[list(rows)]).all(axis=0)),
        np.asarray(frame.breaks[list(rows)].any(axis=0)),
        float(frame.gap_ms[rows[0]]),
        values,
        tuple(models.items()),
    )
