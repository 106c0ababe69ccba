"""What `/api/v1/export.*` and `app.py export` are asked for: the parameters of `/api/v1/series`, several metrics, and
what the file shall look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dashboard.api import parameters, series
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from exchange.extract import Export
from exchange.table import Layout
from telemetry import catalog
from telemetry.model import PARTS, Kind, Metric, Ratio, part
from telemetry.query import Query

RESOLUTIONS = ("points", "step", "raw")
FILE = ("layout", "gzip", "estimate", "rate")
KNOWN = tuple(dict.fromkeys((*series.KNOWN, *RESOLUTIONS, *FILE)))
EVERYTHING = "all"
SHORTEST_STEP_MS = 100
MOST_SPAN_MS = 3 * 366 * 86_400_000


def read(arguments: Mapping[str, str], sources: Sources) -> Export:
    """The export that parameters ask for; ParameterError with a sentence."""
    parameters.only(arguments, KNOWN)
    points, width = _resolution(arguments)
    base = {name: value for name, value in arguments.items() if name not in (*RESOLUTIONS, *FILE, "metric")}
    queries = list({query.metric.name: query for query in _queries(arguments.get("metric"), base, sources)}.values())
    first = queries[0]
    if first.start_ms >= first.end_ms:
        raise ParameterError("Parameter “start” is not before “end”, expected start < end.")
    if first.end_ms - first.start_ms > MOST_SPAN_MS:
        raise ParameterError(f"The range is longer than {MOST_SPAN_MS // 86_400_000} days.")
    rates = parameters.flag("rate", arguments.get("rate", "0"))
    chosen = tuple(
        replace(query, points=points, width_ms=width, rate=rates and _has_rate(query, arguments)) for query in queries
    )
    return Export(chosen, _layout(arguments.get("layout", Layout.WIDE.value)))


def _has_rate(query: Query, arguments: Mapping[str, str]) -> bool:
    """Whether a metric is a counter; one that was named and is none has no rate."""
    counter = query.metric.kind is Kind.COUNTER
    if not counter and arguments.get("metric") != EVERYTHING:
        raise ParameterError(f"Parameter “rate” does not apply: {query.metric.name} is no counter.")
    return counter


def _resolution(arguments: Mapping[str, str]) -> tuple[int | None, int | None]:
    """(points, width of bins); both None for every sample."""
    every = parameters.flag("raw", arguments.get("raw", "0"))
    given = [name for name in RESOLUTIONS if name in arguments and (every or name != "raw")]
    if len(given) > 1:
        raise ParameterError(f"Parameters “{given[0]}” and “{given[1]}” exclude each other.")
    if "step" in arguments:
        width = parameters.duration_ms("step", arguments["step"])
        if width < SHORTEST_STEP_MS:
            raise parameters.bad("step", arguments["step"], f"at least {SHORTEST_STEP_MS}ms")
        return None, width
    if every:
        return None, None
    points = arguments.get("points", str(series.DEFAULT_POINTS))
    return parameters.integer("points", points, 1, series.MOST_POINTS), None


def _layout(given: str) -> Layout:
    names = [one.value for one in Layout]
    return Layout(parameters.one_of("layout", given, names))


def _queries(names: str | None, base: Mapping[str, str], sources: Sources) -> Iterable[Query]:
    """A query per metric, all of one range although time goes on. Of everything, those that the filters apply to."""
    now, slowest = sources.now_ms(), sources.slowest_ms()
    end = parameters.instant_ms("end", base.get("end", "now"), now)
    start = parameters.instant_ms("start", base["start"], now) if "start" in base else end - series.DEFAULT_SPAN_MS
    fixed = {**base, "start": str(start), "end": str(end)}
    if names != EVERYTHING:
        for name in (names or "").split(","):
            yield _query(name, fixed, sources, slowest)
        return
    found = 0
    for metric in everything():
        filters = {name for name in series.APPLIES if name in base}
        if all(metric.scope in series.APPLIES[name] for name in filters) and "label" not in base:
            found += 1
            yield _query(metric.name, fixed, sources, slowest)
    if not found:
        raise ParameterError("No metric has all of these filters; name metrics, or leave out a filter.")


def everything() -> list[Metric]:
    """Every stored metric, histograms as their parts; those of like labels together."""
    stored: list[Metric] = []
    for metric in catalog.METRICS:
        if isinstance(metric, Ratio):
            continue
        parts = [part(metric, name) for name in PARTS] if metric.kind is Kind.HISTOGRAM else [metric]
        stored += parts
    return sorted(stored, key=lambda metric: (metric.scope.value, metric.by))


def _query(name: str, base: Mapping[str, str], sources: Sources, slowest_ms: int) -> Query:
    asked = series.read({**base, "metric": name}, sources)
    return Query(
        metric=asked.metric,
        start_ms=asked.start_ms,
        end_ms=asked.end_ms,
        targets=series.targets(asked, sources),
        labels=asked.labels or {},
        total=asked.total,
        quantile=asked.quantile,
        slowest_ms=slowest_ms,
    )
