"""Whether a counter that appears stood at 0 before: where it did, its first number is what it counted since.

The rule. A line that was never seen counts from 0 when all of this holds:

- its metric appears at its first use (the catalogue says so), and the page before was of the same engine and read in
  full: no bad line, no refused series;
- the engine does not show everything from its start: llama.cpp does, and vLLM's Python server, which is known by
  telling when it started (the Rust front end does not);
- what the page before counted does not contradict it: every request moves the counters of its first token together,
  and later those of its end, so none of them stood at 0 while another one of the same engine and model did not.
  A line with a label of its own (an outcome, a position) or beside other lines of its series may;
- it is not an old one under another name: while a line that had counted is gone from the page, no other line of its
  metric counts from 0, and none of an engine or a model that was not on the page before (a model that is renamed);
- it could have been counted since, at the highest rate that there is (`pipeline.ranges`): a million tokens, requests or
  seconds in every second, and nothing that was long in coming.

Otherwise the line begins with its first sample and adds nothing by it: rather a first use too few than a lifetime.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from collectors.scrape.page import Layout
from pipeline.ranges import LEAST_S, Ranges
from telemetry import catalog
from telemetry.catalog import engine
from telemetry.frame import Bools, Floats
from telemetry.model import PARTS, Kind, Metric, Series, part

_SHOWS_ALL = frozenset({"llama.cpp"})
_SHOWS_ALL_IF_START_IS_TOLD = frozenset({"vllm"})


def _names(*metrics: Metric) -> frozenset[str]:
    """Names that these are stored under; of a histogram all parts."""
    parts = {part(metric, name).name for metric in metrics if metric.kind is Kind.HISTOGRAM for name in PARTS}
    return frozenset(parts | {metric.name for metric in metrics if metric.kind is Kind.COUNTER})


FIRST_TOKEN = _names(engine.GENERATION_TOKENS, engine.PROMPT_TOKENS, engine.TTFT)
"""Stored counters that the first token of a request moves, all at once."""
END = _names(
    engine.REQUESTS_FINISHED,
    engine.E2E,
    engine.QUEUE_TIME,
    engine.PREFILL_TIME,
    engine.DECODE_TIME,
    engine.TPOT,
    engine.REQUEST_PROMPT_TOKENS,
    engine.REQUEST_GENERATION_TOKENS,
)
"""Those that its end moves."""
_STAGES = ((FIRST_TOKEN, FIRST_TOKEN | END), (END, END))
"""Counters that one thing moves, and those of which one above 0 says that it has happened."""
_COMMON = frozenset({"engine", "model", "le"})


@dataclass(frozen=True)
class Before:
    """The page before. raw: float64[n_raw], last number of each of its counters. asked_ms: when it was asked for.
    whole: it was read in full."""

    layout: Layout
    raw: Floats
    asked_ms: float
    whole: bool
    tells_start: bool


def from_zero(layout: Layout, before: Before | None, joined: Collection[Series], left: Collection[Series]) -> Bools:
    """bool[n_raw]: lines that stood at 0 on the page before if they were not on it.

    joined: series that had other lines already, some of which are still there. left: series that had counted, and have
    lines that are not on the page any more.
    """
    if before is None or not before.whole or before.layout.engine != layout.engine:
        return np.zeros(len(layout.lines), dtype=bool)
    worked = _worked(before)
    old = _Old({series.metric for series in left}, {_whose(series) for series in before.layout.series})
    shows_all = layout.engine in _SHOWS_ALL or (before.tells_start and layout.engine in _SHOWS_ALL_IF_START_IS_TOLD)
    counts = [
        catalog.stored(series.metric).at_first_use
        and not shows_all
        and (series in joined or not (_contradicted(series, worked) or (left and old.may_be(series))))
        for series in layout.series
    ]
    return np.asarray(np.array(counts, dtype=bool)[layout.source])


def plausible(limits: Ranges, raw: Floats, seconds: float) -> Bools:
    """bool[n_raw]: lines whose whole number can have been counted in this time, without what was long in coming."""
    return np.asarray(raw <= limits.rate * max(seconds, LEAST_S))


@dataclass(frozen=True)
class _Old:
    """What a new series may be another name of. metrics: those of lines that are gone. known: (engine, model) of the
    page before."""

    metrics: Collection[str]
    known: Collection[tuple[str | None, str | None]]

    def may_be(self, series: Series) -> bool:
        """Whether this series may be what is gone."""
        return series.metric in self.metrics or _whose(series) not in self.known


def _whose(series: Series) -> tuple[str | None, str | None]:
    return series.label("engine"), series.label("model")


def _worked(before: Before) -> set[tuple[str, str | None, str | None]]:
    """(metric, engine, model) of everything that the page before had counted."""
    places = set(before.layout.source[before.raw > 0].tolist())
    return {_of_whom(before.layout.series[place]) for place in places}


def _of_whom(series: Series) -> tuple[str, str | None, str | None]:
    return series.metric, series.label("engine"), series.label("model")


def _contradicted(series: Series, worked: Collection[tuple[str, str | None, str | None]]) -> bool:
    metric, *whose = _of_whom(series)
    if any(name not in _COMMON for name, _ in series.labels):
        return False
    signs = next((signs for moved, signs in _STAGES if metric in moved), frozenset())
    return any((sign, *whose) in worked for sign in signs)
