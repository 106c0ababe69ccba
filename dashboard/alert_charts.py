"""What is kept with an alert, as charts: what its rule read, against what that is compared with, and what is beside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alerts import expression as ex
from alerts import masks
from alerts.given import TARGET_STATE, Span, state_codes
from alerts.operands import label_of, shown, unit_of
from alerts.places import PLACES, Key, Members, Place, level, seen_from, shared
from alerts.record import Alert
from alerts.rule import Rule
from alerts.view import View, of_samples
from dashboard.alert_limits import Asked, asked, each
from dashboard.api.lists import numbers
from dashboard.run_view import short
from pipeline.alert_evidence import OF_DEPLOYMENTS, OF_ENGINES, OF_NODES
from telemetry.catalog import cluster, engine
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Fold, Kind, Metric, Ratio, Scope, Series

RATE_S = 10.0
PER_GAP = 2.5
DEFAULT_STEP_MS = 1_000.0
SUMS: Mapping[str, str] = {
    cluster.RECORDED_DECODE.name: engine.GENERATION_TOKENS.name,
    cluster.DEPLOYMENT_RUNNING.name: engine.REQUESTS_RUNNING.name,
}
"""What is kept of a deployment, and what of its engines says the same: one line per quantity."""
RECORDED = ", recorded"


def frame_of(kept: Mapping[str, Any]) -> Frame:
    """The samples that are kept with an alert. Earlier versions did not keep when a counter restarted."""
    ticks = np.array(kept["t"], dtype=np.int64)
    series = tuple(Series(one["target"], one["metric"], tuple(sorted(one["labels"].items()))) for one in kept["series"])
    values = np.array([one["v"] for one in kept["series"]], dtype=np.float64).reshape(len(series), len(ticks))
    at_ms = np.where(np.isnan(values), np.nan, ticks.astype(np.float64))
    gaps = np.array([gap_of(ticks, row) for row in values])
    breaks = np.zeros(values.shape, dtype=bool)
    for row, one in enumerate(kept["series"]):
        breaks[row, list(one.get("breaks", ()))] = True
    return Frame(ticks, series, values, at_ms, breaks, gaps)


def gap_of(ticks: Ints, values: Floats) -> float:
    """Two samples of a series further apart than this have a gap between them: by its own pace, milliseconds."""
    apart = np.diff(ticks[~np.isnan(values)])
    pace = float(np.sort(apart)[len(apart) // 4]) if len(apart) else 0.0
    return PER_GAP * max(DEFAULT_STEP_MS, pace)


@dataclass(frozen=True)
class Drawing:
    """Charts of one alert. rule: that fired it as it is now, None where there is none. away: when the target that it is
    about did not answer."""

    frame: Frame
    alert: Alert
    rule: Rule | None
    away: Sequence[Span] = ()

    def charts(self) -> list[dict[str, Any]]:
        """What the rule read first, in the order of its text; then what else is kept. docs/api.md has their fields."""
        view = self._view()
        read = asked(self.rule) if self.rule else []
        told = {one.reading.metric.name for one in read if one.reading.how == "now"}
        there = {series.metric for series in self.frame.series}
        told |= {name for name, parts in SUMS.items() if parts in there}
        own = [self._chart(view, one, "rule") for one in read]
        beside = [
            self._chart(view, one, "beside") for one in _beside(self.frame) if one.reading.metric.name not in told
        ]
        return [chart for chart in (*own, *beside) if chart is not None]

    def _view(self) -> View:
        """What rules see of the samples, and how the alert's own target answered; nothing else that is no sample."""
        owner, place = self.alert.owner, PLACES[self.alert.place]
        if not owner:
            return View(self.frame)
        members = Members(targets={owner: place.only or Scope.NODE})
        states = {owner: state_codes(self.away, self.frame.ticks)}
        return View(self.frame, members=members, given={TARGET_STATE.name: states})

    def _chart(self, view: View, one: Asked, of: str) -> dict[str, Any] | None:
        reading, metric = one.reading, one.reading.metric
        table = view.table(reading, one.place)
        rows = [row for row in range(len(table.keys)) if not np.isnan(table.values[row]).all()]
        if not rows:
            return None
        mine = self._mine(one.place, metric)
        lines = [
            {"labels": labels_of(key, one.place, metric), "own": key == mine, **self._values(one, values)}
            for key, values in ((table.keys[row], table.values[row]) for row in rows)
        ]
        return {
            "label": (label_of(reading) if of == "rule" else _of_all(reading))
            + (" per second" if reading.how == "rate" else "")
            + summed(reading, one.place, view),
            "metric": metric.name,
            "unit": unit_of(reading).value,
            "of": of,
            "spans": "spans" in lines[0],
            "limits": [limit.to_json() for limit in one.limits],
            "lines": sorted(lines, key=lambda line: (not line["own"], sorted(line["labels"].items()))),
        }

    def _mine(self, place: Place, metric: Metric | Ratio) -> Key | None:
        """Which of the lines is that of the alert itself; None where none is."""
        home = PLACES[self.alert.place]
        if place is home:
            return seen_from(self.alert.key, home, metric, View(self.frame).members)
        if place.owner is home.owner and level(home, metric.scope) == "own":
            return self.alert.key[:1] if not shared(place, metric) else None
        return None

    def _values(self, one: Asked, values: Floats) -> dict[str, Any]:
        metric = one.reading.metric
        if metric.kind is not Kind.STATE and metric.name not in masks.MASKS:
            return {"v": numbers(short(values))}
        return {"spans": list(_spans(self.frame.ticks, values, lambda value: _said(one, value)))}


def summed(reading: ex.Reading, place: Place, view: View) -> str:
    """Over what a line is a sum: a cage has two functions, and its link counts both."""
    metric = reading.metric
    if not of_samples(reading) or not isinstance(metric, Metric) or metric.across is not Fold.SUM:
        return ""
    apart = [label for label in metric.by if label not in shared(place, metric)]
    if metric.kind is Kind.HISTOGRAM or not apart or view.grouped(reading, place)[1].single:
        return ""
    return f", sum over {' and '.join(f'{label}s' for label in apart)}"


def _of_all(reading: ex.Reading) -> str:
    """What a chart beside is called: of a sum over all nodes or engines that, and not how it came into the store."""
    label = label_of(reading)
    return f"{label.removesuffix(RECORDED)}, all together" if label.endswith(RECORDED) else label


def _said(one: Asked, value: float) -> tuple[str, bool]:
    """(text, whether the rule asks for it) of a state or a mask."""
    metric = one.reading.metric
    if metric.name in masks.MASKS:
        return masks.said(metric.name, value), bool(int(value) & one.bits)
    return shown(one.reading, value), int(value) in one.codes


def _spans(ticks: Ints, values: Floats, said: Any) -> Iterator[tuple[int, int, str, bool]]:
    """(from, to, text, asked for): how long each value lasted; to the next sample, where no gap lies between."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return
    gap = gap_of(ticks, values)
    pace = int(gap / PER_GAP)
    start, last = int(known[0]), int(known[0])
    for at in known[1:].tolist():
        broken = ticks[at] - ticks[last] > gap
        if broken or values[at] != values[start]:
            yield int(ticks[start]), int(ticks[last]) + pace if broken else int(ticks[at]), *said(float(values[start]))
            start = at
        last = at
    yield int(ticks[start]), int(ticks[last]) + pace, *said(float(values[start]))


def labels_of(key: Key, place: Place, metric: Metric | Ratio) -> dict[str, str]:
    """What tells a group from the others: its owner as `target`, and its labels."""
    if not key:
        return {}
    return {"target": key[0], **dict(zip(shared(place, metric), key[1:], strict=False))}


def _beside(frame: Frame) -> Iterable[Asked]:
    """What is kept whatever the rule: gauges as they were, counters by what they grow by per second."""
    there = {series.metric for series in frame.series}
    for metric in (*OF_NODES, *OF_ENGINES, *OF_DEPLOYMENTS):
        if metric.name in there:
            counter = metric.kind is Kind.COUNTER
            yield Asked(ex.Reading(metric, "rate" if counter else "now", RATE_S if counter else 0.0), each(metric))
