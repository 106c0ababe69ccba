"""What a run's timeline is asked for, and how its lines are read: from samples, or charts kept with the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dashboard.api.cost import Guarded
from dashboard.api.lists import numbers
from dashboard.sources import Sources
from pipeline.digest import CHART_MS, CHARTS, FINGERPRINT
from runs.model import Run
from telemetry.frame import Floats, Ints
from telemetry.model import Metric, Ratio
from telemetry.query import Line, Query
from telemetry.reader import Answer, read

GIVEN_UP = "Its samples were given up; drawn from the charts of {} that were kept with the run."
ELSEWHERE = "Its samples were taken elsewhere; drawn from what came with the run."
HOURS = "Its samples were given up, and no charts were kept: whole hours are all there is."


@dataclass(frozen=True)
class View:
    """start_ms ≤ t ≤ end_ms of a run, in at most `points` bins."""

    sources: Sources
    run: Run
    start_ms: int
    end_ms: int
    points: int

    @property
    def engines(self) -> frozenset[str]:
        """Targets of the run's engines."""
        return frozenset(one.target for one in self.run.engines)

    @cached_property
    def nodes(self) -> list[str]:
        """Nodes that took part, as far as that is settled; else all there are."""
        if self.run.nodes is not None:
            return sorted(self.run.nodes)
        printed = self.sources.store.run_part(self.run.id, FINGERPRINT)
        told = next((one["value"] for one in printed[1] if one["key"] == "nodes"), "") if printed else ""
        if told:
            return str(told).split(", ")
        if not self.run.own:
            return []
        return [target.name for target in self.sources.store.targets() if target.kind == "node"]

    @cached_property
    def kept(self) -> Kept | None:
        """The charts kept with the run, where the samples of the view are not there any more."""
        if self.run.own and not self.sources.forgotten(self.start_ms, self.end_ms):
            return None
        part = self.sources.store.run_part(self.run.id, CHARTS)
        if part is not None:
            return Kept(part[1])
        return None if self.run.own else Kept({"start": self.run.start_ms, "step_ms": CHART_MS, "series": []})

    @cached_property
    def settled(self) -> Kept | None:
        """The charts kept with a run that ended, where they are of the run as it is now."""
        part = None if self.run.live else self.sources.store.run_part(self.run.id, CHARTS)
        return None if part is None or part[0] != self.run.revision else Kept(part[1])

    @property
    def why(self) -> str:
        """Of what the lines are made, where that is not samples; "" where it is."""
        if not self.run.own:
            return ELSEWHERE
        if self.kept is not None:
            return GIVEN_UP.format(f"{self.kept.step_ms / 1000:g} s")
        return HOURS if self.sources.forgotten(self.start_ms, self.end_ms) else ""

    def ask(self, metric: Metric | Ratio, targets: Collection[str], *, every: bool = False) -> Answer:
        """Lines of a metric. every: each sample in place of bins."""
        query = self._query(metric, targets, every=every)
        if self.kept is not None:
            return self.kept.answer(query)
        guarded = Guarded.of(self.sources, query)
        with guarded.turn(query):
            return read(query, guarded, keeper=self.sources.kept)

    def ask_nodes(self, metric: Metric | Ratio, nodes: Collection[str]) -> Answer:
        """The same of nodes: from the charts kept with the run where those are as fine as the bins.

        Samples of many nodes over hours take five times as long.
        """
        wide = self.end_ms - self.start_ms
        if self.kept is None and self.settled is not None and wide >= self.settled.step_ms * self.points:
            found = self.settled.answer(self._query(metric, nodes))
            if found.lines:
                return found
        return self.ask(metric, nodes)

    def _query(self, metric: Metric | Ratio, targets: Collection[str], *, every: bool = False) -> Query:
        points = None if every else self.points
        slowest = self.sources.slowest_ms()
        return Query(metric, self.start_ms, self.end_ms, points, frozenset(targets), slowest_ms=slowest)


@dataclass(frozen=True)
class Kept:
    """Charts kept with a run: {start, step_ms, series: [{metric, target, labels, v}]}."""

    charts: Mapping[str, Any]

    @property
    def step_ms(self) -> int:
        """Width of its bins."""
        return int(self.charts["step_ms"])

    def answer(self, query: Query) -> Answer:
        """Its lines of a metric, in bins as many times as wide as the points of the query ask for."""
        begin, step = int(self.charts["start"]), self.step_ms
        low, high = max((query.start_ms - begin) // step, 0), (query.end_ms - begin) // step + 1
        wide = 1 if query.points is None else max(-(-(high - low) // query.points), 1)
        lines = [
            _coarser(np.array(one["v"][low:high], dtype=np.float64), begin + low * step, step, wide, labels)
            for one in self.charts["series"]
            if one["metric"] == query.metric.name and (query.targets is None or one["target"] in query.targets)
            for labels in ({"target": one["target"], **one["labels"]},)
        ]
        return Answer(lines, step * wide, "samples")


def _coarser(values: Floats, begin: int, step: int, wide: int, labels: Mapping[str, str]) -> Line:
    """Least, mean and largest of every `wide` values."""
    count = -(-len(values) // wide)
    each = min(wide, max(len(values), 1))  # a stretch may be asked for that is far longer than what is there
    sheet = np.full(count * each, np.nan)
    sheet[: len(values)] = values
    sheet = sheet.reshape(count, each)
    known = ~np.isnan(sheet)
    number = known.sum(axis=1)
    total = np.where(known, sheet, 0.0).sum(axis=1)
    mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    least = np.where(number > 0, np.where(known, sheet, np.inf).min(axis=1), np.nan)
    most = np.where(number > 0, np.where(known, sheet, -np.inf).max(axis=1), np.nan)
    t_ms = begin + np.arange(count, dtype=np.int64) * step * wide
    return Line(labels=labels, t_ms=t_ms, values=None, minimum=least, maximum=most, mean=mean, last=mean)


def series_json(metric: Metric | Ratio, found: Answer, lines: Sequence[Line]) -> dict[str, Any]:
    """Lines as `/api/v1/series` tells them, their numbers as short as a chart needs."""
    reduced = any(line.values is None for line in lines)
    head = {"metric": metric.name, "label": metric.label, "unit": metric.unit.value, "step_ms": found.step_ms}
    return {**head, **({"fold": "mean"} if reduced else {}), "series": [_line(line) for line in lines]}


def _line(line: Line) -> dict[str, Any]:
    told: dict[str, Any] = {"labels": dict(line.labels), "t": numbers(line.t_ms)}
    if line.values is not None:
        return {**told, "v": numbers(short(line.values))}
    lists = {"min": line.minimum, "max": line.maximum, "mean": line.mean}
    return told | {name: numbers(short(values)) for name, values in lists.items() if values is not None}


DIGITS = 4
MOST_PLACES = 300
"""Powers of ten beyond which floating point has none."""


def short(values: Floats) -> Floats:
    """Values with four digits, so that their text is short."""
    size = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.where(size > 0, np.floor(np.log10(size)), 0.0) - (DIGITS - 1)
    place = np.clip(np.where(np.isfinite(place), place, 0.0), -MOST_PLACES, MOST_PLACES)
    above, below = 10.0 ** np.maximum(place, 0.0), 10.0 ** np.maximum(-place, 0.0)
    return np.asarray(np.where(place > 0, np.round(values / above) * above, np.round(values * below) / below))


def middle(line: Line) -> Floats:
    """What stands for each of its points."""
    found = line.values if line.values is not None else line.mean
    return np.full(len(line.t_ms), np.nan) if found is None else found


def placed(line: Line, t_ms: Ints) -> Floats:
    """The line's values on other instants, NaN where it has none."""
    found = np.full(len(t_ms), np.nan)
    places = np.searchsorted(t_ms, line.t_ms)
    inside = places < len(t_ms)
    inside[inside] = t_ms[places[inside]] == line.t_ms[inside]
    found[places[inside]] = middle(line)[inside]
    return found
