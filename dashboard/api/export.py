"""What `/api/v1/export.*` and `app.py export` are asked for: the parameters of `/api/v1/series`, several metrics, and
what the file shall look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dashboard.api import parameters, series
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from exchange.extract import Export
from exchange.formats import CSV, SQLITE
from exchange.table import Layout
from telemetry import catalog
from telemetry.model import PARTS, Kind, Metric, Ratio, Scope, part
from telemetry.query import Query

RESOLUTIONS = ("points", "step", "raw")
FILE = ("layout", "gzip", "estimate")
KNOWN = tuple(dict.fromkeys(name for name in (*series.KNOWN, *RESOLUTIONS, *FILE) if name != "stats"))
EVERYTHING = "all"
SHORTEST_STEP_MS = 100
MOST_SPAN_MS = 3 * 366 * 86_400_000


def read(arguments: Mapping[str, str], sources: Sources, form: str = CSV) -> Export:
    """The export that parameters ask for; ParameterError with a sentence. form: of the file; in SQLite a row has a byte
    for each column that is empty, so that everything in a wide table would be twenty times as large as it need be."""
    parameters.only(arguments, KNOWN)
    points, width = _resolution(arguments, sources)
    start, end = _range(arguments, sources)
    left = {name: value for name, value in arguments.items() if name not in (*RESOLUTIONS, *FILE)}
    fixed = {**left, "start": str(start), "end": str(end)}  # one range for all metrics, although time goes on
    queries = _everything(fixed, sources) if left.get("metric") == EVERYTHING else _named(fixed, sources)
    if points is None:
        series.still_there(start, end, width, sources)
    chosen = tuple(replace(query, points=points, width_ms=width) for query in queries)
    long = form == SQLITE and left.get("metric") == EVERYTHING
    return Export(chosen, _layout(arguments.get("layout", (Layout.LONG if long else Layout.WIDE).value)))


def _resolution(arguments: Mapping[str, str], sources: Sources) -> tuple[int | None, int | None]:
    """(points, width of bins, whole steps of the clock); both None for every sample."""
    every = parameters.flag("raw", arguments.get("raw", "0"))
    given = [name for name in RESOLUTIONS if name in arguments and (every or name != "raw")]
    if len(given) > 1:
        raise ParameterError(f"Parameters “{given[0]}” and “{given[1]}” exclude each other.")
    if "step" in arguments:
        width = parameters.duration_ms("step", arguments["step"])
        if width < SHORTEST_STEP_MS:
            raise parameters.bad("step", arguments["step"], f"at least {SHORTEST_STEP_MS}ms")
        step = sources.step_ms()
        return None, -(-width // step) * step
    if every:
        return None, None
    points = arguments.get("points", str(series.DEFAULT_POINTS))
    return parameters.integer("points", points, 1, series.MOST_POINTS), None


def _range(arguments: Mapping[str, str], sources: Sources) -> tuple[int, int]:
    start, end = parameters.range_ms(arguments, sources.now_ms(), series.DEFAULT_SPAN_MS)
    parameters.ordered(start, end)
    if end - start > MOST_SPAN_MS:
        raise ParameterError(f"The range is longer than {MOST_SPAN_MS // 86_400_000} days.")
    return start, end


def _layout(given: str) -> Layout:
    names = [one.value for one in Layout]
    return Layout(parameters.one_of("layout", given, names))


def _named(fixed: Mapping[str, str], sources: Sources) -> list[Query]:
    """A query for each metric that is named, in that order, once."""
    asked = [series.read({**fixed, "metric": name}, sources) for name in fixed.get("metric", "").split(",")]
    return list({one.metric.name: series.query_of(one, sources) for one in asked}.values())


def _everything(fixed: Mapping[str, str], sources: Sources) -> list[Query]:
    """Every stored metric that the filters apply to; rates, where they are asked for, of those that are counters."""
    rate = parameters.flag("rate", fixed.get("rate", "0"))
    filters = [name for name in series.APPLIES if name in fixed]
    metrics = [one for one in stored() if all(series.applies(name, one) for name in filters)]
    if not metrics or "label" in fixed:
        raise ParameterError("No metric has all of these filters; name metrics, or leave out a filter.")
    plain = {name: value for name, value in fixed.items() if name != "rate"}
    by_scope: dict[Scope, Query] = {}  # metrics of one scope are read from the same targets
    for metric in metrics:
        if metric.scope not in by_scope:
            by_scope[metric.scope] = series.query_of(series.read({**plain, "metric": metric.name}, sources), sources)
    return [replace(by_scope[one.scope], metric=one, rate=rate and one.kind is Kind.COUNTER) for one in metrics]


def stored() -> list[Metric]:
    """Every stored metric, histograms as their parts; those with the same labels together."""
    found: list[Metric] = []
    for metric in catalog.METRICS:
        if not isinstance(metric, Ratio):
            found += [part(metric, name) for name in PARTS] if metric.kind is Kind.HISTOGRAM else [metric]
    return sorted(found, key=lambda metric: (metric.scope.value, metric.by))
